package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
)

// rig is a cluster of broker processes without a mesh, and what its clients do.
type rig struct {
	*cluster.Cluster
	// Store is what brokers have as zookeeper.connect.
	Store string
	seeds []string
}

// quickCluster are the settings of every rig: faults are noticed soon, and groups
// form at once.
var quickCluster = []string{"zookeeper.session.timeout.ms=4000", "replica.lag.time.max.ms=3000", "replica.fetch.wait.max.ms=200", "replica.fetch.backoff.ms=200",
	"controlled.shutdown.retry.backoff.ms=500", "offsets.topic.num.partitions=3", "transaction.state.log.num.partitions=3", "group.initial.rebalance.delay.ms=0",
	"group.min.session.timeout.ms=500"}

// startRig runs brokers until the test ends; zookeeper is as in cluster.Options.
func startRig(t *testing.T, zookeeper string, settings ...string) *rig {
	t.Helper()
	return startRigWith(t, cluster.Options{Zookeeper: zookeeper}, settings...)
}

// startRigWith is startRig with other options of the cluster; its program, directory, size
// and settings are the rig's.
func startRigWith(t *testing.T, o cluster.Options, settings ...string) *rig {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes and waits for sessions to end")
	}
	o.Program, o.Dir, o.Brokers = binary, t.TempDir(), 3
	o.Set = append(slices.Clone(quickCluster), settings...)
	c, err := cluster.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			sayWhatBrokersSaid(t, o.Dir)
		}
		if err := c.Down(false); err != nil {
			t.Error(err)
		}
	})
	s, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	return &rig{Cluster: c, Store: s.Connect + s.Chroot, seeds: strings.Split(s.Bootstrap(), ",")}
}

// sayWhatBrokersSaid prints the ends of the logs of brokers and of their store, unless
// that is a server of somebody else.
func sayWhatBrokersSaid(t *testing.T, dir string) {
	const last = 12 << 10
	logs, _ := filepath.Glob(filepath.Join(dir, "broker-*", "process.log")) // a constant pattern
	store, _ := filepath.Glob(filepath.Join(dir, "zookeeper", "process.log"))
	for _, path := range append(logs, store...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Log(err)
			continue
		}
		t.Logf("%s said:\n%s", filepath.Base(filepath.Dir(path)), text[max(0, len(text)-last):])
	}
}

// client is a kgo client of the whole cluster that asks again soon.
func (r *rig) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.seeds...), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }), kgo.UnknownTopicRetries(100)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func (r *rig) admin(t *testing.T) *kadm.Client { return kadm.NewClient(r.client(t)) }

func patiently(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// await polls until holds says so; last is what it saw.
func (r *rig) await(t *testing.T, what string, holds func(ctx context.Context) (last string, ok bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		last, ok := holds(ctx)
		if ok {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%v have passed, and not yet: %s; last seen: %s", patience, what, last)
		}
	}
}

// create makes a topic; settings are name=value.
func (r *rig) create(t *testing.T, topic string, partitions int32, replicas int16, settings ...string) {
	t.Helper()
	configs := map[string]*string{}
	for _, s := range settings {
		name, value, _ := strings.Cut(s, "=")
		configs[name] = &value
	}
	answer, err := r.admin(t).CreateTopic(patiently(t), partitions, replicas, configs, topic)
	if err := errors.Join(err, answer.Err); err != nil {
		t.Fatalf("create %s: %v", topic, err)
	}
}

// partitions are a topic's as some broker tells.
func (r *rig) partitions(ctx context.Context, admin *kadm.Client, topic string) (kadm.PartitionDetails, error) {
	details, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return nil, err
	}
	d, ok := details[topic]
	if !ok {
		return nil, fmt.Errorf("%s is not told of", topic)
	}
	err = d.Err
	for _, p := range d.Partitions {
		if !errors.Is(p.Err, kerr.LeaderNotAvailable) { // which Leader says
			err = errors.Join(err, p.Err)
		}
	}
	return d.Partitions, err
}

