package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// plug is the network of a client that can be pulled: what a killed process leaves.
type plug struct {
	mu    sync.Mutex
	conns []net.Conn
	out   bool
}

var errUnplugged = errors.New("the plug is out")

func (p *plug) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out {
		return nil, errors.Join(errUnplugged, conn.Close())
	}
	p.conns = append(p.conns, conn)
	return conn, nil
}

func (p *plug) pull() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out = true
	for _, c := range p.conns {
		_ = c.Close() // some are closed already
	}
}

// copier consumes a topic, and produces what it read to another, with its offsets in
// the same transactions.
type copier struct {
	session *kgo.GroupTransactSession
	plug    *plug
	stop    context.CancelFunc
	done    chan struct{}
}

// startCopier starts the copier of a slot, whose transactional id outdates the one
// before.
func startCopier(t *testing.T, b *brokerProcess, slot int, from, to string) *copier {
	t.Helper()
	c := &copier{plug: &plug{}, done: make(chan struct{})}
	var err error
	c.session, err = kgo.NewGroupTransactSession(
		kgo.SeedBrokers(b.Bootstrap), kgo.Dialer(c.plug.dial), kgo.TransactionalID(fmt.Sprint("copier-", slot)), kgo.TransactionTimeout(10*time.Second),
		kgo.ConsumerGroup("copiers"), kgo.ConsumeTopics(from), kgo.DefaultProduceTopic(to), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.RequireStableFetchOffsets(), kgo.SessionTimeout(2*time.Second), kgo.HeartbeatInterval(200*time.Millisecond),
	)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	go func() {
		defer close(c.done)
		for ctx.Err() == nil {
			c.copy(ctx)
		}
	}()
	return c
}

// copy is one transaction.
func (c *copier) copy(ctx context.Context) {
	fetches := c.session.PollRecords(ctx, 20)
	if fetches.NumRecords() == 0 {
		return
	}
	if err := c.session.Begin(); err != nil {
		return
	}
	var mu sync.Mutex
	try := kgo.TryCommit
	fetches.EachRecord(func(r *kgo.Record) {
		c.session.Produce(ctx, &kgo.Record{Value: r.Value}, func(_ *kgo.Record, err error) {
			if err != nil {
				mu.Lock()
				try = kgo.TryAbort
				mu.Unlock()
			}
		})
	})
	if err := c.session.Client().Flush(ctx); err != nil {
		return
	}
	mu.Lock()
	defer mu.Unlock()
	_, _ = c.session.End(ctx, try) // a session that is lost is replaced
}

// kill leaves the broker without a word.
func (c *copier) kill() {
	c.plug.pull()
	c.stop()
	<-c.done
	go c.session.Close() // nothing of it gets through
}

// TestExactlyOnceThroughKills: three copiers, of which one is killed every now and then,
// in whatever it is doing, copy each record once for read_committed readers (fault T13).
func TestExactlyOnceThroughKills(t *testing.T) {
	kills, records := 8, 3000
	if os.Getenv("TIDEMARK_FULL") != "" {
		kills, records = 80, 30_000
	}
	b := startBroker(t, "group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=500",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=1000")
	createTopic(t, b, "from", 4)
	createTopic(t, b, "to", 4)
	copiers := make([]*copier, 3)
	for slot := range copiers {
		copiers[slot] = startCopier(t, b, slot, "from", "to")
	}
	defer func() {
		for _, c := range copiers {
			c.kill()
		}
	}()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	produced := make(chan struct{})
	go func() {
		defer close(produced)
		produceSlowly(t, b, "from", records)
	}()
	for range kills {
		time.Sleep(time.Duration(rng.IntN(800)) * time.Millisecond) // wherever they are
		slot := rng.IntN(len(copiers))
		copiers[slot].kill()
		copiers[slot] = startCopier(t, b, slot, "from", "to")
	}
	<-produced
	requireEachOnce(t, b, "to", records)
}

// produceSlowly writes record 0 to n-1 with pauses.
func produceSlowly(t *testing.T, b *brokerProcess, topic string, n int) {
	client := newKgo(t, b)
	for i := range n {
		client.Produce(t.Context(), &kgo.Record{Topic: topic, Value: fmt.Append(nil, "record ", i)}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Errorf("produce: %v", err)
			}
		})
		if i%100 == 99 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Errorf("flush: %v", err)
	}
}

// requireEachOnce reads a topic as read_committed readers see it until every record was
// there, and what comes in the second after.
func requireEachOnce(t *testing.T, b *brokerProcess, topic string, n int) {
	t.Helper()
	client := newKgo(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	seen := map[string]int{}
	end := time.Now().Add(2 * time.Minute)
	for time.Now().Before(end) {
		ctx, cancel := context.WithDeadline(t.Context(), end)
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
		cancel()
		if soon := time.Now().Add(time.Second); len(seen) == n && soon.Before(end) {
			end = soon
		}
	}
	var twice []string
	for v, times := range seen {
		if times > 1 {
			twice = append(twice, v)
		}
	}
	slices.Sort(twice)
	if len(seen) != n || len(twice) > 0 {
		t.Errorf("%d of %d records were copied, %d of them more than once: %.200q", len(seen), n, len(twice), twice)
	}
}
