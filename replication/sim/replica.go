package sim

import (
	"tidemark/internal/trace"
	"tidemark/replication"
)

// step tells the machine and does what it wants, in order. What it wants of the
// log is done and told at once, before anything else is.
func (b *broker) step(ev replication.Event) {
	if b.machine == nil {
		return
	}
	ev.Now = b.now
	from := len(b.effects)
	b.effects = b.machine.Step(ev, b.effects)
	life := b.life
	for i := from; i < len(b.effects) && b.life == life; i++ {
		b.do(b.effects[i])
	}
	if b.life == life {
		b.effects = b.effects[:from]
	}
}

// do carries out one effect, except Accept, which goes with the records of the
// answer at hand.
func (b *broker) do(e replication.Effect) {
	switch e.Kind {
	case replication.Fetch:
		b.beginFetch(e)
	case replication.DropFetch:
		b.fetch.drop()
	case replication.Accept:
		b.accept()
	case replication.Truncate, replication.Restart:
		b.truncate(e)
	case replication.SetHighWatermark:
		b.setHighWatermark(e)
	case replication.AckLeader:
		b.ack(e.Offset, false)
	case replication.AckAll:
		b.ack(e.Offset, true)
	case replication.FailWaiters:
		b.failWaiters(e.Offset, e.Failure)
	case replication.ProposeISR:
		b.propose(e)
	case replication.AppendControl:
		b.append(entry{epoch: e.LeaderEpoch, control: true}, 0, 0)
	case replication.Sync:
		b.flushEnd = max(b.flushEnd, e.Offset)
		if !b.flushing {
			b.beginFlush()
		}
	case replication.AnswerFetch:
		b.answerFetch(e)
	case replication.WriteFence:
		b.fence = e.LeaderEpoch
		if e.Synced {
			b.fenceSynced = e.LeaderEpoch
		}
		b.dropParked()
	case replication.AnswerFence:
		b.answerFence(e)
	case replication.StepDown:
		b.role = replication.Follower
		b.dropParked()
	}
}

// append writes one batch as leader and tells the machine.
func (b *broker) append(e entry, value, correlation uint32) {
	e.id = b.ghost.append(b, e, value, correlation)
	b.log.append(e)
	end := b.log.end()
	b.world.onAppended(b, end-1)
	if b.trace != nil {
		b.emit(b.end, trace.Event{
			Kind: trace.Append, TopicPartition: partitionName, Epoch: e.epoch, From: end - 1, To: end, Records: 1, HighWatermark: b.hw,
		})
	}
	b.step(replication.Event{Kind: replication.Appended, Offset: end, RecordEpoch: e.epoch})
	b.wakeParked()
}

// accept appends what the leader sent.
func (b *broker) accept() {
	entries := b.fetch.entries
	for i := 0; i < len(entries); {
		epoch := entries[i].epoch
		first := b.log.end()
		for ; i < len(entries) && entries[i].epoch == epoch; i++ {
			b.log.append(entries[i])
			b.world.onAppended(b, b.log.end()-1)
		}
		if b.trace != nil {
			b.emit(b.end, trace.Event{
				Kind: trace.Append, TopicPartition: partitionName, Epoch: epoch, From: first, To: b.log.end(),
				Records: int32(b.log.end() - first), HighWatermark: b.hw,
			})
		}
		b.step(replication.Event{Kind: replication.Appended, Offset: b.log.end(), RecordEpoch: epoch})
	}
}

func (b *broker) truncate(e replication.Effect) {
	from := b.log.end()
	to := min(e.Offset, from)
	b.lowerCheckpoint(to)
	b.log.truncate(to)
	b.flushEnd = min(b.flushEnd, to)
	if b.flushing {
		b.flushStale = true
	}
	if b.hw > to {
		b.reach[ReachTruncatedBelowHW]++
		b.hw = to
	}
	if to < from {
		b.reach[ReachTruncated]++
		b.ghost.truncated(b, to)
	}
	if b.trace != nil {
		b.emit(b.end, trace.Event{
			Kind: trace.Truncate, TopicPartition: partitionName, Epoch: b.epoch, From: from, To: to, HighWatermark: b.hw, Why: e.Why.String(),
		})
	}
	b.step(replication.Event{Kind: replication.Truncated, Offset: to})
}

func (b *broker) setHighWatermark(e replication.Effect) {
	b.hw = e.Offset
	if b.trace != nil {
		b.traceHW(e)
	}
	b.world.onHighWatermark(b, e.From)
	if b.role == replication.Leader {
		b.wakeParked()
	}
}

// counted is the cheap view that the shipped machines have beside Status.
type counted interface {
	Maximal() []replication.Member
	ISR() []replication.Member
}

// maximal is the set that counts for the leader's high watermark.
func (b *broker) maximal() []replication.Member {
	if m, ok := b.machine.(counted); ok {
		return m.Maximal()
	}
	return b.machine.Status().Maximal
}

func ids(members []replication.Member) []int32 {
	out := make([]int32, 0, len(members))
	for _, m := range members {
		out = append(out, m.Broker)
	}
	return out
}
