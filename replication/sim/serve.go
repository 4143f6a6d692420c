package sim

import (
	"time"

	"tidemark/internal/trace"
	"tidemark/replication"
)

// waiter is a producer that waits for its acknowledgement.
type waiter struct {
	client      endpoint
	correlation uint32
	value       uint32
	entry       uint32
	offset      int64 // of its record
	epoch       int32
	acks        int8 // 1, or -1 for all
	deadline    time.Duration
}

// The codes of a produce answer.
const (
	codeOK int32 = iota
	// codeRefused: nothing was appended.
	codeRefused
	// codeUnknown: it was appended, or may have been.
	codeUnknown
)

// onProduce appends a record, and answers or parks the producer.
func (b *broker) onProduce(j *job) {
	if b.machine == nil || b.role != replication.Leader || !b.mayLead() {
		b.answerProduce(j.from, j.correlation, j.value, codeRefused, 0, "NOT_LEADER_OR_FOLLOWER")
		return
	}
	if j.acks == -1 && !b.admits() {
		b.reach[ReachNotEnoughReplicas]++
		b.answerProduce(j.from, j.correlation, j.value, codeRefused, 0, "NOT_ENOUGH_REPLICAS")
		return
	}
	offset := b.log.end()
	wait := waiter{
		client: j.from, correlation: j.correlation, value: j.value, entry: b.ghost.nextEntry(), offset: offset, epoch: b.epoch,
		acks: j.acks, deadline: b.now + b.options.requestTimeout,
	}
	if j.acks != 0 {
		b.waiters = append(b.waiters, wait)
		b.tracePurgatory("parked", &wait, "")
	}
	b.append(entry{epoch: b.epoch}, j.value, j.correlation<<4|uint32(j.from))
}

// admits says whether acks=all may append: the strategy's own rule.
func (b *broker) admits() bool {
	if m, ok := b.machine.(interface{ Admits() bool }); ok {
		return m.Admits()
	}
	return b.machine.Status().Admits
}

// ack answers who waits below end. A leader whose lease ran out may have been
// replaced: it answers nothing more.
func (b *broker) ack(end int64, all bool) {
	kept := b.waiters[:0]
	holds := b.mayLead()
	for _, w := range b.waiters {
		if w.offset >= end || all != (w.acks == -1) {
			kept = append(kept, w)
			continue
		}
		if !holds {
			b.reach[ReachLeaseLapsed]++
			b.answerProduce(w.client, w.correlation, w.value, codeUnknown, 0, "NOT_LEADER_OR_FOLLOWER")
			continue
		}
		b.world.onAck(b, &w)
		b.tracePurgatory("completed", &w, "")
		b.answerProduce(w.client, w.correlation, w.value, codeOK, w.offset, "")
	}
	b.waiters = kept
}

func (b *broker) failWaiters(end int64, failure replication.Failure) {
	kept := b.waiters[:0]
	for _, w := range b.waiters {
		if w.offset >= end || w.acks != -1 && failure != replication.NotLeader {
			kept = append(kept, w)
			continue
		}
		if failure == replication.NotEnoughReplicasAfterAppend {
			b.reach[ReachNotEnoughAfterAppend]++
		}
		b.tracePurgatory("completed", &w, failureText(failure))
		b.answerProduce(w.client, w.correlation, w.value, codeUnknown, 0, failureText(failure))
	}
	b.waiters = kept
}

func (b *broker) expireWaiters() {
	kept := b.waiters[:0]
	for _, w := range b.waiters {
		if w.deadline > b.now {
			kept = append(kept, w)
			continue
		}
		b.reach[ReachProduceTimedOut]++
		b.tracePurgatory("expired", &w, "")
		b.answerProduce(w.client, w.correlation, w.value, codeUnknown, 0, "REQUEST_TIMED_OUT")
	}
	b.waiters = kept
}

func (b *broker) answerProduce(to endpoint, correlation, value uint32, code int32, offset int64, text string) {
	if b.trace != nil {
		phase := "acked"
		if code != codeOK {
			phase = "refused"
		}
		b.emit(b.end, trace.Event{
			Kind: trace.Probe, TopicPartition: partitionName, Epoch: b.epoch, Phase: phase, Key: valueKey(value), From: offset, Error: text,
		})
	}
	if j := b.post(produceAnswer, b.end, to); j != nil {
		j.correlation, j.value, j.version, j.offset = correlation, value, code, offset
	}
}

// maxConsumeRecords is how many batches a consumer gets at most.
const maxConsumeRecords = 32

// onConsume serves what lies below the high watermark. A new leader whose high
// watermark is not yet known says so instead of going backwards (KIP-207).
func (b *broker) onConsume(j *job) {
	a := b.post(consumeAnswer, b.end, j.from)
	if a == nil {
		return
	}
	a.correlation, a.offset, a.epoch = j.correlation, j.offset, b.epoch
	if b.machine == nil || b.role != replication.Leader || b.toldUnder != b.brokerEpoch {
		a.version = codeRefused
		return
	}
	a.highWatermark, a.logEnd = b.hw, b.log.end()
	if j.offset > b.hw {
		a.version = codeUnknown // OFFSET_NOT_AVAILABLE or OFFSET_OUT_OF_RANGE
		if b.hw < b.epochStart {
			b.reach[ReachOffsetNotAvailable]++
			a.yes = true
		}
		return
	}
	end := min(b.hw, j.offset+maxConsumeRecords)
	a.entries = append(a.entries[:0], b.log.entries[j.offset:end]...)
	b.world.onServed(b, j.offset, end)
}

func (b *broker) onMetadata(j *job) {
	if a := b.post(metadataAnswer, b.end, j.from); a != nil {
		a.index, a.epoch = b.metaLeader, b.metaEpoch
	}
}
