package replica

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/broker/peer"
	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
	"tidemark/replication"
	"tidemark/replication/catalog"
)

// three is a cluster of three managers with one partition, t-0. A goroutine plays
// the controller after the rules of replication/sim; followers fetch by calling the
// leader's manager.
type three struct {
	t    *testing.T
	spec replication.Spec
	cfg  TopicConfig
	lag  time.Duration
	// truncation is replica.truncation.
	truncation replication.Truncation
	ended      chan struct{}
	playing    sync.WaitGroup

	mu    sync.Mutex // guards what follows
	nodes [4]*node
	// cut are fetches that do not get through, by follower and leader.
	cut [4][4]bool
	// delay is what a fetch takes.
	delay      time.Duration
	state      State
	lastLeader int32
	epochs     int64 // registrations so far
	fenceEpoch int32
	fenced     bool
	answers    [4]*FenceAnswer
	// loseOutcomes has proposals end without an answer, after they were written.
	loseOutcomes bool
	moves        int
}

// node is one broker.
type node struct {
	*Manager
	id int32
	fs *vfs.Mem
	// epoch is its registration, clean the one that it left cleanly; live says that
	// the controller sees it, leased that it thinks so itself.
	epoch, clean int64
	up, live     bool
	leased       bool
	told         [2]int32 // leader and partition epoch
	// life counts its processes: an earlier one reaches nobody.
	life int
}

const theTopic = "t"

func newThree(t *testing.T, strategy string, configure func(*three)) *three {
	spec, err := catalog.Builtin().Find(strategy)
	if err != nil {
		t.Fatal(err)
	}
	c := &three{t: t, spec: spec, cfg: NewTopicConfig(), lag: 10 * time.Second, ended: make(chan struct{}), lastLeader: replication.NoBroker}
	c.cfg.AppendEngine, c.cfg.ReadEngine, c.cfg.Strategy, c.cfg.MinInsyncReplicas = "buffered", "pread", strategy, 2
	if configure != nil {
		configure(c)
	}
	c.state = State{Topic: theTopic, TopicID: [16]byte{7}, Leader: replication.NoBroker, Replicas: []int32{1, 2, 3}, IsNew: true}
	for id := int32(1); id <= 3; id++ {
		c.nodes[id] = &node{id: id, fs: vfs.NewMem(), clean: replication.NoBrokerEpoch}
		c.start(id)
	}
	c.playing.Go(c.control)
	t.Cleanup(c.end)
	return c
}

func (c *three) end() {
	close(c.ended)
	c.playing.Wait()
	for id := int32(1); id <= 3; id++ {
		if n := c.nodes[id]; n.up {
			if err := n.Manager.Close(n.epoch); err != nil {
				c.t.Error(err)
			}
		}
	}
}

// start opens a broker's manager under a new registration.
func (c *three) start(id int32) {
	c.mu.Lock()
	n := c.nodes[id]
	c.epochs++
	n.epoch = c.epochs
	c.mu.Unlock()
	o := hostOptions(n.fs, "/data")
	o.BrokerID, o.Clock, o.Strategies, o.LagTimeMax, o.Truncation = id, clock.Real{}, catalog.Builtin(), c.lag, c.truncation
	o.HighWatermarkCheckpointInterval = 20 * time.Millisecond
	o.Fetch = FetchOptions{WaitMax: 20 * time.Millisecond, Backoff: 40 * time.Millisecond}
	o.Config = func(string) TopicConfig { c.mu.Lock(); defer c.mu.Unlock(); return c.cfg }
	c.mu.Lock()
	n.life++
	life := n.life
	c.mu.Unlock()
	o.BrokerEpoch = func() int64 { c.mu.Lock(); defer c.mu.Unlock(); return n.epoch }
	o.Lease = func() bool { c.mu.Lock(); defer c.mu.Unlock(); return n.leased && n.life == life }
	o.ISR, o.Leaders = writer{c, n, life}, link{c, id, life}
	m := New(o)
	if err := m.Open(context.Background()); err != nil {
		c.t.Fatal(err)
	}
	c.mu.Lock()
	n.Manager, n.up, n.live, n.leased, n.told = m, true, true, true, [2]int32{-1, -1}
	c.mu.Unlock()
}

