package txns

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/broker/config"
	"tidemark/broker/groups"
	"tidemark/broker/metadata"
	"tidemark/broker/replica"
	"tidemark/commitlog"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/coordinator/znode"
	"tidemark/engines/catalog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// host is a coordinator of one partition, on broker 1, whose other brokers are made up.
type host struct {
	t      *testing.T
	clock  *clock.Manual
	view   *metadata.Cache
	blocks *blocks
	peers  *peers
	*Coordinator
}

type blocks struct {
	mu   sync.Mutex
	next int64
	err  error
}

func (b *blocks) AllocateProducerIDs(context.Context, int32) (znode.ProducerIDBlock, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return znode.ProducerIDBlock{First: b.next, Last: b.next}, b.err
}

// peers answer as told and keep what they were asked.
type peers struct {
	mu      sync.Mutex
	markers []sentMarkers
	errs    []error // of the requests to come; then none
	perEach error
}

type sentMarkers struct {
	broker  int32
	markers []Marker
}

func (p *peers) WriteMarkers(_ context.Context, broker int32, markers []Marker) ([][]error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.markers = append(p.markers, sentMarkers{broker, markers})
	if len(p.errs) > 0 {
		err := p.errs[0]
		p.errs = p.errs[1:]
		return nil, err
	}
	out := make([][]error, len(markers))
	for i := range markers {
		out[i] = make([]error, len(markers[i].Partitions))
		for j := range out[i] {
			out[i][j] = p.perEach
		}
	}
	return out, nil
}

func (p *peers) AddPartitions(_ context.Context, broker int32, q Question) ([]error, error) {
	errs := make([]error, len(q.Partitions))
	for i := range errs {
		errs[i] = txn.ErrAbortable
	}
	if broker != 2 {
		return nil, errors.New("wrong broker")
	}
	return errs, nil
}

func (p *peers) sent() []sentMarkers {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.markers)
}

// newHost leads the only partition of the topic, and knows topic t: t-0 is led here, t-1
// by broker 2, t-2 by nobody.
func newHost(t *testing.T) *host {
	t.Helper()
	cfg, err := config.Parse(map[string]string{"broker.id": "1"})
	if err != nil {
		t.Fatal(err)
	}
	h := &host{t: t, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), view: metadata.NewCache(), blocks: &blocks{}, peers: &peers{}}
	logger := slog.New(slog.DiscardHandler)
	replicas := replica.New(replica.Options{
		BrokerID: 1, ClusterID: "test", FS: vfs.NewMem(), Dirs: []string{"/data"}, Engines: catalog.Builtin(),
		Config: func(string) replica.TopicConfig {
			c := replica.NewTopicConfig()
			c.AppendEngine, c.ReadEngine = "buffered", "pread"
			return c
		}, Clock: h.clock, Logger: logger,
	})
	if err := replicas.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	group := groups.New(groups.Options{BrokerID: 1, Config: cfg, Replicas: replicas, Metadata: h.view, Clock: h.clock, Logger: logger})
	h.Coordinator = New(Options{
		BrokerID: 1, Config: cfg, Replicas: replicas, Metadata: h.view, Groups: group, Blocks: h.blocks, Peers: h.peers, Clock: h.clock, Logger: logger,
	})
	t.Cleanup(func() {
		h.Close()
		group.Close()
		if err := replicas.Close(1); err != nil {
			t.Errorf("close replicas: %v", err)
		}
	})
	mine := []replica.State{
		{Topic: Topic, TopicID: [16]byte{1}, Leader: 1, Replicas: []int32{1}, ISR: replica.Members(1)},
		{Topic: "t", TopicID: [16]byte{2}, Leader: 1, Replicas: []int32{1}, ISR: replica.Members(1)},
	}
	if err := replicas.Apply(mine).Err(); err != nil {
		t.Fatal(err)
	}
	h.tell(Topic, 0, 1)
	for index, leader := range []int32{1, 2, -1} {
		h.tell("t", int32(index), leader)
	}
	h.Led(0, 1, 0)
	return h
}

