package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/bench/cluster"
)

// clusterScenes are what a cluster does, whatever store keeps its metadata. They are
// played in this order on one cluster; each leaves three brokers in good health.
var clusterScenes = []struct {
	name string
	play func(*testing.T, *rig)
}{
	{"AcksOfEveryStrategy", acksOfEveryStrategy},
	{"AnyBrokerCreates", anyBrokerCreates},
	{"PartitionsGrow", partitionsGrow},
	{"ConfigsReachEveryBroker", configsReachEveryBroker},
	{"SameIdIsRefused", sameIDIsRefused},
	{"PartitionMovesUnderLoad", partitionMovesUnderLoad},
	{"LeaderKilled", leaderKilled},
	{"TooFewInSync", tooFewInSync},
	{"CoordinatorKilled", coordinatorKilled},
	{"DeletedWhileAway", deletedWhileAway},
	{"RollingRestart", rollingRestart},
	{"TransactionsAcrossBrokers", transactionsAcrossBrokers},
	{"NodesAreKafkas", nodesAreKafkas},
}

// TestClusterOnEveryStore plays the same scenes with metadata in the embedded store
// and, below a path, in a real ZooKeeper one of whose servers is never there.
func TestClusterOnEveryStore(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *rig{
		"embedded":  func(t *testing.T) *rig { return startRig(t, cluster.Embedded) },
		"zookeeper": func(t *testing.T) *rig { return startRig(t, ensembleWithDeadServer(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			for _, scene := range clusterScenes {
				if !t.Run(scene.name, func(t *testing.T) { scene.play(t, r) }) {
					break // it has left the cluster in no good health
				}
			}
		})
	}
}

var strategies = []string{"async", "sync", "isr", "quorum"}

// acksOfEveryStrategy: topics of three replicas take records with each kind of
// acknowledgement and give them back.
func acksOfEveryStrategy(t *testing.T, r *rig) {
	acks := map[string][]kgo.Opt{
		"0": {kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite()}, "1": {kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()}, "all": nil}
	for _, strategy := range strategies {
		for kind, opts := range acks {
			topic := "acks-" + strategy + "-" + kind
			r.create(t, topic, 1, 3, "replication.strategy="+strategy)
			r.write(t, topic, 0, 0, 1) // from now on somebody leads, and hears acks=0
			r.write(t, topic, 0, 1, 30, opts...)
			r.read(t, topic, 0, 30)
		}
	}
}

// anyBrokerCreates: a topic that a client asks any broker about comes to be, with the
// configured number of replicas.
func anyBrokerCreates(t *testing.T, r *rig) {
	client := r.client(t)
	for id := int32(1); id <= 3; id++ {
		topic := fmt.Sprint("asked-", id)
		r.await(t, topic, func(ctx context.Context) (string, bool) {
			req := kmsg.NewPtrMetadataRequest()
			req.AllowAutoTopicCreation = true
			req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
			m, err := req.RequestWith(ctx, client.Broker(int(id)))
			if err != nil {
				return err.Error(), false
			}
			return fmt.Sprintf("%+v", m.Topics), len(m.Topics) == 1 && m.Topics[0].ErrorCode == 0 && len(m.Topics[0].Partitions) > 0
		})
		r.awaitInSync(t, topic, 3)
	}
}

// partitionsGrow: partitions that are added are led, replicated and written.
func partitionsGrow(t *testing.T, r *rig) {
	r.create(t, "grows", 1, 3)
	r.write(t, "grows", 0, 0, 20)
	answer, err := r.admin(t).UpdatePartitions(patiently(t), 4, "grows")
	if err := errors.Join(err, answer.Error()); err != nil {
		t.Fatal(err)
	}
	r.awaitPartitions(t, "grows", "four partitions, all in sync", func(all kadm.PartitionDetails) bool {
		return len(all) == 4 && !slices.ContainsFunc(all.Sorted(), func(p kadm.PartitionDetail) bool { return len(p.ISR) != 3 || p.Leader < 0 })
	})
	r.write(t, "grows", 3, 0, 20)
	r.read(t, "grows", 0, 20)
	r.read(t, "grows", 3, 20)
}

// configsReachEveryBroker: each broker tells of a change, and each leader heeds it.
func configsReachEveryBroker(t *testing.T, r *rig) {
	r.create(t, "bounded", 3, 3)
	leaders := map[int32]bool{}
	for p := range int32(3) {
		leaders[r.partition(t, "bounded", p).Leader] = true
	}
	if len(leaders) != 3 {
		t.Errorf("the leaders of three partitions are %v, want every broker", leaders)
	}
	answer, err := r.admin(t).AlterTopicConfigs(patiently(t), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "max.message.bytes", Value: kadm.StringPtr("2000")}}, "bounded")
	if err == nil {
		_, err = answer.On("bounded", func(a *kadm.AlterConfigsResponse) error { return a.Err })
	}
	if err != nil {
		t.Fatal(err)
	}
	client := r.client(t)
	for id := range leaders {
		r.await(t, fmt.Sprint("the change at broker ", id), func(ctx context.Context) (string, bool) {
			req := kmsg.NewPtrDescribeConfigsRequest()
			req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "bounded", ConfigNames: []string{"max.message.bytes"}}}
			got, err := req.RequestWith(ctx, client.Broker(int(id)))
			if err != nil {
				return err.Error(), false
			}
			configs := got.Resources[0].Configs
			return fmt.Sprintf("%+v", configs), len(configs) == 1 && configs[0].Value != nil && *configs[0].Value == "2000"
		})
	}
	producer := r.client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for p := range int32(3) {
		record := &kgo.Record{Topic: "bounded", Partition: p, Value: make([]byte, 3000)}
		if err := producer.ProduceSync(patiently(t), record).FirstErr(); !errors.Is(err, kerr.MessageTooLarge) {
			t.Errorf("3000 bytes to partition %d: %v, want %v", p, err, kerr.MessageTooLarge)
		}
	}
}

