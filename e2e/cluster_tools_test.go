package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
)

// clusterTools are the classes of Kafka's commands about clusters; they moved between
// releases.
var clusterTools = map[string]struct{ elect, reassign, logDirs string }{
	"4.1.1": {"org.apache.kafka.tools.LeaderElectionCommand", "org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "org.apache.kafka.tools.LogDirsCommand"},
	"3.0.0": {"kafka.admin.LeaderElectionCommand", "kafka.admin.ReassignPartitionsCommand", "kafka.admin.LogDirsCommand"},
}

// toolbox runs Kafka's own commands of a release against a cluster.
type toolbox struct {
	kafkaRelease
	r *rig
}

func (k toolbox) tool(t *testing.T, class string, args ...string) string {
	t.Helper()
	return k.java(t, "", class, append([]string{"--bootstrap-server", strings.Join(k.r.seeds, ",")}, args...)...)
}

func (k toolbox) topics(t *testing.T, args ...string) string { return k.tool(t, k.Topics, args...) }

// described are the lines of kafka-topics --describe about partitions, as
// "topic-partition leader replicas isr".
func (k toolbox) described(t *testing.T, args ...string) (list []string) {
	t.Helper()
	out := k.topics(t, append([]string{"--describe"}, args...)...)
	for _, m := range describedPartition.FindAllStringSubmatch(out, -1) {
		list = append(list, fmt.Sprintf("%s-%s %s %s %s", m[1], m[2], m[3], m[4], m[5]))
	}
	return list
}

// describedPartition is a line of kafka-topics --describe, up to what later releases
// append.
var describedPartition = regexp.MustCompile(`(?m)^\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S+)\tIsr: (\S*)(?:\tElr: N/A\tLastKnownElr: N/A)?\s*$`)

// TestKafkaClusterTools has Kafka's own commands tell of a cluster and change it.
func TestKafkaClusterTools(t *testing.T) {
	t.Parallel()
	need(t, cluster.ZooKeeperScript, "scripts/install-zookeeper.sh")
	r := startRig(t, cluster.Real, "auto.leader.rebalance.enable=false") // here the tools decide who leads
	for _, release := range kafkaReleases {
		t.Run(release.Version, func(t *testing.T) {
			k := toolbox{release, r}
			topic := "tools-" + release.Version
			k.topics(t, "--create", "--topic", topic, "--replica-assignment", "1:2,2:3,3:1")
			r.awaitInSync(t, topic, 2)
			want := []string{topic + "-0 1 1,2 1,2", topic + "-1 2 2,3 2,3", topic + "-2 3 3,1 3,1"}
			if got := k.described(t, "--topic", topic); !slices.Equal(got, want) {
				t.Errorf("described are %q, want %q", got, want)
			}
			r.write(t, topic, 0, 0, 50)
			r.ballast(t, topic, 0, 4<<20)
			toolsReassign(t, k, topic)
			toolsElect(t, k, topic)
			toolsConfigure(t, k, topic)
			toolsListLogDirs(t, k, topic)
		})
	}
	toolsSeeAFault(t, toolbox{kafkaReleases[0], r})
	toolsOfZooKeeper(t, r)
}

// ballast writes random bytes into a partition.
func (r *rig) ballast(t *testing.T, topic string, partition int32, size int) {
	t.Helper()
	client := r.client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()))
	source := rand.NewChaCha8([32]byte{})
	for left := size; left > 0; left -= 64 << 10 {
		value := make([]byte, 64<<10)
		_, _ = source.Read(value) // it never fails
		if err := client.ProduceSync(patiently(t), &kgo.Record{Topic: topic, Partition: partition, Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
}

// toolsReassign moves partition 0 from brokers 1 and 2 to 3 and 2, slowly, takes that
// back while it lasts, and moves it in earnest.
func toolsReassign(t *testing.T, k toolbox, topic string) {
	t.Helper()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	reassign := func(args ...string) string { return k.tool(t, clusterTools[k.Version].reassign, args...) }
	wantIn(t, reassign("--topics-to-move-json-file", file("topics.json", `{"version":1,"topics":[{"topic":"`+topic+`"}]}`), "--broker-list", "1,2,3", "--generate"),
		"Current partition replica assignment", `"topic":"`+topic+`","partition":0,"replicas":[1,2]`, "Proposed partition reassignment configuration")
	plan := file("plan.json", `{"version":1,"partitions":[{"topic":"`+topic+`","partition":0,"replicas":[3,2]}]}`)

	out := reassign("--reassignment-json-file", plan, "--execute", "--throttle", "1000") // B/s, so that the move lasts
	wantIn(t, out, `"replicas":[1,2]`, "The inter-broker throttle limit was set to 1000 B/s", "Successfully started partition reassignment for "+topic+"-0")
	wantIn(t, reassign("--list"), topic+"-0: replicas: 3,2,1. adding: 3. removing: 1.")
	wantIn(t, reassign("--reassignment-json-file", plan, "--verify"), "Reassignment of partition "+topic+"-0 is still in progress.")
	wantIn(t, reassign("--reassignment-json-file", plan, "--cancel"), "Successfully cancelled partition reassignment for: "+topic+"-0", "Clearing broker-level throttles")
	wantIn(t, reassign("--list"), "No partition reassignments found.")
	k.r.awaitInSync(t, topic, 2)

	reassign("--reassignment-json-file", plan, "--execute", "--additional")
	k.r.awaitPartitions(t, topic, "moved to 3 and 2", func(all kadm.PartitionDetails) bool {
		return slices.Equal(all[0].Replicas, []int32{3, 2}) && len(all[0].ISR) == 2
	})
	wantIn(t, reassign("--reassignment-json-file", plan, "--verify"), "Reassignment of partition "+topic+"-0 is complete", "Clearing topic-level throttles on topic "+topic)
	k.r.read(t, topic, 0, 50)
}

// toolsElect moves leadership to the preferred replica, which broker 3 is.
func toolsElect(t *testing.T, k toolbox, topic string) {
	t.Helper()
	elect := func(args ...string) string { return k.tool(t, clusterTools[k.Version].elect, args...) }
	if leader := k.r.partition(t, topic, 0).Leader; leader == 2 { // whom the move left in the lead
		wantIn(t, elect("--election-type", "preferred", "--topic", topic, "--partition", "0"), "Successfully completed leader election (PREFERRED) for partitions "+topic+"-0")
	}
	wantIn(t, elect("--election-type", "preferred", "--topic", topic, "--partition", "0"), "Valid replica already elected for partitions", topic+"-0")
	wantIn(t, elect("--election-type", "unclean", "--topic", topic, "--partition", "0"), "Valid replica already elected for partitions", topic+"-0")
	elect("--election-type", "preferred", "--all-topic-partitions")
	k.r.awaitPartitions(t, topic, "preferred leaders", func(all kadm.PartitionDetails) bool {
		return !slices.ContainsFunc(all.Sorted(), func(p kadm.PartitionDetail) bool { return p.Leader != p.Replicas[0] })
	})
}

func toolsConfigure(t *testing.T, k toolbox, topic string) {
	t.Helper()
	configs := func(args ...string) string {
		return k.tool(t, "kafka.admin.ConfigCommand", append([]string{"--entity-type", "topics", "--entity-name", topic}, args...)...)
	}
	configs("--alter", "--add-config", "retention.ms=77777,min.insync.replicas=1")
	wantIn(t, configs("--describe"), "retention.ms=77777", "DYNAMIC_TOPIC_CONFIG:retention.ms=77777", "min.insync.replicas=1")
	configs("--alter", "--delete-config", "retention.ms")
	if out := configs("--describe"); strings.Contains(out, "retention.ms") {
		t.Errorf("the deleted configuration is still described:\n%s", out)
	}
}

func toolsListLogDirs(t *testing.T, k toolbox, topic string) {
	t.Helper()
	out := k.tool(t, clusterTools[k.Version].logDirs, "--describe", "--topic-list", topic)
	var answer struct {
		Brokers []struct {
			Broker  int
			LogDirs []struct {
				LogDir     string
				Error      *string
				Partitions []struct {
					Partition string
					Size      int64
				}
			}
		}
	}
	unmarshal(t, []byte(out[strings.Index(out, "{"):]), &answer)
	sizes := map[string][]int64{}
	for _, b := range answer.Brokers {
		for _, d := range b.LogDirs {
			if want := filepath.Join(k.r.Dir(), fmt.Sprint("broker-", b.Broker), "data"); d.LogDir != want || d.Error != nil {
				t.Errorf("broker %d has the directory %s, %v, want %s", b.Broker, d.LogDir, d.Error, want)
			}
			for _, p := range d.Partitions {
				sizes[p.Partition] = append(sizes[p.Partition], p.Size)
			}
		}
	}
	for p := range 3 {
		got := sizes[fmt.Sprint(topic, "-", p)]
		if len(got) != 2 || got[0] != got[1] || (got[0] > 0) != (p == 0) {
			t.Errorf("partition %d has the sizes %v, want two equal ones, above zero for 0 alone", p, got)
		}
	}
}

// toolsSeeAFault: with a broker dead, its partitions are told to be under-replicated;
// where both replicas went one after the other, the last to go leads or nobody does,
// unless an unclean election is asked for.
func toolsSeeAFault(t *testing.T, k toolbox) {
	t.Helper()
	k.topics(t, "--create", "--topic", "frail", "--replica-assignment", "1:2,2:3", "--config", "min.insync.replicas=1")
	k.r.awaitInSync(t, "frail", 2)
	k.r.kill(t, 2)
	k.r.awaitInSync(t, "frail", 1)
	if got, want := k.described(t, "--under-replicated-partitions", "--topic", "frail"), []string{"frail-0 1 1,2 1", "frail-1 3 2,3 3"}; !slices.Equal(got, want) {
		t.Errorf("under-replicated are %q, want %q", got, want)
	}
	k.r.write(t, "frail", 0, 0, 5) // which broker 1 alone has
	k.r.kill(t, 1)
	k.r.restart(t, 2)
	k.r.awaitPartitions(t, "frail", "without a leader", func(all kadm.PartitionDetails) bool { return all[0].Leader < 0 && len(all[1].ISR) == 2 })
	if got, want := k.described(t, "--unavailable-partitions", "--topic", "frail"), []string{"frail-0 none 1,2 1"}; !slices.Equal(got, want) {
		t.Errorf("unavailable are %q, want %q", got, want)
	}
	out := k.tool(t, clusterTools[k.Version].elect, "--election-type", "unclean", "--topic", "frail", "--partition", "0")
	wantIn(t, out, "Successfully completed leader election (UNCLEAN) for partitions frail-0")
	k.r.restart(t, 1)
	k.r.awaitInSync(t, "frail", 2)
	if got, want := k.described(t, "--under-replicated-partitions"), []string(nil); !slices.Equal(got, want) {
		t.Errorf("under-replicated are %q with every broker back", got)
	}
	k.r.write(t, "frail", 0, 0, 3)
	k.r.read(t, "frail", 0, 3)
}

// toolsOfZooKeeper: zkCli.sh shows the nodes that operators look for.
func toolsOfZooKeeper(t *testing.T, r *rig) {
	t.Helper()
	cli := filepath.Join(filepath.Dir(cluster.ZooKeeperScript), "zkCli.sh")
	out := run(t, "ls /brokers/ids\nget /controller\nls /brokers/topics\nget /brokers/topics/frail\nget /brokers/topics/frail/partitions/1/state\nget /config/topics/frail\nquit\n",
		cli, "-server", r.Store)
	wantIn(t, out, "[1, 2, 3]", `{"version":2,"brokerid":`, "frail, tools-3.0.0, tools-4.1.1", `"partitions":{"0":[1,2],"1":[2,3]}`, `"leader_epoch":`, `"isr":[`, `"config":{"min.insync.replicas":"1"}`)
	for line := range strings.Lines(out) {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "{") && !json.Valid([]byte(text)) {
			t.Errorf("zkCli.sh shows %s, which is no JSON", text)
		}
	}
}
