package replica

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/broker/peer"
	"tidemark/internal/trace"
	"tidemark/replication"
)

// traced is what a partition needs to tell its events; there is none while tracing is
// off, and who has something to tell asks for it first. Its fields are guarded by
// stepping unless they say otherwise.
//
// Appends and high watermarks that come too fast (trace.Pace) are told together: one
// event says from where to where. Fetches that come too fast are left out, and so are
// those that ask again what was asked before, and answers that say nothing new.
type traced struct {
	to   *trace.Tracer
	p    *Partition
	name string

	// cause, or asked where its id is another broker's, led to what is told now.
	cause trace.ID
	asked trace.Request

	appends, moves trace.Pace
	// grown is an append and moved a high watermark that wait to be told; without
	// Kind there is none.
	grown, moved trace.Event
	// lastHW is the number of the last HW event.
	lastHW atomic.Uint64

	mu      sync.Mutex
	answers trace.Pace              // guarded by mu
	waits   trace.Pace              // guarded by mu
	told    map[int32]fetchAnswered // by follower; guarded by mu
}

// fetchAnswered is what a follower's last told answer said.
type fetchAnswered struct {
	once                  bool // something was told
	offset, highWatermark int64
	epoch                 int32
}

func (p *Partition) beginTrace() {
	if to := p.manager.o.Trace; to.On() {
		p.traced = &traced{to: to, p: p, name: p.Topic.Name + "-" + strconv.Itoa(int(p.Index)), told: map[int32]fetchAnswered{}}
	}
}

// event is one of this partition.
func (t *traced) event(kind trace.Kind) trace.Event {
	return trace.Event{Kind: kind, TopicPartition: t.name, Epoch: t.p.lead.Load().epoch}
}

// emit tells an event and makes it the cause of what follows.
func (t *traced) emit(e trace.Event) {
	t.flush()
	t.tell(&e)
}

func (t *traced) tell(e *trace.Event) {
	if e.Cause.IsZero() && e.Asked.IsZero() {
		t.explain(e)
	}
	t.cause = t.to.Emit(*e)
}

// explain says what led to an event.
func (t *traced) explain(e *trace.Event) {
	if e.Cause = t.cause; t.cause.IsZero() {
		e.Asked = t.asked
	}
}

// settle ends what one thing that happened has led to.
func (t *traced) settle() { t.cause, t.asked = trace.ID{}, trace.Request{} }

// flush tells what waits to be told.
func (t *traced) flush() {
	if t.grown.Kind != 0 {
		t.tell(&t.grown)
		t.grown = trace.Event{}
	}
	if t.moved.Kind != 0 {
		t.tell(&t.moved)
		t.lastHW.Store(t.cause.Seq)
		t.moved = trace.Event{}
	}
}

// append tells that the log grew.
func (t *traced) append(from, to int64, epoch int32) {
	g := &t.grown
	if g.Kind != 0 && g.Epoch == epoch && g.To == from {
		g.To, g.Records = to, int32(to-g.From)
	} else {
		t.flush()
		*g = trace.Event{Kind: trace.Append, TopicPartition: t.name, Epoch: epoch, From: from, To: to, Records: int32(to - from)}
		t.explain(g)
	}
	g.HighWatermark = t.p.hw.Load()
	if t.appends.Pass(t.p.manager.now()) {
		t.flush()
	}
}

// highWatermark tells that it moved.
func (t *traced) highWatermark(e *replication.Effect) {
	m := &t.moved
	if m.Kind == 0 {
		*m = t.event(trace.HW)
		m.From = e.From
	}
	m.To, m.LogEndOffset = e.Offset, t.p.end.Load()
	m.Cause, m.Asked = trace.ID{}, trace.Request{}
	t.explain(m)
	if t.moves.Pass(t.p.manager.now()) {
		m.WaitingFor = t.p.holdUp()
		t.flush()
	}
}

// holdUp are the followers that keep the high watermark below the log end.
func (p *Partition) holdUp() (behind []int32) {
	s := p.machine.Status()
	if s.Role != replication.Leader {
		return nil
	}
	for _, f := range s.Followers {
		if f.LogEndOffset < s.LogEndOffset && replication.Contains(s.Maximal, f.Broker) {
			behind = append(behind, f.Broker)
		}
	}
	return behind
}

// isr tells of a proposed set and what became of it.
func (t *traced) isr(phase string, members []replication.Member, version int32, why string) {
	e := t.event(trace.ISR)
	e.Phase, e.Old, e.New, e.Version, e.Why = phase, brokers(t.p.machine.Status().Maximal), brokers(members), version, why
	t.emit(e)
}

