//go:build ecosystem

package ecosystem

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
)

// program is the tidemark command under test, built once by TestMain.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tidemark-ecosystem-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	program = filepath.Join(dir, "tidemark")
	if out, err := exec.Command("go", "build", "-o", program, "tidemark/cmd/tidemark").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// patience bounds every wait; no wait needs a tenth of it on an idle machine.
const patience = 3 * time.Minute

// startCluster runs brokers until the test ends.
func startCluster(t *testing.T, brokers int, settings ...string) *cluster.Cluster {
	t.Helper()
	replicas := fmt.Sprint(brokers)
	quick := []string{"zookeeper.session.timeout.ms=6000", "offsets.topic.num.partitions=3", "transaction.state.log.num.partitions=3",
		"offsets.topic.replication.factor=" + replicas, "transaction.state.log.replication.factor=" + replicas,
		"default.replication.factor=" + replicas, "group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=500",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=1000"}
	dir := t.TempDir()
	c, err := cluster.Start(t.Context(), cluster.Options{Program: program, Dir: dir, Brokers: brokers, Set: slices.Concat(quick, settings)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			sayWhatBrokersSaid(t, dir)
		}
		if err := c.Down(false); err != nil {
			t.Error(err)
		}
	})
	return c
}

// sayWhatBrokersSaid prints the ends of the brokers' logs.
func sayWhatBrokersSaid(t *testing.T, dir string) {
	const last = 12 << 10
	logs, _ := filepath.Glob(filepath.Join(dir, "broker-*", "process.log")) // a constant pattern
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Log(err)
			continue
		}
		t.Logf("%s said:\n%s", filepath.Base(filepath.Dir(path)), text[max(0, len(text)-last):])
	}
}

// state is the cluster's.
func state(t *testing.T, c *cluster.Cluster) *cluster.State {
	t.Helper()
	s, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newClient(t *testing.T, bootstrap string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(strings.Split(bootstrap, ",")...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// newReader reads topics from their start, as read_committed readers see them.
func newReader(t *testing.T, bootstrap string, topics ...string) *kgo.Client {
	t.Helper()
	return newClient(t, bootstrap, kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
}

func createTopics(t *testing.T, bootstrap string, partitions int32, topics ...string) {
	t.Helper()
	answers, err := kadm.NewClient(newClient(t, bootstrap)).CreateTopics(t.Context(), partitions, -1, nil, topics...)
	if err := errors.Join(err, answers.Error()); err != nil {
		t.Fatal(err)
	}
}