// sameIDIsRefused: a second broker with the id of one that runs ends with a sentence,
// and the first goes on (fault C12).
func sameIDIsRefused(t *testing.T, r *rig) {
	ctx := patiently(t)
	out, err := exec.CommandContext(ctx, binary, "broker", "--listen", "127.0.0.1:0", "--set", "broker.id=2", "--set", "zookeeper.connect="+r.Store,
		"--set", "log.dirs="+t.TempDir(), "--set", "metrics.listener=127.0.0.1:0", "--set", "zookeeper.session.timeout.ms=4000").CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("a second broker with id 2 ended with %v; it said:\n%s", err, out)
	}
	if !strings.Contains(string(out), "broker.id") && !strings.Contains(string(out), "broker 2") {
		t.Errorf("it does not say that the id is taken:\n%s", out)
	}
	r.awaitBrokers(t, 3)
	r.create(t, "after-twin", 3, 3)
	for p := range int32(3) {
		r.write(t, "after-twin", p, 0, 10)
	}
}

// partitionMovesUnderLoad: a reassignment takes a partition to another broker while a
// producer writes; then the preferred replica leads, and the old one is gone.
func partitionMovesUnderLoad(t *testing.T, r *rig) {
	r.create(t, "moves", 1, 2)
	before := r.partition(t, "moves", 0)
	s := startStream(t, r, "moves", 1)
	leaves, stays := before.Leader, before.Replicas[1]
	to := []int32{1 + 2 + 3 - leaves - stays, stays}
	admin := r.admin(t)
	req := kadm.AlterPartitionAssignmentsReq{}
	req.Assign("moves", 0, to)
	answer, err := admin.AlterPartitionAssignments(patiently(t), req)
	if err := errors.Join(err, answer.Error()); err != nil {
		t.Fatal(err)
	}
	r.awaitPartitions(t, "moves", "moved", func(all kadm.PartitionDetails) bool {
		return slices.Equal(all[0].Replicas, to) && len(all[0].ISR) == 2 && all[0].Leader != leaves
	})
	left, err := admin.ListPartitionReassignments(patiently(t), nil)
	if err != nil || len(left) != 0 {
		t.Errorf("reassignments after the last: %v, %v", left, err)
	}
	s.awaitMore(t, 50)
	elected, err := admin.ElectLeaders(patiently(t), kadm.ElectPreferredReplica, kadm.TopicsSet{"moves": {0: {}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := elected["moves"][0].Err; err != nil && !errors.Is(err, kerr.ElectionNotNeeded) {
		t.Fatal(err)
	}
	r.awaitPartitions(t, "moves", "led by the preferred replica", func(all kadm.PartitionDetails) bool { return all[0].Leader == to[0] })
	s.awaitMore(t, 50)
	s.end(t, r)
	r.awaitNoLog(t, leaves, "moves-0")
}

// awaitNoLog waits until a broker has no directory of a partition.
func (r *rig) awaitNoLog(t *testing.T, broker int32, partition string) {
	t.Helper()
	dir := filepath.Join(r.Dir(), fmt.Sprint("broker-", broker), "data", partition)
	r.await(t, dir+" is gone", func(context.Context) (string, bool) {
		_, err := os.Stat(dir)
		return fmt.Sprint(err), errors.Is(err, os.ErrNotExist)
	})
}