// settled tells what became of a proposal.
func (t *traced) settled(q *Proposal, o *Outcome) {
	switch o.Refusal {
	case 0:
		t.isr("committed", o.ISR, o.PartitionEpoch, "")
	case replication.UnknownOutcome:
		t.isr("unknown", q.Members, q.PartitionEpoch, "no answer; it is made again")
	default:
		t.isr("refused", q.Members, q.PartitionEpoch, "")
	}
}

// heard tells that the controller named a leader.
func (t *traced) heard(s *State) {
	last := t.p.lead.Load()
	t.emit(trace.Event{
		Kind: trace.Leader, TopicPartition: t.name, Epoch: s.LeaderEpoch, Phase: "heard", OldLeader: last.leader, Leader: s.Leader,
		New: brokers(s.ISR), Unclean: s.Recovering,
	})
}

func (t *traced) truncated(from, to int64, why replication.Why) {
	e := t.event(trace.Truncate)
	e.From, e.To, e.HighWatermark, e.Why = from, to, t.p.hw.Load(), why.String()
	t.emit(e)
}

func (t *traced) synced(err error) {
	e := t.event(trace.Fsync)
	e.To, e.LogEndOffset = t.p.log.RecoveryPoint(), t.p.end.Load()
	if err != nil {
		e.Error = "KAFKA_STORAGE_ERROR"
	}
	t.emit(e)
}

// request tells that a follower asks its leader, unless it asked the same before, and
// returns the id of the event that says so. The fetcher's goroutine alone calls it.
func (a *asked) request(q *peer.FetchPartition, correlation int32) trace.ID {
	t, now := a.p.traced, a.p.manager.now()
	said := fetchAnswered{once: true, offset: q.FetchOffset, highWatermark: a.p.hw.Load(), epoch: q.LeaderEpoch}
	switch {
	case said == a.said:
		return a.saidBy
	case !a.pace.Pass(now):
		a.said, a.saidBy = fetchAnswered{}, trace.ID{}
		return trace.ID{}
	}
	a.said = said
	a.saidBy = t.to.Emit(trace.Event{
		Kind: trace.Fetch, TopicPartition: t.name, Epoch: q.LeaderEpoch, Phase: "request", Follower: t.p.self, Correlation: correlation,
		From: q.FetchOffset, LogEndOffset: a.p.end.Load(), HighWatermark: said.highWatermark,
	})
	return a.saidBy
}

// Traced reports whether events of partitions are wanted.
func (m *Manager) Traced() bool { return m.o.Trace.On() }

// Traced reports whether the partition's events are wanted.
func (p *Partition) Traced() bool { return p.traced != nil }

// TraceAnswer tells what a follower is answered: code is the name of its error, size
// the bytes of the records, and hw the high watermark that goes with them. How many
// records there are is known where they are all that the log has.
func (p *Partition) TraceAnswer(f *ReplicaFetch, hw, size int64, code string) {
	t := p.traced
	said := fetchAnswered{once: true, offset: f.Offset, highWatermark: hw, epoch: p.lead.Load().epoch}
	t.mu.Lock()
	idle := size == 0 && code == "" && t.told[f.Replica] == said
	wanted := !idle && t.answers.Pass(p.manager.now())
	if wanted {
		t.told[f.Replica] = said
	}
	t.mu.Unlock()
	if !wanted {
		return
	}
	e := t.event(trace.Fetch)
	e.Phase, e.Follower, e.Correlation, e.From, e.Bytes = "response", f.Replica, f.Correlation, f.Offset, size
	e.LogEndOffset, e.HighWatermark, e.Error = p.end.Load(), hw, code
	e.Asked = trace.Request{Broker: f.Replica, Correlation: f.Correlation}
	if size > 0 && p.log.Available(f.Offset, e.LogEndOffset, size+1) <= size {
		e.Records = int32(e.LogEndOffset - f.Offset)
	}
	t.to.Emit(e)
}

// TraceWaiting tells that a producer begins to wait for what ends at end, and returns
// what tells how it ended; nil where nobody wants to know.
func (p *Partition) TraceWaiting(what string, end int64, patience time.Duration) (ended func(phase string)) {
	t := p.traced
	t.mu.Lock()
	wanted := t.waits.Pass(p.manager.now())
	t.mu.Unlock()
	if !wanted {
		return nil
	}
	e := t.event(trace.Purgatory)
	e.Phase, e.What, e.Key = "parked", what, strconv.FormatInt(end, 10)
	e.Deadline = time.Duration(p.manager.o.Clock.Now().Add(patience).UnixNano())
	parked := t.to.Emit(e)
	return func(phase string) {
		e.Phase, e.Cause = phase, parked
		if seq := t.lastHW.Load(); phase == "completed" && seq > parked.Seq {
			e.Cause = trace.ID{Broker: p.self, Seq: seq}
		}
		t.to.Emit(e)
	}
}
