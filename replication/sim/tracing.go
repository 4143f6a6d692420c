package sim

import (
	"fmt"
	"strconv"
	"strings"

	"tidemark/internal/trace"
	"tidemark/replication"
)

// recording numbers the events of a run, by emitter.
type recording struct {
	tracers [endpoints + 1]*trace.Tracer
}

func newRecording(sink trace.Sink) *recording {
	r := &recording{}
	for i := range r.tracers {
		r.tracers[i] = trace.NewTracer(trace.Outside, sink)
		if e := endpoint(i); e.isBroker() {
			r.tracers[i] = trace.NewTracer(e.id(), sink)
		}
	}
	outside := trace.NewTracer(trace.Outside, sink)
	for i := range r.tracers {
		if !endpoint(i).isBroker() {
			r.tracers[i] = outside
		}
	}
	return r
}

// emit writes an event and makes it the cause of what follows.
func (w *world) emit(by endpoint, e trace.Event) trace.ID {
	at := endpoints
	if by.isBroker() {
		at = int(by)
	}
	e.At = w.now
	if e.Cause.IsZero() {
		e.Cause = w.cause
	}
	id := w.trace.tracers[at].Emit(e)
	w.cause = id
	return id
}

func (w *world) traceZnode(by endpoint, op, path string, version int32, owner int64, problem string) {
	if w.trace == nil {
		return
	}
	if strings.HasSuffix(path, "/") {
		path += fmt.Sprint(by.id())
	}
	e := trace.Event{Kind: trace.Znode, Op: op, Path: path, Version: version, Owner: owner, Error: problem, Why: fmt.Sprintf("by broker %d", by.id())}
	w.emit(harness, e)
}

// Tail is a sink that keeps the last events as text.
type Tail struct {
	lines []string
	limit int
}

// NewTail keeps the last limit events.
func NewTail(limit int) *Tail { return &Tail{limit: limit} }

// Write implements trace.Sink.
func (t *Tail) Write(e *trace.Event) {
	if len(t.lines) == 2*t.limit {
		t.lines = append(t.lines[:0], t.lines[t.limit:]...)
	}
	t.lines = append(t.lines, string(trace.AppendText(nil, e)))
}

// Lines are the events kept.
func (t *Tail) Lines() []string { return t.lines[max(0, len(t.lines)-t.limit):] }

// traceLeader is the event of a written state with another leader or epoch.
func (w *world) traceLeader(before, after *partitionState) {
	if w.trace == nil {
		return
	}
	w.emit(harness, trace.Event{
		Kind: trace.Leader, TopicPartition: partitionName, Epoch: after.leaderEpoch, OldLeader: before.leader,
		Leader: after.leader, New: ids(after.isr), Unclean: after.unclean,
	})
}

func (w *world) traceFault(phase string, k FaultKind, b, other *broker) {
	if w.trace == nil {
		return
	}
	e := trace.Event{Kind: trace.Fault, Phase: phase, What: "all"}
	if k < faultKinds {
		e.What, e.New = k.String(), []int32{b.id}
		if k == CutPair || k == CutOneWay {
			e.New = append(e.New, other.id)
		}
	}
	w.cause = w.emit(harness, e)
}

func (b *broker) traceHW(e replication.Effect) {
	var waiting []int32
	if s := b.machine.Status(); s.Role == replication.Leader {
		for _, f := range s.Followers {
			if f.LogEndOffset < s.LogEndOffset && replication.Contains(s.Maximal, f.Broker) {
				waiting = append(waiting, f.Broker)
			}
		}
	}
	b.emit(b.end, trace.Event{
		Kind: trace.HW, TopicPartition: partitionName, Epoch: b.epoch, From: e.From, To: e.Offset, LogEndOffset: b.log.end(), WaitingFor: waiting,
	})
}

func (b *broker) traceISR(phase string, members []replication.Member, version int32, why string) {
	if b.trace == nil {
		return
	}
	old := ids(b.maximal())
	b.emit(b.end, trace.Event{
		Kind: trace.ISR, TopicPartition: partitionName, Epoch: b.epoch, Phase: phase, Old: old, New: ids(members), Version: version, Why: why,
	})
}

func (b *broker) traceFsync(problem string) {
	if b.trace != nil {
		b.emit(b.end, trace.Event{
			Kind: trace.Fsync, TopicPartition: partitionName, Epoch: b.epoch, To: b.log.synced, LogEndOffset: b.log.end(), Error: problem,
		})
	}
}

func (b *broker) tracePurgatory(phase string, w *waiter, problem string) {
	if b.trace != nil {
		b.emit(b.end, trace.Event{
			Kind: trace.Purgatory, TopicPartition: partitionName, Epoch: w.epoch, Phase: phase, What: "produce",
			Key: strconv.FormatInt(w.offset+1, 10), Deadline: w.deadline, Error: problem,
		})
	}
}
