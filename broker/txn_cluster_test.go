package broker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// copyTransactions copies topic from to topic to, records and offsets in the same
// transactions, until ctx ends. After an error it begins anew, as another process would,
// and outdates what it left.
func (c *testCluster) copyTransactions(ctx context.Context, seeds []string, id, from, to string) {
	for ctx.Err() == nil {
		session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(seeds...), kgo.TransactionalID(id), kgo.TransactionTimeout(10*time.Second),
			kgo.ConsumerGroup("copiers"), kgo.ConsumeTopics(from), kgo.DefaultProduceTopic(to), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(6*time.Second), kgo.HeartbeatInterval(300*time.Millisecond),
			kgo.MetadataMinAge(100*time.Millisecond))
		if err != nil {
			c.t.Error(err)
			return
		}
		for err == nil && ctx.Err() == nil {
			err = copyOnce(ctx, session)
		}
		if err != nil && ctx.Err() == nil {
			c.t.Logf("%s begins anew after: %v", id, err)
		}
		session.Close()
	}
}

// copyOnce is one transaction.
func copyOnce(ctx context.Context, session *kgo.GroupTransactSession) error {
	fetches := session.PollRecords(ctx, 20)
	if fetches.NumRecords() == 0 {
		return ctx.Err()
	}
	if err := session.Begin(); err != nil {
		return err
	}
	var mu sync.Mutex
	var produced error
	fetches.EachRecord(func(r *kgo.Record) {
		session.Produce(ctx, &kgo.Record{Value: r.Value}, func(_ *kgo.Record, err error) {
			mu.Lock()
			produced = errors.Join(produced, err)
			mu.Unlock()
		})
	})
	if err := session.Client().Flush(ctx); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	_, err := session.End(ctx, kgo.TransactionEndTry(produced == nil))
	return err
}

// TestTransactionsThroughFailovers kills one broker after the other under transactions:
// their coordinators, their groups' and the leaders of their partitions. Each record is
// copied once for read_committed readers (faults T10, T13, T14).
func TestTransactionsThroughFailovers(t *testing.T) {
	c := newTestCluster(t, append(endsSoon, "transaction.state.log.num.partitions", "3", "transaction.abort.timed.out.transaction.cleanup.interval.ms", "1000")...)
	c.launch(1, 2, 3)
	c.create("from", 3)
	c.create("to", 3)
	ctx, cancel := context.WithCancel(t.Context())
	var copiers sync.WaitGroup
	seeds := c.seeds()
	for i := range 2 {
		copiers.Go(func() { c.copyTransactions(ctx, seeds, fmt.Sprint("copier-", i), "from", "to") })
	}
	sent := 0
	for _, victim := range []int32{1, 2, 3} {
		c.produceNumbered("from", sent, 300)
		sent += 300
		c.kill(victim)
		c.produceNumbered("from", sent, 300)
		sent += 300
		c.launch(victim)
		for p := range int32(3) {
			c.awaitISR("to", p, 3)
		}
	}
	c.requireEachOnce("to", sent)
	cancel()
	copiers.Wait()
}

func (c *testCluster) produceNumbered(topic string, first, n int) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	var list []*kgo.Record
	for i := range n {
		list = append(list, &kgo.Record{Topic: topic, Value: fmt.Append(nil, "record ", first+i)})
	}
	client := c.client(kgo.RecordPartitioner(kgo.RoundRobinPartitioner()))
	defer client.Close()
	for len(list) > 0 { // by and by, so that copying goes on meanwhile
		some := min(50, len(list))
		if err := client.ProduceSync(ctx, list[:some]...).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
		list = list[some:]
	}
}

// requireEachOnce reads record 0 to n−1 as read_committed readers see them, and what
// comes in the second after.
func (c *testCluster) requireEachOnce(topic string, n int) {
	c.t.Helper()
	client := c.client(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	seen := map[string]int{}
	end := time.Now().Add(patience)
	for time.Now().Before(end) {
		ctx, cancel := context.WithDeadline(c.t.Context(), end)
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
		cancel()
		if soon := time.Now().Add(time.Second); len(seen) == n && soon.Before(end) {
			end = soon
		}
	}
	twice := 0
	for _, times := range seen {
		if times > 1 {
			twice++
		}
	}
	if len(seen) != n || twice > 0 {
		c.t.Errorf("%d of %d records were copied, %d of them more than once\n%s", len(seen), n, twice, c.undecided("from", topic))
	}
}

// undecided tells what holds transactions and their readers up.
func (c *testCluster) undecided(topics ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	admin := c.admin()
	var out strings.Builder
	described, err := admin.DescribeTransactions(ctx)
	fmt.Fprintln(&out, "transactions", described, err)
	set := kadm.TopicsSet{}
	for _, t := range append(topics, "__consumer_offsets") {
		for p := range int32(3) {
			set.Add(t, p)
		}
		stable, _ := admin.ListCommittedOffsets(ctx, t)
		ends, _ := admin.ListEndOffsets(ctx, t)
		fmt.Fprintln(&out, t, "stable", stable[t], "end", ends[t])
	}
	producers, err := admin.DescribeProducers(ctx, set)
	for _, p := range producers.SortedProducers() {
		fmt.Fprintf(&out, "%+v\n", p)
	}
	fmt.Fprintln(&out, err)
	lags, err := admin.Lag(ctx, "copiers")
	fmt.Fprintf(&out, "group %+v, %v\n", lags["copiers"], err)
	return out.String()
}
