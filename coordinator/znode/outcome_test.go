package znode

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	opCreate  = 1
	opSetData = 5
	opMulti   = 14
)

// lasts is a session that outlasts what a busy machine does to it, endsSoon one that a
// test waits out.
const lasts, endsSoon = 6 * time.Second, 2 * time.Second

// throughProxy returns a client whose connection the test can break.
func throughProxy(t *testing.T, session time.Duration) (*Client, *proxy, *Client) {
	t.Helper()
	s := startServer(t)
	p := startProxy(t, s.Addr().String())
	c, err := Connect(testContext(t), Options{Servers: []string{p.l.Addr().String()}, SessionTimeout: session})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	direct := connect(t, s, Options{})
	return c, p, direct
}

func elect(t *testing.T, c *Client) Fence {
	t.Helper()
	f, err := c.ElectController(testContext(t), 1, time.UnixMilli(1))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLostReplies is C05: the server applied a write and its answer never came.
// Every kind of write must come out as if the answer had come.
func TestLostReplies(t *testing.T) {
	c, p, direct := throughProxy(t, lasts)
	ctx := testContext(t)
	want := 0
	lose := func(opcode int32) {
		want++
		p.loseReply(opcode)
	}

	lose(opMulti)
	epoch, err := c.RegisterBroker(ctx, Broker{ID: 1, Host: "h", Port: 1, Timestamp: time.UnixMilli(1)})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := direct.Broker(ctx, 1); err != nil || b.Epoch != epoch {
		t.Errorf("broker epoch %d, node %+v, error %v", epoch, b, err)
	}

	lose(opMulti)
	f := elect(t, c)
	if f.Epoch != 1 {
		t.Errorf("elected at epoch %d, want 1: the lost answer was a success", f.Epoch)
	}

	lose(opMulti)
	topic := Topic{Name: "t", ID: NewTopicID(), Partitions: map[int32][]BrokerID{0: {1}}}
	if err := c.CreateTopic(ctx, f, topic, map[string]string{"a": "b"}); err != nil {
		t.Errorf("create the topic: %v", err)
	}

	lose(opMulti)
	tp := TopicPartition{Topic: "t"}
	if err := c.CreatePartitions(ctx, f, []NewPartition{{tp, PartitionState{Leader: 1, ISR: Members(1)}}}); err != nil {
		t.Errorf("create the partition: %v", err)
	}

	lose(opMulti)
	version, err := c.SetPartitionState(ctx, f, tp, PartitionState{Leader: 1, LeaderEpoch: 1, ISR: Members(1)})
	if err != nil || version != 1 {
		t.Errorf("set the state: version %d, error %v; want 1", version, err)
	}
	if _, err := c.SetPartitionState(ctx, f, tp, PartitionState{Leader: 1, LeaderEpoch: 2, ISR: Members(1)}); !errors.Is(err, ErrVersion) {
		t.Errorf("set the state at an old version: %v, want ErrVersion", err)
	}

	lose(opSetData)
	first, err := c.AllocateProducerIDs(ctx, 1)
	if err != nil || first.First != 0 || first.Last != 999 {
		t.Errorf("first block %+v, error %v; want 0 to 999 and none skipped", first, err)
	}
	second, err := direct.AllocateProducerIDs(ctx, 1)
	if err != nil || second.First != 1000 {
		t.Errorf("second block %+v, error %v", second, err)
	}

	lose(opCreate)
	id, err := c.ClusterID(ctx)
	if err != nil {
		t.Error(err)
	}
	if again, err := direct.ClusterID(ctx); err != nil || again != id {
		t.Errorf("cluster id %q, error %v; want %q", again, err, id)
	}

	lose(opCreate)
	if err := c.UpdateConfig(ctx, Brokers, "1", func(m map[string]string) error { m["k"] = "v"; return nil }); err != nil {
		t.Error(err)
	}
	lose(opSetData)
	if err := c.UpdateConfig(ctx, Brokers, "1", func(m map[string]string) error { m["n"] = m["n"] + "x"; return nil }); err != nil {
		t.Error(err)
	}
	if config, _, err := direct.Config(ctx, Brokers, "1"); err != nil || !cmp.Equal(config, map[string]string{"k": "v", "n": "x"}) {
		t.Errorf("config %v, error %v; want the change made once", config, err)
	}

	lose(opMulti)
	if err := c.DeleteTopic(ctx, f, "t"); err != nil {
		t.Error(err)
	}
	if _, err := direct.Topic(ctx, "t"); !errors.Is(err, ErrNotFound) {
		t.Errorf("topic after its deletion: %v", err)
	}
	if got := p.lostReplies(); got != want {
		t.Errorf("%d replies were lost, want %d: the test did not test", got, want)
	}
}

// TestSessionEndsWhileAway: the session expires while the client is cut off; the
// client gets a new one, says so, and registers again, whether the watch over
// the registration began before or after.
func TestSessionEndsWhileAway(t *testing.T) {
	for name, early := range map[string]bool{"watched before": true, "watched after": false} {
		t.Run(name, func(t *testing.T) {
			c, p, direct := throughProxy(t, endsSoon)
			ctx := testContext(t)
			b := Broker{ID: 1, Host: "h", Port: 1, Timestamp: time.UnixMilli(1)}
			first, err := c.RegisterBroker(ctx, b)
			if err != nil {
				t.Fatal(err)
			}
			type registration struct {
				epoch int64
				err   error
			}
			again := make(chan registration, 10)
			keep := func() {
				c.KeepRegistered(ctx, func() Broker { return b }, func(epoch int64, err error) { again <- registration{epoch, err} })
			}
			if early {
				keep()
			}
			old := c.Session().ID
			expire(t, p, direct)
			if !early {
				awaitSession(t, c, old)
				keep()
			}
			r := <-again
			if r.err != nil || r.epoch <= first {
				t.Errorf("registered again at epoch %d, error %v; want above %d", r.epoch, r.err, first)
			}
			if now := c.Session().ID; now == old || now == 0 {
				t.Errorf("session %#x, want another than %#x", now, old)
			}
		})
	}
}

// TestRegisteredOnceTheIDIsFree: a client whose broker id another session took while it
// was away says so, and registers once that one leaves.
func TestRegisteredOnceTheIDIsFree(t *testing.T) {
	c, p, direct := throughProxy(t, endsSoon)
	ctx := testContext(t)
	b := Broker{ID: 1, Host: "h", Port: 1, Timestamp: time.UnixMilli(1)}
	if _, err := c.RegisterBroker(ctx, b); err != nil {
		t.Fatal(err)
	}
	outcomes := make(chan error, 100)
	c.KeepRegistered(ctx, func() Broker { return b }, func(_ int64, err error) { outcomes <- err })
	expire(t, p, direct, func() {
		if _, err := direct.RegisterBroker(ctx, b); err != nil {
			t.Error(err)
		}
	})
	if err := <-outcomes; !errors.Is(err, ErrBrokerIDInUse) {
		t.Errorf("while another has the id: %v, want ErrBrokerIDInUse", err)
	}
	if err := direct.UnregisterBroker(ctx, 1); err != nil {
		t.Fatal(err)
	}
	for err := range outcomes {
		if err == nil {
			return
		}
	}
}

// expire cuts the client off until its broker is gone, and then does what is to be done
// before it is back.
func expire(t *testing.T, p *proxy, direct *Client, then ...func()) {
	t.Helper()
	ctx := testContext(t)
	changed := make(chan struct{}, 100)
	direct.WatchChildren(ctx, PlaceBrokers, func() { changed <- struct{}{} })
	p.setRefuse(true)
	p.cut()
	defer p.setRefuse(false)
	for range changed {
		brokers, err := direct.Brokers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(brokers) == 0 {
			for _, do := range then {
				do()
			}
			return
		}
	}
}

// awaitSession waits for a session other than old.
func awaitSession(t *testing.T, c *Client, old int64) {
	t.Helper()
	for {
		changed := c.SessionChanged()
		if s := c.Session(); s.Connected && s.ID != old {
			return
		}
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatal("no new session")
		}
	}
}

