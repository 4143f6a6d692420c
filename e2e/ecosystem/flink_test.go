//go:build ecosystem

package ecosystem

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// flinkRun is a Flink job whose commits pass a gate.
type flinkRun struct {
	gate *commitGate
	// naming is how the sink names its transactions; folder has the checkpoints.
	naming, folder string
	admin          *kadm.Client
	job            *app
}

// TestFlinkExactlyOnce copies a topic with a Flink job that checkpoints twice a second
// and writes through an exactly-once sink. Three times it is killed after a checkpoint
// has completed and before the broker has the commit that follows, once of them while
// the commit is made up for after the kill before; a fourth time after the broker has
// the commit and before the sink knows. Each record is there once.
func TestFlinkExactlyOnce(t *testing.T) {
	for _, naming := range []string{"INCREMENTING", "POOLING"} {
		t.Run(naming, func(t *testing.T) {
			gate := newCommitGate(t)
			c := startCluster(t, 1, "advertised.listeners=PLAINTEXT://"+gate.Address)
			gate.target = state(t, c).Brokers[0].Listener
			createTopics(t, gate.Address, 4, "from", "to")
			f := &flinkRun{gate: gate, naming: naming, folder: t.TempDir(), admin: kadm.NewClient(newClient(t, gate.Address))}
			stop := produceUntil(t, gate.Address, "from")

			f.start(t)
			first := f.killAtCommit(t, nth(3))
			f.start(t)
			f.killAtCommit(t, sameAs(first))
			f.start(t)
			f.killAtAnswer(t, nth(4))
			f.start(t)
			last := f.killAtCommit(t, nth(4))
			f.start(t)
			requireEachOnce(t, gate.Address, "to", f.job, stop())
			if n, m := gate.Count(sameAs(first)), gate.Count(sameAs(last)); n < 3 || m < 2 {
				t.Errorf("the commits that were held back twice and once were asked for %d and %d times: their checkpoints had not completed", n, m)
			}
		})
	}
}

// start runs the job from its last completed checkpoint, or anew if there is none.
func (f *flinkRun) start(t *testing.T) {
	t.Helper()
	args := []string{f.gate.Address, "from", "to", f.naming, f.folder}
	if last := f.lastCheckpoint(t); last != "" {
		args = append(args, last)
	}
	f.gate.Show(always, always)
	f.job = startApp(t, "tidemark.CopyJob", args...)
}

// lastCheckpoint is the folder of the newest checkpoint that has completed: only then it
// has metadata.
func (f *flinkRun) lastCheckpoint(t *testing.T) (newest string) {
	t.Helper()
	all, _ := filepath.Glob(filepath.Join(f.folder, "*", "chk-*", "_metadata")) // a constant pattern
	var at time.Time
	for _, path := range all {
		info, err := os.Stat(path)
		if err != nil {
			continue // a newer one has taken its place
		}
		if info.ModTime().After(at) {
			newest, at = filepath.Dir(path), info.ModTime()
		}
	}
	return newest
}

// nth picks one commit by its number.
func nth(n int) func(*kmsg.EndTxnRequest) bool {
	return func(*kmsg.EndTxnRequest) bool {
		n--
		return n == 0
	}
}

// sameAs picks the commit of a transaction that was to be committed before.
func sameAs(held *kmsg.EndTxnRequest) func(*kmsg.EndTxnRequest) bool {
	return func(commit *kmsg.EndTxnRequest) bool {
		return commit.TransactionalID == held.TransactionalID && commit.ProducerID == held.ProducerID && commit.ProducerEpoch == held.ProducerEpoch
	}
}

