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
// the same transactions. After an error it begins anew, as another process would.
type copier struct {
	opts    []kgo.Opt
	session *kgo.GroupTransactSession
	plug    *plug
	stop    context.CancelFunc
	done    chan struct{}
}

// startCopier starts the copier of a slot, whose transactional id outdates the one
// before.
func startCopier(b *brokerProcess, slot int, from, to string) *copier {
	ctx, stop := context.WithCancel(context.Background())
	c := &copier{stop: stop, done: make(chan struct{}), opts: []kgo.Opt{
		kgo.SeedBrokers(b.Bootstrap), kgo.TransactionalID(fmt.Sprint("copier-", slot)), kgo.TransactionTimeout(10 * time.Second),
		kgo.ConsumerGroup("copiers"), kgo.ConsumeTopics(from), kgo.DefaultProduceTopic(to), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(2 * time.Second), kgo.HeartbeatInterval(200 * time.Millisecond),
	}}
	go func() {
		defer close(c.done)
		for ctx.Err() == nil {
			c.live(ctx)
		}
	}()
	return c
}

// live is one process: it goes on until an error, and leaves the broker without a word.
func (c *copier) live(ctx context.Context) {
	c.plug = &plug{}
	var err error
	if c.session, err = kgo.NewGroupTransactSession(append(c.opts, kgo.Dialer(c.plug.dial))...); err != nil {
		panic(err) // the options are wrong
	}
	for err == nil && ctx.Err() == nil {
		err = c.copy(ctx)
	}
	c.plug.pull()
	go c.session.Close() // nothing of it gets through
}

// copy is one transaction.
func (c *copier) copy(ctx context.Context) error {
	fetches := c.session.PollRecords(ctx, 20)
	if fetches.NumRecords() == 0 {
		return ctx.Err()
	}
	if err := c.session.Begin(); err != nil {
		return err
	}
	var produced error
	var mu sync.Mutex
	fetches.EachRecord(func(r *kgo.Record) {
		c.session.Produce(ctx, &kgo.Record{Value: r.Value}, func(_ *kgo.Record, err error) {
			mu.Lock()
			produced = errors.Join(produced, err)
			mu.Unlock()
		})
	})
	if err := c.session.Client().Flush(ctx); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	_, err := c.session.End(ctx, kgo.TransactionEndTry(produced == nil))
	return err
}

// kill ends the copier in whatever it is doing.
func (c *copier) kill() {
	c.stop()
	<-c.done
}

// startCopiers starts three, until the test ends; replace puts another one in a slot.
func startCopiers(t *testing.T, b *brokerProcess, from, to string) (replace func(slot int)) {
	copiers := make([]*copier, copierSlots)
	for slot := range copiers {
		copiers[slot] = startCopier(b, slot, from, to)
	}
	t.Cleanup(func() {
		for _, c := range copiers {
			c.kill()
		}
	})
	return func(slot int) {
		copiers[slot].kill()
		copiers[slot] = startCopier(b, slot, from, to)
	}
}

const copierSlots = 3

// TestExactlyOnceThroughKills: three copiers, of which one is killed every now and then,
// in whatever it is doing, copy each record once for read_committed readers (fault T13).
func TestExactlyOnceThroughKills(t *testing.T) {
	t.Parallel()
	kills, records := 8, 3000
	if os.Getenv("TIDEMARK_FULL") != "" {
		kills, records = 80, 30_000
	}
	b := startBroker(t, "group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=500",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=1000")
	createTopic(t, b, "from", 4)
	createTopic(t, b, "to", 4)
	replace := startCopiers(t, b, "from", "to")
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
		replace(rng.IntN(copierSlots))
	}
	<-produced
	requireEachOnce(t, b, "to", records)
}

// TestExactlyOnceThroughRestarts kills the broker under the copiers: what was decided is
// carried out by the next one, what was not is decided by its producer or its timeout
// (fault T10).
func TestExactlyOnceThroughRestarts(t *testing.T) {
	t.Parallel()
	settings := []string{"group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=500",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=1000", "offsets.topic.num.partitions=4", "transaction.state.log.num.partitions=4"}
	dir := t.TempDir()
	b := startBrokerWith(t, nil, dir, settings...)
	createTopic(t, b, "from", 4)
	createTopic(t, b, "to", 4)
	startCopiers(t, b, "from", "to")
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	sent := 0
	for range often(3, 30) {
		produceStringsFrom(t, b, "from", sent, 500)
		sent += 500
		time.Sleep(time.Duration(rng.IntN(800)) * time.Millisecond) // wherever they are
		b.Kill(t)
		b = startBrokerAt(t, b.Bootstrap, nil, dir, settings...)
	}
	requireEachOnce(t, b, "to", sent)
}

// produceStringsFrom writes record first and so many in all.
func produceStringsFrom(t *testing.T, b *brokerProcess, topic string, first, n int) {
	t.Helper()
	client := newKgo(t, b)
	var list []*kgo.Record
	for i := range n {
		list = append(list, &kgo.Record{Topic: topic, Value: fmt.Append(nil, "record ", first+i)})
	}
	if err := client.ProduceSync(t.Context(), list...).FirstErr(); err != nil {
		t.Fatal(err)
	}
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
	end := time.Now().Add(2 * patience)
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
