package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/coordinator/txn"
)

// transactional is a client of a transactional id.
func transactional(t *testing.T, b *brokerProcess, id string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return newKgo(t, b, append([]kgo.Opt{kgo.TransactionalID(id), kgo.TransactionTimeout(30 * time.Second)}, opts...)...)
}

// transact writes values to a topic in one transaction.
func transact(t *testing.T, client *kgo.Client, topic string, end kgo.TransactionEndTry, values ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte(v)}).FirstErr(); err != nil {
			t.Fatalf("produce %q: %v", v, err)
		}
	}
	if err := client.EndTransaction(ctx, end); err != nil {
		t.Fatalf("end the transaction of %q: %v", values, err)
	}
}

// committed reads a topic as read_committed readers see it until last was seen.
func committed(t *testing.T, b *brokerProcess, topic, last string) []string {
	t.Helper()
	client := newKgo(t, b, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var values []string
	for !slices.Contains(values, last) {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("after %q: %v", values, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}

func TestTransactionsOfKgo(t *testing.T) {
	b := startBroker(t)
	createTopic(t, b, "txn", 1)
	client := transactional(t, b, "one")
	transact(t, client, "txn", kgo.TryCommit, "a", "b")
	transact(t, client, "txn", kgo.TryAbort, "c", "d")
	transact(t, client, "txn", kgo.TryCommit, "e")
	if got := strings.Join(committed(t, b, "txn", "e"), ""); got != "abe" {
		t.Errorf("read_committed readers see %q, want abe", got)
	}
}

// TestTransactionalProducerIsFenced: the second client of an id ends the open
// transaction of the first, which can write and commit no more (fault T07).
func TestTransactionalProducerIsFenced(t *testing.T) {
	b := startBroker(t)
	createTopic(t, b, "txn", 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	zombie := transactional(t, b, "one")
	if err := zombie.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := zombie.ProduceSync(ctx, &kgo.Record{Topic: "txn", Value: []byte("zombie")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	transact(t, transactional(t, b, "one"), "txn", kgo.TryCommit, "heir")
	if err := zombie.ProduceSync(ctx, &kgo.Record{Topic: "txn", Value: []byte("late")}).FirstErr(); err == nil {
		t.Error("a fenced producer wrote a record")
	}
	if err := zombie.EndTransaction(ctx, kgo.TryCommit); err == nil {
		t.Error("a fenced producer committed")
	}
	if got := committed(t, b, "txn", "heir"); fmt.Sprint(got) != "[heir]" {
		t.Errorf("read_committed readers see %q, want the heir's record alone", got)
	}
}

// TestTransactionsOfJava: each Kafka release writes, copies with offsets and fences.
// The older one keeps its epoch, the newer has one for each transaction.
func TestTransactionsOfJava(t *testing.T) {
	t.Parallel()
	b := startBroker(t, quickGroups...)
	for _, k := range kafkaReleases {
		t.Run(k.Version, func(t *testing.T) {
			out := k.java(t, "", "tidemark.TxnCheck", b.Bootstrap, "txn-"+k.Version)
			if strings.Count(out, "ok ") != 3 {
				t.Errorf("want 3 lines of ok, got:\n%s", out)
			}
		})
	}
}

// TestKafkaReadsTransactions hands the files of __transaction_state, and those of a
// topic with markers, to Kafka's own tool.
func TestKafkaReadsTransactions(t *testing.T) {
	b := startBroker(t, "transaction.state.log.num.partitions=4")
	createTopic(t, b, "txn", 1)
	client := transactional(t, b, "one")
	transact(t, client, "txn", kgo.TryCommit, "a")
	transact(t, client, "txn", kgo.TryAbort, "b")
	transact(t, client, "txn", kgo.TryCommit, "c")
	committed(t, b, "txn", "c")
	b.Stop(t)
	k := kafkaReleases[0]
	state := k.java(t, "", "kafka.tools.DumpLogSegments", "--transaction-log-decoder", "--files", strings.Join(logFiles(t, b, "__transaction_state-"), ","))
	wantIn(t, state, `"transactionalId":"one"`, `"topic":"txn","partitionIds":[0]`, `"clientTransactionVersion":2`, `"previousProducerId":0`)
	for _, s := range []txn.State{txn.Empty, txn.Ongoing, txn.PrepareCommit, txn.CompleteCommit, txn.PrepareAbort, txn.CompleteAbort} {
		wantIn(t, state, fmt.Sprintf(`"transactionStatus":%d`, s))
	}
	markers := k.java(t, "", "kafka.tools.DumpLogSegments", "--deep-iteration", "--files", strings.Join(logFiles(t, b, "txn-0"), ","))
	wantIn(t, markers, "endTxnMarker: COMMIT", "endTxnMarker: ABORT", "isTransactional: true")
}

// logFiles are the log files of partitions whose folder begins with prefix.
func logFiles(t *testing.T, b *brokerProcess, prefix string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(b.Dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".log" && strings.HasPrefix(filepath.Base(filepath.Dir(path)), prefix) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestKafkaTransactionsTool asks Kafka's own tool about transactions (KIP-664), and has
// it abort one.
func TestKafkaTransactionsTool(t *testing.T) {
	t.Parallel()
	b := startBroker(t, "transaction.state.log.num.partitions=4")
	createTopic(t, b, "txn", 1)
	client := transactional(t, b, "open one", kgo.TransactionTimeout(10*time.Minute)) // several starts of Java
	transact(t, client, "txn", kgo.TryCommit, "a")
	if err := client.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: "txn", Value: []byte("open")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	tool := func(args ...string) string {
		return kafkaReleases[0].java(t, "", "org.apache.kafka.tools.TransactionsCommand", append([]string{"--bootstrap-server", b.Bootstrap}, args...)...)
	}
	wantIn(t, tool("list"), "open one", "Ongoing")
	wantIn(t, tool("describe", "--transactional-id", "open one"), "Ongoing", "txn-0", "600000")
	wantIn(t, tool("describe-producers", "--topic", "txn", "--partition", "0"), "CurrentTransactionStartOffset")
	if hanging := tool("find-hanging", "--broker-id", "1", "--max-transaction-timeout", "0"); strings.Contains(hanging, "txn") {
		t.Errorf("an open transaction that its coordinator knows counts as hanging:\n%s", hanging)
	}
	tool("abort", "--topic", "txn", "--partition", "0", "--start-offset", "2")
	if out := tool("describe-producers", "--topic", "txn", "--partition", "0"); !strings.Contains(out, "None") {
		t.Errorf("after the abort:\n%s", out)
	}
}