// tell changes who leads a partition, as far as is known.
func (h *host) tell(topic string, index, leader int32) {
	id := map[string][16]byte{Topic: {1}, "t": {2}}[topic]
	known, _ := h.partition(topic, index)
	h.view.Apply(metadata.Change{Controller: 1, Partitions: []metadata.Update{{Topic: topic, ID: id, Partition: metadata.Partition{
		Index: index, Leader: leader, LeaderEpoch: known.LeaderEpoch + 1, PartitionEpoch: known.PartitionEpoch + 1, Replicas: []int32{1, 2},
	}}}})
}

func (h *host) partition(topic string, index int32) (metadata.Partition, bool) {
	if t := h.view.View().Topic(topic); t != nil {
		return t.Partition(index)
	}
	return metadata.Partition{}, false
}

// until lets time pass in small steps until so.
func (h *host) until(what string, so func() bool) {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		if so() {
			return
		}
		h.clock.Advance(10 * time.Millisecond)
		time.Sleep(time.Millisecond) // others' goroutines have work meanwhile
	}
	h.t.Fatalf("still waiting for %s", what)
}

// call waits for the reply of a request.
func (h *host) call(ask func(done func(shard.Reply))) shard.Reply {
	h.t.Helper()
	replies := make(chan shard.Reply, 1)
	ask(func(r shard.Reply) { replies <- r })
	var reply shard.Reply
	h.until("a reply", func() bool {
		select {
		case reply = <-replies:
			return true
		default:
			return false
		}
	})
	return reply
}

// begin opens a transaction with partitions of t.
func (h *host) begin(indexes ...int32) txn.Producer {
	h.t.Helper()
	p := txn.Producer{ID: "tx", ProducerID: txn.None, ProducerEpoch: txn.None}
	h.until("the coordinator", func() bool {
		r := h.call(func(done func(shard.Reply)) { h.Init(&txn.InitRequest{Producer: p, Timeout: time.Minute}, done) })
		if r.Err != nil {
			return false
		}
		body := r.Body.(*txn.InitReply)
		p.ProducerID, p.ProducerEpoch = body.ProducerID, body.ProducerEpoch
		return true
	})
	r := &txn.AddRequest{Producer: p}
	for _, i := range indexes {
		r.Partitions = append(r.Partitions, txn.Partition{Topic: "t", Index: i})
	}
	if got := h.call(func(done func(shard.Reply)) {
		h.Submit("tx", func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) { x.Add(now, r, token, out) }, done)
	}); got.Err != nil {
		h.t.Fatal(got.Err)
	}
	return p
}

// commit decides the transaction.
func (h *host) commit(p txn.Producer) {
	h.t.Helper()
	if r := h.call(func(done func(shard.Reply)) { h.End(&txn.EndRequest{Producer: p, Commit: true}, done) }); r.Err != nil {
		h.t.Fatal(r.Err)
	}
}

func (h *host) state() txn.State {
	h.t.Helper()
	r := h.call(func(done func(shard.Reply)) {
		h.Submit("tx", func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
			x.Describe(now, "tx", token, out)
		}, done)
	})
	if r.Err != nil {
		return txn.Dead // it is being loaded
	}
	return r.Body.(*txn.DescribeReply).State
}

// TestMarkersReachEveryLeader: the own partition's by a call, another broker's by a
// request, again until each is written.
func TestMarkersReachEveryLeader(t *testing.T) {
	h := newHost(t)
	h.peers.errs = []error{errors.New("no route"), errors.New("no route")}
	p := h.begin(0, 1)
	h.commit(p)
	h.until("the end of the transaction", func() bool { return h.state() == txn.CompleteCommit })
	sent := h.peers.sent()
	if len(sent) != 3 {
		t.Fatalf("broker 2 was asked %d times, want 3: two failed", len(sent))
	}
	m := sent[2].markers[0]
	if sent[2].broker != 2 || !m.Commit || m.ProducerID != p.ProducerID || !slices.Equal(m.Partitions, []txn.Partition{{Topic: "t", Index: 1}}) {
		t.Errorf("broker %d was sent %+v, want a COMMIT of %d for t-1 at broker 2", sent[2].broker, m, p.ProducerID)
	}
	if end := h.o.Replicas.Partition("t", 0).LogEndOffset(); end != 1 {
		t.Errorf("t-0 ends at %d, want one marker", end)
	}
}