// TestOwnDeadNodeIsReplaced is C06: a node of the client's own earlier session is
// in the way.
func TestOwnDeadNodeIsReplaced(t *testing.T) {
	s := startServer(t)
	old, c := connect(t, s, Options{}), connect(t, s, Options{})
	ctx := testContext(t)
	b := Broker{ID: 1, Host: "h", Port: 1}
	first, err := old.RegisterBroker(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	c.past[old.Session().ID] = true // as if it had been c's
	c.mu.Unlock()
	second, err := c.RegisterBroker(ctx, b)
	if err != nil || second <= first {
		t.Errorf("epoch %d, error %v; want above %d", second, err, first)
	}
}

// TestBrokerIDInUse is C12, and the crashed predecessor that must not be taken
// for it.
func TestBrokerIDInUse(t *testing.T) {
	s := startServer(t)
	alive, c := connect(t, s, Options{}), connect(t, s, Options{SessionTimeout: time.Second})
	ctx := testContext(t)
	b := Broker{ID: 1, Host: "h", Port: 1}
	if _, err := alive.RegisterBroker(ctx, b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.RegisterBroker(ctx, b); !errors.Is(err, ErrBrokerIDInUse) {
		t.Errorf("second broker with the id: %v, want ErrBrokerIDInUse", err)
	}
	result := make(chan error)
	go func() {
		_, err := connect(t, s, Options{SessionTimeout: 10 * time.Second}).RegisterBroker(ctx, b)
		result <- err
	}()
	alive.Close() // its node vanishes while the other waits
	if err := <-result; err != nil {
		t.Errorf("after the owner left: %v", err)
	}
}

// TestFence is C02: a write under an old epoch changes nothing.
func TestFence(t *testing.T) {
	s := startServer(t)
	old, next := connect(t, s, Options{}), connect(t, s, Options{})
	ctx := testContext(t)
	f := elect(t, old)
	if _, err := next.ElectController(ctx, 2, time.UnixMilli(1)); !errors.Is(err, ErrControllerExists) {
		t.Errorf("second controller: %v, want ErrControllerExists", err)
	}
	if err := old.ResignController(ctx, f); err != nil {
		t.Fatal(err)
	}
	f2, err := next.ElectController(ctx, 2, time.UnixMilli(1))
	if err != nil || f2.Epoch != 2 {
		t.Fatalf("fence %+v, error %v; want epoch 2", f2, err)
	}
	topic := Topic{Name: "t", ID: NewTopicID(), Partitions: map[int32][]BrokerID{0: {1}}}
	tp := TopicPartition{Topic: "t"}
	state := PartitionState{Leader: 1, ISR: Members(1)}
	if err := next.CreateTopic(ctx, f2, topic, nil); err != nil {
		t.Fatal(err)
	}
	if err := next.CreatePartitions(ctx, f2, []NewPartition{{tp, state}}); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func() error{
		"create a topic":    func() error { return old.CreateTopic(ctx, f, Topic{Name: "u", ID: NewTopicID()}, nil) },
		"rewrite the topic": func() error { _, err := old.SetTopic(ctx, f, topic); return err },
		"create partitions": func() error {
			return old.CreatePartitions(ctx, f, []NewPartition{{TopicPartition{"t", 1}, state}})
		},
		"set a state":    func() error { _, err := old.SetPartitionState(ctx, f, tp, state); return err },
		"delete a topic": func() error { return old.DeleteTopic(ctx, f, "t") },
	} {
		if err := write(); !errors.Is(err, ErrFenced) {
			t.Errorf("deposed controller may %s: error %v, want ErrFenced", name, err)
		}
	}
	if err := old.ResignController(ctx, f); err != nil {
		t.Errorf("deposed controller resigns: %v, want nothing to happen", err)
	}
	if holder, err := next.Controller(ctx); err != nil || holder.BrokerID != 2 {
		t.Errorf("controller %+v, error %v; want broker 2 still", holder, err)
	}
}
