package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
	"tidemark/protocol/wire"
)

// ListOffsets (2), versions 1 to 9: the offset of a point in time. 4 brought
// leader epochs, 7 the largest timestamp (−3), 8 the local log start (−4), 9 the
// last tiered offset (−5). Nothing is tiered here: the local log start is the log
// start, and the last tiered offset is −1.

// firstOffsetNotAvailable is the version from which clients know OFFSET_NOT_AVAILABLE.
const firstOffsetNotAvailable = 5

// The timestamps that are not points in time, and the version each came with.
const (
	latestTimestamp        int64 = -1
	earliestTimestamp      int64 = -2
	maxTimestamp           int64 = -3
	earliestLocalTimestamp int64 = -4
	latestTieredTimestamp  int64 = -5
)

var timestampVersions = map[int64]int16{
	latestTimestamp: 1, earliestTimestamp: 1, maxTimestamp: 7, earliestLocalTimestamp: 8, latestTieredTimestamp: 9,
}

func listOffsets(s *Server, req *kmsg.ListOffsetsRequest) kmsg.Response {
	resp := kmsg.NewPtrListOffsetsResponse()
	seen := make(map[replica.ID]int)
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			seen[replica.ID{Topic: t.Topic, Partition: p.Partition}]++
		}
	}
	for _, t := range req.Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			answer := kmsg.NewListOffsetsResponseTopicPartition()
			answer.Partition = p.Partition
			found, code := nothing, wire.InvalidRequest
			if seen[replica.ID{Topic: t.Topic, Partition: p.Partition}] == 1 {
				found, code = s.listOffset(req, t.Topic, &p)
			}
			answer.Timestamp, answer.Offset, answer.LeaderEpoch = found.TimestampMs, found.Offset, found.Epoch
			answer.ErrorCode = int16(code)
			topic.Partitions = append(topic.Partitions, answer)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// nothing is the answer where no record matches, and beside an error.
var nothing = replica.TimestampOffset{TimestampMs: -1, Offset: -1, Epoch: -1}

func (s *Server) listOffset(req *kmsg.ListOffsetsRequest, topic string, q *kmsg.ListOffsetsRequestTopicPartition) (replica.TimestampOffset, wire.ErrorCode) {
	if from, known := timestampVersions[q.Timestamp]; q.Timestamp < 0 && (!known || req.Version < from) {
		return nothing, wire.UnsupportedVersion
	}
	p, err := s.partition(topic, q.Partition)
	if err == nil {
		err = p.Check(epochOf(q.CurrentLeaderEpoch))
	}
	if err != nil {
		return nothing, partitionCode(err)
	}
	isolation := replica.ReadUncommitted
	switch {
	case req.ReplicaID != consumer:
		isolation = replica.ReadAll
	case req.IsolationLevel == 1:
		isolation = replica.ReadCommitted
	}
	found := nothing
	switch q.Timestamp {
	case latestTimestamp:
		found, err = p.Latest(isolation)
	case earliestTimestamp, earliestLocalTimestamp:
		found = p.Earliest()
	case latestTieredTimestamp:
	case maxTimestamp:
		found, err = p.MaxTimestamp(isolation)
	default:
		found, err = p.FirstAfter(q.Timestamp, isolation)
	}
	if err != nil {
		code := partitionCode(err)
		if code == wire.OffsetNotAvailable && req.Version < firstOffsetNotAvailable {
			code = wire.LeaderNotAvailable // which clients of that time retry (KIP-207)
		}
		return nothing, code
	}
	return found, wire.None
}

// epochOf reads a leader epoch of a request, where every negative one means that
// the client knows none.
func epochOf(epoch int32) int32 { return max(epoch, replica.AnyEpoch) }

// partition finds a partition that is here, or says why it is not.
func (s *Server) partition(topic string, index int32) (*replica.Partition, error) {
	if p := s.o.Replicas.Partition(topic, index); p != nil {
		return p, nil
	}
	return nil, s.absent(topic, index)
}
