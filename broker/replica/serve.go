package replica

import (
	"tidemark/commitlog"
	"tidemark/internal/trace"
	"tidemark/replication"
)

// ReplicaFetch is a follower's question about one partition.
type ReplicaFetch struct {
	// Replica, BrokerEpoch and Dir say who asks.
	Replica     int32
	BrokerEpoch int64
	Dir         replication.DirID
	// LeaderEpoch is the one that it follows, AnyEpoch where it knows none.
	LeaderEpoch int32
	// Offset is where it goes on, LastEpoch the leader epoch of what it has before
	// that; replication.NoEpoch is not checked.
	Offset    int64
	LastEpoch int32
	// Correlation is the id of the request, for traces.
	Correlation int32
}

// ReplicaAnswer is what a follower is told beside records.
type ReplicaAnswer struct {
	// Err is one of this package's or of commitlog's.
	Err error
	// DivergingEpoch and DivergingEnd are where the logs part; NoEpoch where they
	// do not.
	DivergingEpoch int32
	DivergingEnd   int64
	// News: the answer must not wait for records.
	News bool
	// Offsets are the leader's, LogEnd too.
	Offsets Offsets
	LogEnd  int64
}

// refusalErrors are the errors of failures.
var refusalErrors = [...]error{
	replication.NotLeader:                    ErrNotLeader,
	replication.FencedLeaderEpoch:            ErrFencedEpoch,
	replication.UnknownLeaderEpoch:           ErrUnknownEpoch,
	replication.OffsetOutOfRange:             commitlog.ErrOffsetOutOfRange,
	replication.StaleBrokerEpoch:             ErrStaleBrokerEpoch,
	replication.UnknownReplica:               ErrUnknownReplica,
	replication.NotEnoughReplicas:            ErrNotEnoughReplicas,
	replication.NotEnoughReplicasAfterAppend: ErrNotEnoughReplicasAfterAppend,
}

// FetchAsReplica notes that a follower has everything below the offset it asks for,
// and says what to answer. Where there is no error and the logs do not part, the
// records are to be read with Isolation ReadAsReplica and the follower's leader
// epoch, at once or, without News, when there are some.
func (p *Partition) FetchAsReplica(f *ReplicaFetch) ReplicaAnswer {
	a := ReplicaAnswer{DivergingEpoch: replication.NoEpoch, DivergingEnd: replication.NoOffset, Offsets: NoOffsets, LogEnd: replication.NoOffset}
	l := p.lead.Load()
	switch {
	case l.stopped:
		a.Err = ErrUnknownPartition
		return a
	case p.offline():
		a.Err = ErrStorage
		return a
	case p.outdated():
		// Somebody else may lead already, and the follower may have lost since what it
		// had when it asked: nobody is counted.
		a.Err = ErrNotLeader
		return a
	}
	p.stepping.Lock()
	if p.traced != nil {
		p.traced.asked = trace.Request{Broker: f.Replica, Correlation: f.Correlation}
	}
	p.step(&replication.Event{
		Kind: replication.FollowerFetched, Now: p.manager.now(), Broker: f.Replica, BrokerEpoch: f.BrokerEpoch, Dir: f.Dir,
		LeaderEpoch: f.LeaderEpoch, Offset: f.Offset, RecordEpoch: f.LastEpoch,
	})
	e := &p.answer
	a.Err, a.News, a.LogEnd = refusalErrors[e.Failure], e.News, e.LogEnd
	a.DivergingEpoch, a.DivergingEnd = e.DivergingEpoch, e.DivergingEnd
	a.Offsets = Offsets{HighWatermark: e.HighWatermark, LastStable: e.HighWatermark, LogStart: e.LogStart}
	if p.unlock() {
		p.Changed.Wake()
	}
	return a
}

// NoteSent takes down that a follower is sent the bytes at an offset: its rate is bounded,
// and what it is sent again and again is looked at.
func (p *Partition) NoteSent(follower int32, offset, bytes int64) {
	if q := p.sendQuota(follower); q != nil {
		q.note(bytes)
	}
	p.trust.noteSent(follower, offset, p.end.Load())
}

// Followers appends what the leader knows of the other replicas; nothing where this
// broker does not lead.
func (p *Partition) Followers(to []replication.FollowerStatus) []replication.FollowerStatus {
	p.stepping.Lock()
	defer p.stepping.Unlock()
	return append(to, p.machine.Status().Followers...)
}
