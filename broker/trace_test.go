package broker

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/trace"
)

// TestTraceOfACluster: three brokers write what the schema says while a follower lags,
// a leader dies, its log is cut, a group is joined and a transaction is made; what one
// broker did because of another has its cause.
func TestTraceOfACluster(t *testing.T) {
	dir := t.TempDir()
	c := newTestCluster(t, "trace.dir", dir, "zookeeper.session.timeout.ms", "6000", "replica.lag.time.max.ms", "3000", "transaction.state.log.num.partitions", "1",
		"transaction.state.log.replication.factor", "3", "offsets.topic.replication.factor", "3")
	c.launch(1, 2, 3)
	c.create("orders", 1)
	c.write("orders", 0, 20)

	leader := c.leader("orders", 0)
	others := []int32{leader%3 + 1, (leader+1)%3 + 1}
	c.signal(syscall.SIGSTOP, others[0])
	c.awaitISR("orders", 0, 2)
	c.write("orders", 20, 25)
	c.signal(syscall.SIGCONT, others[0])
	c.awaitISR("orders", 0, 3)

	c.readAsGroup("orders", "readers", 25)
	c.transact("orders", "mover", 3)
	c.awaitTraced(dir, "txn Ongoing", "txn PrepareCommit", "txn CompleteCommit")

	// The leader is alone with records when it dies: its log is cut when it is back. The
	// others must be in sync still by then, or nobody may lead.
	c.signal(syscall.SIGSTOP, others...)
	c.writeToLeader(leader, "orders")
	c.kill(leader)
	c.signal(syscall.SIGCONT, others...)
	c.await("another leader", func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, "orders", 0)
		return fmt.Sprintf("%+v, %v", p, err), err == nil && p.Leader >= 0 && p.Leader != leader
	})
	c.write("orders", 30, 32)
	c.launch(leader)
	c.awaitISR("orders", 0, 3)
	c.write("orders", 32, 33)

	seen := c.awaitTraced(dir, "append", "fetch request", "fetch response", "hw", "isr proposed", "isr committed", "leader elected", "leader heard",
		"truncate", "purgatory parked", "purgatory completed", "znode set", "znode create", "group PreparingRebalance", "group CompletingRebalance",
		"group Stable", "member joined", "commit")
	_, unexplained := c.traced(dir)
	for kind, n := range unexplained {
		t.Errorf("%d %s of followers or after fetches have no cause, of %v", n, kind, seen)
	}
}

// awaitTraced waits for kinds of events in the traces, whose last ones are not written
// at once.
func (c *testCluster) awaitTraced(dir string, wanted ...string) (seen map[string]int) {
	c.t.Helper()
	c.await("events in the traces", func(context.Context) (string, bool) {
		var missing []string
		seen, _ = c.traced(dir)
		for _, want := range wanted {
			if seen[want] == 0 {
				missing = append(missing, want)
			}
		}
		return fmt.Sprintf("missing %v of %v", missing, seen), len(missing) == 0
	})
	return seen
}

// traced validates and merges the traces, and counts the events of each kind, and
// those that should have a cause and have none.
func (c *testCluster) traced(dir string) (seen, unexplained map[string]int) {
	c.t.Helper()
	seen, unexplained = map[string]int{}, map[string]int{}
	schema, err := jsonschema.NewCompiler().Compile("../schema/trace-v1.json")
	if err != nil {
		c.t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(dir, "trace-*.jsonl"))
	if err != nil || len(paths) == 0 {
		c.t.Fatalf("traces in %s: %v %v", dir, paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			c.t.Fatal(err)
		}
		for line := range bytes.Lines(data[:bytes.LastIndexByte(data, '\n')+1]) {
			v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
			if err == nil {
				err = schema.Validate(v)
			}
			if err != nil {
				c.t.Fatalf("%s: %s\n%v", path, line, err)
			}
		}
	}
	err = trace.MergeFiles([]string{dir}, func(e *trace.Event) error {
		seen[strings.TrimSpace(e.Kind.String()+" "+e.Phase+e.Op)]++
		switch {
		case !e.Asked.IsZero(), e.Kind == trace.Fetch && e.Phase == "response" && e.Cause.IsZero():
			unexplained[e.Kind.String()]++
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return seen, unexplained
}

// readAsGroup reads so many records as the member of a group, and commits.
func (c *testCluster) readAsGroup(topic, group string, records int) {
	c.t.Helper()
	client := c.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.Balancers(kgo.RangeBalancer()))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for got := 0; got < records; {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			c.t.Fatalf("%d of %d records read: %v %v", got, records, err, fetches.Err())
		}
		got += fetches.NumRecords()
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		c.t.Fatal(err)
	}
	client.Close()
}

// signal sends brokers a signal.
func (c *testCluster) signal(signal syscall.Signal, ids ...int32) {
	c.t.Helper()
	for _, id := range ids {
		if err := c.killable[id].cmd.Process.Signal(signal); err != nil {
			c.t.Fatal(err)
		}
	}
}

// writeToLeader writes records with acks=1 while the followers are stopped. The first
// ones may go into fetches that are on their way: those arrive once they go on.
func (c *testCluster) writeToLeader(leader int32, topic string) {
	c.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.address[leader]), kgo.DefaultProduceTopic(topic), kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	if err != nil {
		c.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 10 {
		if err := client.ProduceSync(ctx, kgo.StringRecord("lost")).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
	}
}

// transact writes records in a transaction.
func (c *testCluster) transact(topic, id string, records int) {
	c.t.Helper()
	client := c.client(kgo.TransactionalID(id), kgo.TransactionTimeout(30*time.Second))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		c.t.Fatal(err)
	}
	for i := range records {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: fmt.Append(nil, i)}).FirstErr(); err != nil {
			c.t.Fatal(err)
		}
	}
	if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		c.t.Fatal(err)
	}
}