// stop closes a broker's manager in order.
func (c *three) stop(id int32) {
	c.mu.Lock()
	n := c.nodes[id]
	m, epoch := n.Manager, n.epoch
	n.up, n.live, n.leased = false, false, false
	c.mu.Unlock()
	if err := m.Close(epoch); err != nil {
		c.t.Error(err)
	}
	c.mu.Lock()
	n.clean = epoch
	c.mu.Unlock()
}

// crash ends a broker's process: with a power cut, which leaves what was synced, or
// by a kill, which leaves what was written but the latest checkpoints.
func (c *three) crash(id int32, powerCut bool, seed uint64) {
	c.mu.Lock()
	n := c.nodes[id]
	m, epoch := n.Manager, n.epoch
	n.up, n.live, n.leased = false, false, false
	n.life++
	c.mu.Unlock()
	left := n.fs
	if powerCut {
		left = n.fs.CrashClone(seed)
	}
	before := map[string][]byte{}
	for _, name := range []string{checkpoint.HighWatermarkFile, checkpoint.RecoveryPointFile} {
		before[name], _ = vfs.ReadFile(n.fs, "/data/"+name) // there may be none yet
	}
	if err := m.Close(epoch); err != nil {
		c.t.Error(err)
	}
	if !powerCut {
		c.unclean(n.fs, before)
	}
	n.fs = left
}

// unclean makes what an orderly end left look like a kill's.
func (c *three) unclean(fs *vfs.Mem, before map[string][]byte) {
	if err := fs.Remove("/data/" + checkpoint.CleanShutdownFile); err != nil {
		c.t.Error(err)
	}
	for name, data := range before {
		if data == nil {
			continue
		}
		if err := vfs.WriteFileAtomic(fs, "/data/"+name, data); err != nil {
			c.t.Error(err)
		}
	}
}

// switchFlush changes storage.flush on every broker.
func (c *three) switchFlush(to FlushPolicy) {
	c.mu.Lock()
	c.cfg.Flush = to
	var up []*Manager
	for _, n := range c.nodes[1:] {
		if n.up {
			up = append(up, n.Manager)
		}
	}
	c.mu.Unlock()
	for _, m := range up {
		if err := m.Reconfigure(theTopic); err != nil {
			c.t.Error(err)
		}
	}
}

// expire has the controller lose sight of a broker, which knows nothing of it.
func (c *three) expire(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[id].live = false
}

// reappear registers an expired broker anew, without a restart.
func (c *three) reappear(id int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.nodes[id]
	if !n.up || n.live {
		return
	}
	c.epochs++
	n.clean, n.epoch, n.live, n.leased, n.told = n.epoch, c.epochs, true, true, [2]int32{-1, -1}
}

// control plays the controller.
func (c *three) control() {
	for {
		select {
		case <-c.ended:
			return
		case <-time.After(time.Millisecond):
		}
		c.mu.Lock()
		d := c.decide()
		c.mu.Unlock()
		for _, id := range d.Fence {
			c.fence(id)
		}
		c.tell()
	}
}

// candidates are the replicas as the controller sees them; mu is held.
func (c *three) candidates() replication.Candidates {
	out := replication.Candidates{ISR: c.state.ISR, ELR: c.state.ELR, New: c.state.IsNew, LastLeader: c.state.Leader}
	if c.fenced {
		out.LastLeader = replication.NoBroker
	}
	for id := int32(1); id <= 3; id++ {
		n := c.nodes[id]
		r := replication.Candidate{Broker: id, Live: n.live, BrokerEpoch: n.epoch, CleanEpoch: n.clean, LastEpoch: replication.NoEpoch, LogEndOffset: replication.NoOffset}
		if n.live {
			r.Dir = n.Manager.dirs[0].id
		}
		if a := c.answers[id]; a != nil && n.live {
			r.Answered, r.LastEpoch, r.LogEndOffset, r.Dir = true, a.LastEpoch, a.LogEndOffset, a.Dir
		}
		out.Replicas = append(out.Replicas, r)
	}
	return out
}

