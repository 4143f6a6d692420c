package sim

import (
	"time"

	"tidemark/internal/trace"
	"tidemark/replication"
)

// fetcher drives a follower's standing fetch.
type fetcher struct {
	standing    bool
	ask         replication.Effect
	correlation uint32
	entries     []entry // of the answer at hand
}

func (f *fetcher) drop() { f.standing, f.correlation = false, f.correlation+1 }

// beginFetch replaces the standing fetch and sends it.
func (b *broker) beginFetch(e replication.Effect) {
	b.fetch.standing, b.fetch.ask = true, e
	b.sendFetch()
}

func (b *broker) sendFetch() {
	f := &b.fetch
	f.correlation++
	b.timer(fetchTimer, b.options.fetchTimeout).correlation = f.correlation
	j := b.post(fetchRequest, b.end, endOf(f.ask.Broker))
	if j == nil {
		return
	}
	e := &f.ask
	j.correlation, j.epoch, j.recordEpoch, j.offset = f.correlation, e.LeaderEpoch, e.RecordEpoch, e.Offset
	j.brokerEpoch, j.dir, j.highWatermark = b.brokerEpoch, dirID(b.log.directory), b.hw
	j.asker = b.life
	j.version = max(b.epoch, b.fence) // what the follower really knows, for the checker
	if b.trace != nil {
		j.cause = b.emit(b.end, trace.Event{
			Kind: trace.Fetch, TopicPartition: partitionName, Epoch: e.LeaderEpoch, Phase: "request", Follower: b.id,
			Correlation: int32(f.correlation), From: e.Offset, LogEndOffset: b.log.end(), HighWatermark: b.hw,
		})
	}
}

func (b *broker) onFetchTimer(j *job) {
	if f := &b.fetch; f.standing && f.correlation == j.correlation {
		b.sendFetch()
	}
}

// parkedFetch is a fetch that waits at the leader for something to send.
type parkedFetch struct {
	waiting     bool
	correlation uint32
	asker       uint32
	offset      int64
	epoch       int32
	answer      replication.Effect
	cause       trace.ID
}

// onFetchRequest gives a follower's fetch to the machine, whose AnswerFetch says
// what to answer. A leader that may lead no longer counts nobody: the follower may have
// lost since what it had when it asked.
func (b *broker) onFetchRequest(j *job) {
	if b.machine == nil {
		return
	}
	p := &b.parked[j.from]
	*p = parkedFetch{correlation: j.correlation, asker: j.asker, offset: j.offset, epoch: j.epoch, cause: j.cause}
	b.fetchKnows = j.version
	if b.role == replication.Leader && !b.mayLead() {
		b.answerFetch(replication.Effect{Broker: j.from.id(), Failure: replication.NotLeader, DivergingEpoch: replication.NoEpoch})
		return
	}
	b.step(replication.Event{
		Kind: replication.FollowerFetched, Broker: j.from.id(), BrokerEpoch: j.brokerEpoch, Dir: j.dir,
		LeaderEpoch: j.epoch, Offset: j.offset, RecordEpoch: j.recordEpoch,
	})
}

// answerFetch answers at once where there is news, else parks.
func (b *broker) answerFetch(e replication.Effect) {
	p := &b.parked[endOf(e.Broker)]
	switch e.Failure {
	case replication.FencedLeaderEpoch:
		b.reach[ReachFetchFenced]++
	case replication.UnknownLeaderEpoch:
		b.reach[ReachFetchUnknownEpoch]++
	case replication.StaleBrokerEpoch:
		b.reach[ReachFetchStaleBroker]++
	case replication.NoFailure:
		b.world.onFetchServed(b, b.fetchKnows)
		if e.DivergingEpoch != replication.NoEpoch {
			b.reach[ReachDiverged]++
		}
	}
	p.answer = e
	if e.Failure == replication.NoFailure && e.DivergingEpoch == replication.NoEpoch && !e.News && p.offset >= b.log.end() {
		p.waiting = true
		t := b.timer(parkTimer, b.options.fetchWait)
		t.correlation, t.from = p.correlation, endOf(e.Broker)
		return
	}
	b.sendFetchAnswer(endOf(e.Broker))
}