// killAtCommit kills the job when it is about to make the commit that is picked. No
// commit passes from then on, so that the transaction is still open.
func (f *flinkRun) killAtCommit(t *testing.T, picked func(*kmsg.EndTxnRequest) bool) *kmsg.EndTxnRequest {
	t.Helper()
	held := f.killWhen(t, picked, func(gate func(*kmsg.EndTxnRequest) bool) { f.gate.Show(gate, always) })
	if got := f.transactionState(t, held); got != "Ongoing" {
		t.Errorf("after the kill before its commit, the transaction of %q is %s", held.TransactionalID, got)
	}
	return held
}

// killAtAnswer kills the job when it is about to learn of the commit that is picked.
func (f *flinkRun) killAtAnswer(t *testing.T, picked func(*kmsg.EndTxnRequest) bool) {
	t.Helper()
	held := f.killWhen(t, picked, func(gate func(*kmsg.EndTxnRequest) bool) { f.gate.Show(always, gate) })
	if got := f.transactionState(t, held); got != "PrepareCommit" && got != "CompleteCommit" {
		t.Errorf("after the kill behind its commit, the transaction of %q is %s", held.TransactionalID, got)
	}
}

func always(*kmsg.EndTxnRequest) bool { return true }

// killWhen has the gate let commits pass until one is picked, at which it kills the job.
// A checkpoint must have completed by then.
func (f *flinkRun) killWhen(t *testing.T, picked func(*kmsg.EndTxnRequest) bool, show func(gate func(*kmsg.EndTxnRequest) bool)) *kmsg.EndTxnRequest {
	t.Helper()
	job := f.job
	var over bool
	at := make(chan *kmsg.EndTxnRequest, 1)
	show(func(commit *kmsg.EndTxnRequest) bool {
		if !over && picked(commit) {
			over = true
			at <- commit
			job.Kill()
		}
		return !over
	})
	select {
	case <-job.gone:
	case <-time.After(patience):
		t.Fatalf("after %v the commit has not come", patience)
	}
	select {
	case commit := <-at:
		last := f.lastCheckpoint(t)
		if last == "" {
			t.Fatal("the sink commits, and no checkpoint has completed")
		}
		t.Logf("killed at the commit of %q; the last completed checkpoint is %s", commit.TransactionalID, filepath.Base(last))
		return commit
	default:
		t.Fatal("the job ended by itself")
	}
	return nil
}

// transactionState is what the broker says of the transaction a request is for.
func (f *flinkRun) transactionState(t *testing.T, r *kmsg.EndTxnRequest) string {
	t.Helper()
	all, err := f.admin.DescribeTransactions(t.Context(), r.TransactionalID)
	if err != nil {
		t.Fatal(err)
	}
	return all[r.TransactionalID].State
}

// produceUntil writes record 0 and on in a steady flow until stop, which returns how
// many there are.
func produceUntil(t *testing.T, bootstrap, topic string) (stop func() int) {
	client := newClient(t, bootstrap)
	ctx, cancel := context.WithCancel(t.Context())
	var flow sync.WaitGroup
	n := 0
	flow.Go(func() {
		for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			var records []*kgo.Record
			for range 20 {
				records = append(records, &kgo.Record{Topic: topic, Value: fmt.Append(nil, "record ", n)})
				n++
			}
			if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
				t.Errorf("produce: %v", err)
				return
			}
		}
	})
	stop = func() int {
		cancel()
		flow.Wait()
		return n
	}
	t.Cleanup(func() { stop() })
	return stop
}

// requireEachOnce reads a topic as read_committed readers see it until every record was
// there, and what comes in the two seconds after.
func requireEachOnce(t *testing.T, bootstrap, topic string, job *app, n int) {
	t.Helper()
	reader := newReader(t, bootstrap, topic)
	seen := map[string]int{}
	all := false
	for end := time.Now().Add(patience); time.Now().Before(end); {
		job.requireRuns(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		reader.PollFetches(ctx).EachRecord(func(r *kgo.Record) { seen[string(r.Value)]++ })
		cancel()
		if len(seen) == n && !all {
			all, end = true, time.Now().Add(2*time.Second)
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
	t.Logf("%d records", len(seen))
}