// partition is what the cluster tells of one partition, once that is without error.
func (r *rig) partition(t *testing.T, topic string, index int32) (p kadm.PartitionDetail) {
	t.Helper()
	r.awaitPartitions(t, topic, "a leader each", func(all kadm.PartitionDetails) bool {
		var ok bool
		p, ok = all[index]
		return ok && p.Leader >= 0
	})
	return p
}

// awaitPartitions waits until so holds of a topic's partitions.
func (r *rig) awaitPartitions(t *testing.T, topic, what string, so func(kadm.PartitionDetails) bool) {
	t.Helper()
	admin := r.admin(t)
	r.await(t, topic+": "+what, func(ctx context.Context) (string, bool) {
		all, err := r.partitions(ctx, admin, topic)
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%+v", all.Sorted()), so(all)
	})
}

// awaitInSync waits until every partition of a topic has a leader and so many replicas
// in sync.
func (r *rig) awaitInSync(t *testing.T, topic string, replicas int) {
	t.Helper()
	r.awaitPartitions(t, topic, fmt.Sprint(replicas, " in sync"), func(all kadm.PartitionDetails) bool {
		for _, p := range all {
			if len(p.ISR) != replicas || p.Leader < 0 {
				return false
			}
		}
		return len(all) > 0
	})
}

// awaitBrokers waits until every broker that runs tells of so many.
func (r *rig) awaitBrokers(t *testing.T, running int) {
	t.Helper()
	client := r.client(t)
	admin := kadm.NewClient(client)
	r.await(t, fmt.Sprint(running, " brokers"), func(ctx context.Context) (string, bool) {
		m, err := admin.BrokerMetadata(ctx)
		return fmt.Sprintf("%v, controller %d, %v", m.Brokers.NodeIDs(), m.Controller, err), err == nil && m.Controller >= 0 && len(m.Brokers) == running
	})
}

// write produces the numbers from to to-1 into a partition; all must be acknowledged.
func (r *rig) write(t *testing.T, topic string, partition int32, from, to int, opts ...kgo.Opt) {
	t.Helper()
	client := r.client(t, append([]kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner())}, opts...)...)
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records, &kgo.Record{Topic: topic, Partition: partition, Value: fmt.Append(nil, i)})
	}
	if err := client.ProduceSync(patiently(t), records...).FirstErr(); err != nil {
		t.Fatalf("produce %d to %d to %s-%d: %v", from, to, topic, partition, err)
	}
}

// read expects the numbers from 0 to n-1 in a partition, in order, from its start.
func (r *rig) read(t *testing.T, topic string, partition int32, n int, opts ...kgo.Opt) {
	t.Helper()
	ctx := patiently(t)
	client := r.client(t, append([]kgo.Opt{kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: kgo.NewOffset().AtStart()}})}, opts...)...)
	for want := 0; want < n; {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("read %d of %d records of %s-%d: %v", want, n, topic, partition, fetches.Err())
		}
		fetches.EachRecord(func(record *kgo.Record) {
			if got := string(record.Value); want < n && got != strconv.Itoa(want) {
				t.Fatalf("at offset %d of %s-%d there is %q, want %d", record.Offset, topic, partition, got, want)
			}
			want++
		})
	}
}

// others are the brokers besides one.
func others(than int32) (list []int32) {
	for id := int32(1); id <= 3; id++ {
		if id != than {
			list = append(list, id)
		}
	}
	return list
}

// restart starts brokers again, all at once if they were killed.
func (r *rig) restart(t *testing.T, ids ...int32) {
	t.Helper()
	for _, id := range ids {
		if err := r.Restart(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

func (r *rig) kill(t *testing.T, ids ...int32) {
	t.Helper()
	for _, id := range ids {
		if err := r.Kill(id); err != nil {
			t.Fatal(err)
		}
	}
}

// quietPort is a free port that no other process finds or is given: who is killed, or
// starts late, finds it free.
func quietPort(t *testing.T) int {
	t.Helper()
	ports, err := cluster.FreePorts(1)
	must(t, err)
	return ports[0]
}