// decide elects; mu is held.
func (c *three) decide() replication.Decision {
	s := &c.state
	if c.fenceEpoch != s.LeaderEpoch+1 {
		c.fenceEpoch, c.fenced, c.answers = s.LeaderEpoch+1, false, [4]*FenceAnswer{}
	}
	d := c.spec.Elect(c.candidates(), replication.Config{MinISR: int(c.cfg.MinInsyncReplicas)})
	if d.Leader != replication.NoBroker {
		d.Fence = nil
	}
	if len(d.Fence) > 0 {
		c.fenced = true
	}
	if d.Leader == s.Leader && slices.Equal(d.ISR, s.ISR) && slices.Equal(d.ELR, s.ELR) {
		return d
	}
	if s.Leader != replication.NoBroker {
		c.lastLeader = s.Leader
	}
	c.write(func(s *State) {
		s.Leader, s.ISR, s.ELR, s.IsNew = d.Leader, d.ISR, d.ELR, s.IsNew && d.Leader == replication.NoBroker
		s.LeaderEpoch++
	})
	return d
}

// write changes the state; mu is held.
func (c *three) write(change func(*State)) {
	change(&c.state)
	c.state.PartitionEpoch++
}

// move elects a member of the ISR although the leader lives.
func (c *three) move(to int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := replication.Find(c.state.ISR, to)
	if i < 0 || !c.nodes[to].live || c.state.ISR[i].BrokerEpoch != c.nodes[to].epoch || c.state.Leader == to || c.state.Leader == replication.NoBroker {
		return
	}
	if p := c.spec.Promise; p != replication.InSync && p != replication.WholeSet {
		return
	}
	c.moves++
	c.write(func(s *State) { s.Leader = to; s.LeaderEpoch++ })
}

// fence asks a replica.
func (c *three) fence(id int32) {
	c.mu.Lock()
	n, epoch := c.nodes[id], c.fenceEpoch
	m, registered := n.Manager, n.epoch
	reachable := n.live && c.answers[id] == nil
	c.mu.Unlock()
	if !reachable {
		return
	}
	r := FenceRequest{ID: ID{Topic: theTopic}, TopicID: c.state.TopicID, LeaderEpoch: epoch}
	m.Fence(r, func(a FenceAnswer) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if a.Err == nil && a.Failure == replication.NoFailure && c.fenceEpoch == epoch && a.LeaderEpoch == epoch && n.epoch == registered {
			c.answers[id] = &a
		}
	})
}

// tell sends the state to every live broker that does not have it.
func (c *three) tell() {
	for id := int32(1); id <= 3; id++ {
		c.mu.Lock()
		n, s := c.nodes[id], c.state
		now := [2]int32{s.LeaderEpoch, s.PartitionEpoch}
		m, due := n.Manager, n.live && n.told != now && !s.IsNew
		n.told = now
		c.mu.Unlock()
		if !due {
			continue
		}
		if err := m.Apply([]State{s}).Err(); err != nil && !errors.Is(err, commitlog.ErrClosed) {
			c.t.Error(err)
		}
	}
}

// writer is a broker's way to have in-sync sets written.
type writer struct {
	c    *three
	n    *node
	life int
}

func (w writer) Propose(p Proposal, done func(Outcome)) {
	go func() {
		c := w.c
		c.mu.Lock()
		o := w.admit(&p)
		lost := c.loseOutcomes
		c.mu.Unlock()
		if lost {
			o = Outcome{Refusal: replication.UnknownOutcome}
		}
		done(o)
	}()
}

