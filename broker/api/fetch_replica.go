package api

import (
	"tidemark/broker/config"
	"tidemark/broker/replica"
	"tidemark/commitlog"
	"tidemark/protocol/wire"
	"tidemark/replication"
)

// What a follower's fetch (KIP-320, 595, 903) and a consumer's from a follower
// (KIP-392) have that others have not.

// tellLeaders tells every partition how far the follower is; what it is to be told
// beside records is kept for the answer, which may come later.
func (f *fetch) tellLeaders() {
	if f.replica < 0 {
		return
	}
	for i := range f.parts {
		part := &f.parts[i]
		var dir replication.DirID
		if i < len(f.dirs) {
			dir = f.dirs[i]
		}
		f.told = append(f.told, replica.ReplicaAnswer{})
		if part.err != nil {
			continue
		}
		f.told[i] = part.partition.FetchAsReplica(&replica.ReplicaFetch{
			Replica: f.replica, BrokerEpoch: f.brokerEpoch, Dir: dir,
			LeaderEpoch: part.read.LeaderEpoch, Offset: part.read.Offset, LastEpoch: part.lastEpoch, Correlation: f.call.header.CorrelationID,
		})
		if part.err = f.told[i].Err; part.err == replica.ErrUnknownReplica {
			part.err = replica.ErrNotLeader // as Kafka answers a fetcher that is no replica
		}
	}
}

// tellFollower fills in an answer without records, and reports whether it is one: an
// error, or where the logs part. Where the follower's offset is out of range the last
// stable offset says where the leader's log ends, for which a follower of Kafka's
// would ask ListOffsets.
func (f *fetch) tellFollower(a *wire.FetchPartition, i int) bool {
	told := &f.told[i]
	a.HighWatermark, a.LastStableOffset, a.LogStartOffset = told.Offsets.HighWatermark, told.Offsets.LastStable, told.Offsets.LogStart
	switch {
	case f.parts[i].err != nil:
		if told.Err == commitlog.ErrOffsetOutOfRange {
			a.LastStableOffset = told.LogEnd
		}
		f.tell(a, &f.parts[i], f.parts[i].err)
	case told.DivergingEpoch >= 0 || told.DivergingEnd >= 0:
		a.DivergingEpoch = &wire.EpochEnd{Epoch: told.DivergingEpoch, EndOffset: told.DivergingEnd}
	default:
		return false
	}
	return true
}

// decodeRack keeps a consumer's rack where it is asked for.
func (f *fetch) decodeRack(rack []byte) {
	if len(rack) > 0 && f.server.rackAware() {
		f.rack = string(rack)
	}
}

// rackAware reports whether consumers may read from followers, and are sent to them.
func (s *Server) rackAware() bool {
	return s.o.Configs.Broker().Replication.SelectorClass == config.RackAwareSelector
}

// nearer is the in-sync replica in the consumer's rack that has what it asks for and
// is the furthest; −1 where the leader is as near, or is not here
// (RackAwareReplicaSelector).
func (f *fetch) nearer(part *fetchPart) int32 {
	s := f.server
	leader, _ := part.partition.Leader()
	if leader != s.o.BrokerID {
		return -1
	}
	view := s.o.Metadata.View()
	inRack := func(id int32) bool {
		b, ok := view.Broker(id)
		return ok && b.Rack == f.rack
	}
	if inRack(leader) {
		return -1
	}
	best, end := int32(-1), part.read.Offset-1
	for _, r := range part.partition.Followers(nil) {
		if r.InSync && r.LogEndOffset > end && inRack(r.Broker) {
			best, end = r.Broker, r.LogEndOffset
		}
	}
	return best
}