func (b *broker) onParkTimer(j *job) {
	if p := &b.parked[j.from]; p.waiting && p.correlation == j.correlation {
		b.sendFetchAnswer(j.from)
	}
}

// wakeParked answers the fetches that waited for records.
func (b *broker) wakeParked() {
	for i := range b.parked {
		if p := &b.parked[i]; p.waiting && p.offset < b.log.end() {
			b.sendFetchAnswer(endpoint(i))
		}
	}
}

// dropParked tells waiting followers that this broker no longer leads.
func (b *broker) dropParked() {
	for i := range b.parked {
		if p := &b.parked[i]; p.waiting {
			p.answer.Failure = replication.NotLeader
			b.sendFetchAnswer(endpoint(i))
		}
	}
}

func (b *broker) sendFetchAnswer(to endpoint) {
	p := &b.parked[to]
	p.waiting = false
	j := b.post(fetchResponse, b.end, to)
	if j == nil {
		return
	}
	e := &p.answer
	j.life = p.asker
	j.correlation, j.failure, j.epoch, j.offset = p.correlation, e.Failure, p.epoch, p.offset
	j.highWatermark, j.logEnd, j.recordEpoch, j.end = e.HighWatermark, b.log.end(), e.DivergingEpoch, e.DivergingEnd
	if e.Failure == replication.NoFailure && e.DivergingEpoch == replication.NoEpoch {
		if p.offset < b.log.end() {
			end := min(b.log.end(), p.offset+b.options.fetchRecords)
			j.entries = append(j.entries[:0], b.log.entries[p.offset:end]...)
		}
	}
	if b.trace != nil {
		j.cause = b.emit(b.end, trace.Event{
			Kind: trace.Fetch, TopicPartition: partitionName, Epoch: b.epoch, Phase: "response", Follower: to.id(), Correlation: int32(p.correlation),
			From: p.offset, Records: int32(len(j.entries)), LogEndOffset: b.log.end(), HighWatermark: e.HighWatermark, Error: failureText(e.Failure), Cause: p.cause,
		})
	}
}

// onFetchResponse gives the answer to the machine; where the standing fetch is
// still the same afterwards, it is sent again.
func (b *broker) onFetchResponse(j *job) {
	f := &b.fetch
	if b.machine == nil || !f.standing || j.correlation != f.correlation {
		return
	}
	f.entries = j.entries
	b.step(replication.Event{
		Kind: replication.FetchResponse, Broker: j.from.id(), LeaderEpoch: j.epoch, Offset: j.offset, Failure: j.failure,
		HighWatermark: j.highWatermark, LogEnd: j.logEnd, DivergingEpoch: j.recordEpoch, DivergingEnd: j.end, Records: len(j.entries) > 0,
	})
	f.entries = nil
	if !f.standing || f.correlation != j.correlation || !b.up {
		return
	}
	if j.failure != replication.NoFailure {
		f.correlation++ // back off, then ask again
		b.timer(fetchTimer, min(b.options.fetchTimeout/4, 20*time.Millisecond)).correlation = f.correlation
		return
	}
	if b.cfg.SyncedAcks && b.log.synced < b.log.end() {
		return // left out of the next fetch until the tail is synced
	}
	b.sendFetch()
}

func failureText(f replication.Failure) string {
	switch f {
	case replication.NotLeader:
		return "NOT_LEADER_OR_FOLLOWER"
	case replication.FencedLeaderEpoch:
		return "FENCED_LEADER_EPOCH"
	case replication.UnknownLeaderEpoch:
		return "UNKNOWN_LEADER_EPOCH"
	case replication.OffsetOutOfRange:
		return "OFFSET_OUT_OF_RANGE"
	case replication.StaleBrokerEpoch:
		return "STALE_BROKER_EPOCH"
	case replication.UnknownReplica:
		return "UNKNOWN_TOPIC_OR_PARTITION"
	case replication.NotEnoughReplicas:
		return "NOT_ENOUGH_REPLICAS"
	case replication.NotEnoughReplicasAfterAppend:
		return "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
	}
	return ""
}