// TestMarkerWaitsForALeader: a partition without a leader holds up its transaction and
// no other one's.
func TestMarkerWaitsForALeader(t *testing.T) {
	h := newHost(t)
	h.commit(h.begin(0, 2))
	for range 100 {
		h.clock.Advance(backoff)
	}
	if got := h.state(); got != txn.PrepareCommit {
		t.Errorf("with t-2 leaderless the transaction is %v, want it undone", got)
	}
	h.tell("t", 2, 2)
	h.until("the end of the transaction", func() bool { return h.state() == txn.CompleteCommit })
}

// TestMarkerOfADeletedTopic: what is gone needs no marker, but is looked for a while.
func TestMarkerOfADeletedTopic(t *testing.T) {
	h := newHost(t)
	p := h.begin(0, 1)
	h.view.Apply(metadata.Change{Controller: 1, Removed: []metadata.Removal{{Topic: "t", ID: [16]byte{2}}}})
	began := h.clock.Now()
	h.commit(p)
	h.until("the end of the transaction", func() bool { return h.state() == txn.CompleteCommit })
	if took := h.clock.Now().Sub(began); took < unknownTries*backoff {
		t.Errorf("given up after %v, want %v: metadata may be late", took, unknownTries*backoff)
	}
}

// TestOutdatedMarker: a partition that has heard of a later epoch holds up nothing.
func TestOutdatedMarker(t *testing.T) {
	h := newHost(t)
	h.peers.perEach = commitlog.ErrInvalidProducerEpoch
	h.commit(h.begin(1))
	h.until("the end of the transaction", func() bool { return h.state() == txn.CompleteCommit })
}

// TestAnotherTermCarriesOn: a decision that one leadership did not finish, with half of
// its markers written, is the next one's, and carries its epoch (fault T10).
func TestAnotherTermCarriesOn(t *testing.T) {
	h := newHost(t)
	written := h.o.Replicas.Partition("t", 0)
	h.commit(h.begin(0, 2))
	h.until("the marker in t-0", func() bool { return written.LogEndOffset() == 1 })
	h.Led(0, 2, 1)
	if r := h.call(func(done func(shard.Reply)) { h.End(&txn.EndRequest{Producer: txn.Producer{ID: "tx"}}, done) }); !errors.Is(r.Err, shard.ErrNotCoordinator) {
		t.Errorf("who leads no more answers %v", r.Err)
	}
	h.tell("t", 2, 2)
	h.o.Replicas.Apply([]replica.State{{Topic: Topic, TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 5, PartitionEpoch: 5, Replicas: []int32{1}, ISR: replica.Members(1)}})
	h.Led(0, 1, 5)
	h.until("the end of the transaction", func() bool { return h.state() == txn.CompleteCommit })
	if sent := h.peers.sent(); len(sent) != 1 || sent[0].markers[0].CoordinatorEpoch != 5 {
		t.Errorf("sent %+v, want one marker of coordinator epoch 5", sent)
	}
	if end := written.LogEndOffset(); end != 2 {
		t.Errorf("t-0 ends at %d, want one marker of each term", end)
	}
}

