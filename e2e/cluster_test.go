package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
	"tidemark/bench/process"
)

// startCluster runs three brokers behind a mesh until the test ends.
func startCluster(t *testing.T, opts ...kgo.Opt) (*cluster.Cluster, *kgo.Client) {
	t.Helper()
	dir := t.TempDir()
	c, err := cluster.Start(t.Context(), cluster.Options{Program: binary, Dir: dir, Brokers: 3, Proxy: true,
		Set: []string{"zookeeper.session.timeout.ms=4000", "replica.lag.time.max.ms=3000", "offsets.topic.num.partitions=3"}})
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
	s, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kgo.NewClient(append(opts, kgo.SeedBrokers(strings.Split(s.Bootstrap(), ",")...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProduceRequestTimeout(2*time.Second), kgo.RequestTimeoutOverhead(time.Second), kgo.MetadataMinAge(50*time.Millisecond),
		kgo.UnknownTopicRetries(100))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return c, client
}

// clusterTopic has one partition, led by some broker.
const clusterTopic = "shore"

// partitionOf is the topic's only partition, if its leader answers.
func partitionOf(t *testing.T, c *cluster.Cluster) (p cluster.PartitionStatus, ok bool) {
	t.Helper()
	s, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(s.Partitions, func(p cluster.PartitionStatus) bool { return p.Topic == clusterTopic })
	if i < 0 {
		return p, false
	}
	p = s.Partitions[i]
	return p, slices.ContainsFunc(p.Replicas, func(r cluster.ReplicaStatus) bool { return r.Broker == p.Leader && r.Role == "leader" })
}

// led is the topic's only partition once its leader answers.
func led(t *testing.T, c *cluster.Cluster) (p cluster.PartitionStatus) {
	t.Helper()
	eventually(t, "the leader answers", func() (ok bool) {
		p, ok = partitionOf(t, c)
		return ok
	})
	return p
}

// produceAll produces values with acks=all; each must be acknowledged.
func produceAll(t *testing.T, client *kgo.Client, from, to int) {
	t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records, &kgo.Record{Topic: clusterTopic, Value: fmt.Append(nil, i)})
	}
	if err := client.ProduceSync(patiently(t), records...).FirstErr(); err != nil {
		t.Fatalf("records %d to %d: %v", from, to, err)
	}
}

// TestClusterSurvives kills, isolates and pauses leaders of a real cluster: whatever
// was acknowledged is read at the end, once and in order.
func TestClusterSurvives(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes and waits for sessions to end")
	}
	c, client := startCluster(t)
	createClusterTopic(t, client)
	eventually(t, "all replicas are in sync", isWhole(t, c))
	produceAll(t, client, 0, 100)

	before := led(t, c)
	must(t, c.Kill(before.Leader))
	eventually(t, "another broker leads after the kill", hasLeft(t, c, before))
	produceAll(t, client, 100, 200)
	must(t, c.Restart(t.Context(), before.Leader))
	eventually(t, "the killed broker is in sync", isWhole(t, c))

	before = led(t, c)
	isolate(t, c, before.Leader)
	eventually(t, "another broker leads after the cut", hasLeft(t, c, before))
	produceAll(t, client, 200, 300)
	must(t, c.Heal(t.Context()))
	eventually(t, "the isolated broker is in sync", isWhole(t, c))

	before = led(t, c)
	must(t, c.Pause(before.Leader))
	eventually(t, "another broker leads after the pause", hasLeft(t, c, before))
	produceAll(t, client, 300, 400)
	must(t, c.Resume(before.Leader))
	eventually(t, "the paused broker is in sync", isWhole(t, c))

	readsAll(t, c, 400)
}

func createClusterTopic(t *testing.T, client *kgo.Client) {
	t.Helper()
	answer, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, -1, nil, clusterTopic)
	if err != nil || answer.Err != nil {
		t.Fatal(err, answer.Err)
	}
}

// isWhole: every broker answers and is in sync with all records.
func isWhole(t *testing.T, c *cluster.Cluster) func() bool {
	return func() bool {
		p, ok := partitionOf(t, c)
		silent := func(r cluster.ReplicaStatus) bool { return r.Role == "" }
		return ok && len(p.ISR) == 3 && p.Waiting == "" && !slices.ContainsFunc(p.Replicas, silent)
	}
}