func (w writer) admit(p *Proposal) Outcome {
	c, s := w.c, &w.c.state
	stands := func() Outcome {
		return Outcome{Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, ISR: s.ISR, ELR: s.ELR}
	}
	candidates := c.candidates()
	switch {
	case !w.n.live || w.life != w.n.life:
		return Outcome{Refusal: replication.UnknownOutcome}
	case s.Leader == w.n.id && s.LeaderEpoch == p.LeaderEpoch && s.PartitionEpoch == p.PartitionEpoch+1 && slices.Equal(s.ISR, p.Members):
		return stands()
	case s.Leader != w.n.id || s.LeaderEpoch != p.LeaderEpoch || s.PartitionEpoch != p.PartitionEpoch:
		w.n.told = [2]int32{-1, -1}
		return Outcome{Refusal: replication.StaleState}
	case !candidates.Admits(p.Members):
		return Outcome{Refusal: replication.NotApplied}
	}
	var elr []replication.Member
	if c.spec.Promise == replication.WholeSet {
		elr = replication.NextELR(s.ISR, s.ELR, p.Members, int(c.cfg.MinInsyncReplicas), 3)
	}
	c.write(func(s *State) { s.ISR, s.ELR = p.Members, elr })
	w.n.told = [2]int32{s.LeaderEpoch, s.PartitionEpoch}
	return stands()
}

// link is a broker's way to leaders.
type link struct {
	c    *three
	from int32
	life int
}

var errCut = errors.New("the line is cut")

func (l link) Fetch(ctx context.Context, leader int32, _ int, r peer.FetchRequest, took func(*peer.FetchedPartition)) error {
	deadline := time.Now().Add(time.Duration(r.MaxWaitMs) * time.Millisecond)
	told := make([]ReplicaAnswer, len(r.Partitions))
	asked := false
	for {
		l.c.mu.Lock()
		n, cut, delay := l.c.nodes[leader], l.c.cut[l.from][leader], l.c.delay
		m, up := n.Manager, n.up && l.c.nodes[l.from].life == l.life
		l.c.mu.Unlock()
		if cut || !up {
			return errCut
		}
		if !asked && delay > 0 {
			time.Sleep(delay)
		}
		var answers []peer.FetchedPartition
		news := false
		for i := range r.Partitions {
			a, ready := l.answer(m, &r, &r.Partitions[i], &told[i], asked)
			answers = append(answers, a)
			news = news || ready
		}
		asked = true
		if news || !time.Now().Before(deadline) || ctx.Err() != nil {
			for i := range answers {
				took(&answers[i])
			}
			return ctx.Err()
		}
		time.Sleep(time.Millisecond)
	}
}

func (l link) answer(m *Manager, r *peer.FetchRequest, q *peer.FetchPartition, told *ReplicaAnswer, asked bool) (a peer.FetchedPartition, ready bool) {
	a = peer.FetchedPartition{TopicID: q.TopicID, Index: q.Index, DivergingEpoch: replication.NoEpoch, DivergingEnd: replication.NoOffset}
	var p *Partition
	if t := m.TopicByID(q.TopicID); t != nil {
		p = t.Partition(q.Index)
	}
	if p == nil {
		a.ErrorCode = wire.UnknownTopicID
		return a, true
	}
	if !asked {
		*told = p.FetchAsReplica(&ReplicaFetch{Replica: r.ReplicaID, BrokerEpoch: r.BrokerEpoch, Dir: q.Dir, LeaderEpoch: q.LeaderEpoch, Offset: q.FetchOffset, LastEpoch: q.LastFetchedEpoch})
	}
	a.HighWatermark, a.LogStartOffset, a.LastStableOffset = told.Offsets.HighWatermark, told.Offsets.LogStart, told.LogEnd
	a.DivergingEpoch, a.DivergingEnd = told.DivergingEpoch, told.DivergingEnd
	if told.Err != nil || told.DivergingEpoch != replication.NoEpoch {
		a.ErrorCode = testCode(told.Err)
		return a, true
	}
	chunk, offsets, err := p.Read(ReadRequest{Offset: q.FetchOffset, MaxBytes: int64(q.MaxBytes), LeaderEpoch: q.LeaderEpoch, Isolation: ReadAsReplica, WholeBatch: true})
	if err != nil {
		a.ErrorCode = testCode(err)
		return a, true
	}
	a.HighWatermark, a.LogStartOffset = offsets.HighWatermark, offsets.LogStart
	if chunk == nil {
		return a, told.News
	}
	defer chunk.Release()
	var records bytes.Buffer
	for chunk.Len() > 0 {
		if _, err := chunk.WriteTo(&records); err != nil {
			a.ErrorCode = wire.KafkaStorageError
			return a, true
		}
	}
	a.Records = records.Bytes()
	return a, true
}