// TestMarkersOneAfterAnother: who is told that markers are written may write the next
// ones into the same partition, whoever moved its high watermark.
func TestMarkersOneAfterAnother(t *testing.T) {
	h := newHost(t)
	state := replica.State{Topic: "t", TopicID: [16]byte{2}, Leader: 1, PartitionEpoch: 1, Replicas: []int32{1, 2}, ISR: replica.Members(1, 2)}
	if err := h.o.Replicas.Apply([]replica.State{state}).Err(); err != nil {
		t.Fatal(err)
	}
	marker := func(id int64) []Marker {
		return []Marker{{ProducerID: id, Partitions: []txn.Partition{{Topic: "t", Index: 0}}}}
	}
	second := make(chan error, 1)
	h.WriteMarkers(marker(1), func([][]error) {
		h.WriteMarkers(marker(2), func(errs [][]error) { second <- errs[0][0] })
	})
	state.PartitionEpoch, state.ISR = 2, replica.Members(1) // broker 2 is waited for no more
	applied := make(chan error, 1)
	go func() { applied <- h.o.Replicas.Apply([]replica.State{state}).Err() }()
	for _, c := range []chan error{applied, second} {
		select {
		case err := <-c:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("who wakes the first marker waits for itself")
		}
	}
}

// TestQuestions go to the coordinator, wherever it is.
func TestQuestions(t *testing.T) {
	h := newHost(t)
	p := h.begin(0)
	at := []txn.Partition{{Topic: "t", Index: 0}, {Topic: "t", Index: 1}}
	ask := func(q Question) (errs []error) {
		h.call(func(done func(shard.Reply)) {
			h.Ask(q, func(got []error) {
				errs = got
				done(shard.Reply{})
			})
		})
		return errs
	}
	if errs := ask(Question{Producer: p, Partitions: at}); errs[0] != nil || !errors.Is(errs[1], txn.ErrAbortable) {
		t.Errorf("verified: %v, want t-0 alone in the transaction", errs)
	}
	if errs := ask(Question{Producer: p, Partitions: at, Add: true}); errs[0] != nil || errs[1] != nil {
		t.Errorf("added: %v", errs)
	}
	if errs := ask(Question{Producer: p, Partitions: at}); errs[0] != nil || errs[1] != nil {
		t.Errorf("verified after that: %v", errs)
	}
	stale := p
	stale.ProducerEpoch--
	if errs := ask(Question{Producer: stale, Partitions: at}); !errors.Is(errs[0], txn.ErrFenced) || !errors.Is(errs[1], txn.ErrFenced) {
		t.Errorf("of an older epoch: %v", errs)
	}
	h.tell(Topic, 0, 2)
	if errs := ask(Question{Producer: p, Partitions: at}); !errors.Is(errs[0], txn.ErrAbortable) {
		t.Errorf("broker 2 was not asked: %v", errs)
	}
	h.tell(Topic, 0, -1)
	if errs := ask(Question{Producer: p, Partitions: at}); !errors.Is(errs[0], shard.ErrNotCoordinator) {
		t.Errorf("without a leader: %v", errs)
	}
}

// TestNoProducerID: the client comes again when ids cannot be had.
func TestNoProducerID(t *testing.T) {
	h := newHost(t)
	h.begin(0)
	h.blocks.err = errors.New("no ZooKeeper")
	r := h.call(func(done func(shard.Reply)) {
		h.Init(&txn.InitRequest{Producer: txn.Producer{ID: "other", ProducerID: txn.None, ProducerEpoch: txn.None}, Timeout: time.Minute}, done)
	})
	if !errors.Is(r.Err, shard.ErrOverloaded) {
		t.Errorf("got %v, want that the client comes again", r.Err)
	}
}

// TestTopicSettings: the topic has as many replicas as it should, or as there are
// brokers.
func TestTopicSettings(t *testing.T) {
	h := newHost(t)
	for brokers, want := range map[int]struct {
		factor int16
		isr    string
	}{1: {1, "1"}, 2: {2, "2"}, 3: {3, "2"}, 9: {3, "2"}} {
		partitions, factor, settings := h.TopicSettings(brokers)
		if partitions != 50 || factor != want.factor || settings["min.insync.replicas"] != want.isr || settings["cleanup.policy"] != "compact" {
			t.Errorf("with %d brokers: %d partitions, %d replicas, %v", brokers, partitions, factor, settings)
		}
		if _, err := h.o.Config.Topic(settings); err != nil {
			t.Errorf("the topic's settings are refused: %v", err)
		}
	}
}