// hasLeft: another broker leads than did, in a later epoch.
func hasLeft(t *testing.T, c *cluster.Cluster, before cluster.PartitionStatus) func() bool {
	return func() bool {
		p, ok := partitionOf(t, c)
		return ok && p.LeaderEpoch > before.LeaderEpoch && p.Leader != before.Leader
	}
}

// isolate cuts a broker from everybody.
func isolate(t *testing.T, c *cluster.Cluster, id int32) {
	t.Helper()
	ends := []proxy.Name{proxy.Store, proxy.Client}
	for other := int32(1); other <= 3; other++ {
		if other != id {
			ends = append(ends, proxy.Broker(other))
		}
	}
	for _, end := range ends {
		must(t, c.Cut(t.Context(), proxy.Broker(id), end, false, 0))
	}
}

// readsAll reads the topic from its start: the numbers below n, each once, in order.
func readsAll(t *testing.T, c *cluster.Cluster, n int) {
	t.Helper()
	s, err := c.State()
	must(t, err)
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(s.Bootstrap(), ",")...), kgo.ConsumeTopics(clusterTopic))
	must(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for want := 0; want < n; {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			t.Fatalf("%d of %d records were read: %v", want, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if got := string(r.Value); got != fmt.Sprint(want) {
				t.Fatalf("at offset %d there is record %s, want %d", r.Offset, got, want)
			}
			want++
		})
	}
}

// TestClusterLeaderAlone: a leader whose answers reach no follower keeps its session
// and goes on to lead, and acknowledges nothing to acks=all.
func TestClusterLeaderAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes and waits for a lag to be noticed")
	}
	c, client := startCluster(t, kgo.DisableIdempotentWrite()) // else the client tries for ever
	createClusterTopic(t, client)
	produceAll(t, client, 0, 10)
	p := led(t, c)
	for other := int32(1); other <= 3; other++ {
		if other == p.Leader {
			continue
		}
		must(t, c.Rule(t.Context(), proxy.Rule{Mode: proxy.Hang}, 0, proxy.Flow{From: proxy.Broker(p.Leader), To: proxy.Broker(other)}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	alone := &kgo.Record{Topic: clusterTopic, Value: []byte("alone")}
	if err := client.ProduceSync(ctx, alone).FirstErr(); err == nil {
		t.Error("a leader whom no follower hears acknowledged acks=all with min.insync.replicas=2")
	}
	must(t, c.Heal(t.Context()))
	eventually(t, "all replicas are in sync", isWhole(t, c))
}

// TestClusterCommand is a life of a cluster at the command line.
func TestClusterCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tidemark := func(args ...string) string {
		t.Helper()
		return run(t, "", binary, append([]string{"cluster", "--dir", dir}, args...)...)
	}
	var up struct {
		Bootstrap string            `json:"bootstrap"`
		Brokers   []cluster.Process `json:"brokers"`
	}
	if err := json.Unmarshal([]byte(tidemark("up", "--brokers", "2", "--port", "0", "--json")), &up); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, b := range up.Brokers {
			if b.State() != process.Gone {
				t.Errorf("broker %d still runs", b.Broker)
			}
		}
	})
	down := false
	t.Cleanup(func() {
		if !down {
			tidemark("down")
		}
	})
	run(t, "", binary, "topics", "create", clusterTopic, "--bootstrap", up.Bootstrap)
	eventually(t, "both replicas are in sync", func() bool {
		return strings.Contains(tidemark("status"), "shore-0") && strings.Contains(tidemark("status"), "1 2")
	})
	tidemark("kill", "2")
	if text := tidemark("status"); !strings.Contains(text, "down") {
		t.Errorf("after the kill:\n%s", text)
	}
	tidemark("restart", "2")
	tidemark("down", "--keep")
	tidemark("up", "--brokers", "2", "--port", "0")
	eventually(t, "the topic is there again", func() bool { return strings.Contains(tidemark("status", "--json"), clusterTopic) })
	tidemark("down")
	down = true
}