// testCode is the error code of an error.
func testCode(err error) wire.ErrorCode {
	for failure, known := range refusalErrors {
		if known != nil && errors.Is(err, known) {
			return peer.Code(replication.Failure(failure))
		}
	}
	if err != nil {
		return wire.UnknownServerError
	}
	return wire.None
}

// leader is the partition where it is led, as the controller has it; nil where nobody
// leads.
func (c *three) leader() *Partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Leader == replication.NoBroker || !c.nodes[c.state.Leader].up {
		return nil
	}
	return c.nodes[c.state.Leader].Partition(theTopic, 0)
}

// on is the partition on a broker.
func (c *three) on(id int32) *Partition {
	c.mu.Lock()
	m := c.nodes[id].Manager
	c.mu.Unlock()
	return m.Partition(theTopic, 0)
}

// await polls until so, and says what was waited for where it takes too long.
func (c *three) await(what string, so func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.mu.Lock()
			s := fmt.Sprintf("%+v", c.state)
			c.mu.Unlock()
			for id := int32(1); id <= 3; id++ {
				if p := c.on(id); p != nil {
					s += fmt.Sprintf("\n%d: %+v", id, p.Status())
				}
			}
			c.t.Fatalf("waited for %s:\n%s", what, s)
		}
	}
}

// led waits for a leader that may append.
func (c *three) led() *Partition {
	c.t.Helper()
	var p *Partition
	c.await("a leader", func() bool { p = c.leader(); return p != nil && p.Check(AnyEpoch) == nil })
	return p
}

// produce appends one record and waits for what becomes of it.
func produce(p *Partition, acks int16, value string, patience time.Duration) (offset int64, err error) {
	info, changed, err := p.Append(testBatch(value), acks, commitlog.Client)
	if err != nil {
		return -1, err
	}
	if changed {
		p.Changed.Wake()
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(200 * time.Microsecond) {
		done, err := p.Acknowledged(&info, acks)
		if err != nil {
			return -1, err
		}
		if done {
			return info.LastOffset, nil
		}
		if time.Now().After(deadline) {
			return -1, errTestTimeout
		}
	}
}

var errTestTimeout = errors.New("not acknowledged in time")

// mustProduce is produce that has to succeed, if not at once.
func (c *three) mustProduce(acks int16, value string) (offset int64) {
	c.t.Helper()
	var err error
	c.await("produce "+value, func() bool {
		offset, err = produce(c.led(), acks, value, 2*time.Minute)
		return err == nil
	})
	return offset
}

// content is all of a replica's log.
func content(t *testing.T, p *Partition) []byte {
	t.Helper()
	var out []byte
	for at := p.LogStartOffset(); at < p.LogEndOffset(); {
		info, err := p.log.Read(at, 1<<20, p.LogEndOffset(), true)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for info.Chunk.Len() > 0 {
			if _, err := info.Chunk.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
		}
		info.Chunk.Release()
		out = append(out, b.Bytes()...)
		for rest := b.Bytes(); len(rest) > 0; {
			batch, after, err := record.Parse(rest)
			if err != nil {
				t.Fatal(err)
			}
			at, rest = batch.NextOffset(), after
		}
	}
	return out
}

// alike waits until all replicas have the leader's log, and its high watermark.
func (c *three) alike() {
	c.t.Helper()
	c.await("logs that are alike", func() bool {
		lead := c.leader()
		if lead == nil || lead.HighWatermark() != lead.LogEndOffset() {
			return false
		}
		for id := int32(1); id <= 3; id++ {
			if p := c.on(id); p == nil || p.LogEndOffset() != lead.LogEndOffset() || p.HighWatermark() != lead.HighWatermark() {
				return false
			}
		}
		return true
	})
	want := content(c.t, c.on(1))
	for id := int32(2); id <= 3; id++ {
		if !bytes.Equal(content(c.t, c.on(id)), want) {
			c.t.Errorf("broker %d has another log than broker 1", id)
		}
	}
}
