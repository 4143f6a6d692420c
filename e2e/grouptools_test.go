package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

// groupTools are the classes of Kafka's commands about groups; they moved between
// releases.
var groupTools = map[string]struct{ groups, perf string }{
	"4.1.1": {"org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "org.apache.kafka.tools.ConsumerPerformance"},
	"3.0.0": {"kafka.admin.ConsumerGroupCommand", "kafka.tools.ConsumerPerformance"},
}

func TestKafkaGroupTools(t *testing.T) {
	t.Parallel()
	for _, storage := range []string{"kafka", "zookeeper"} {
		t.Run(storage, func(t *testing.T) {
			t.Parallel()
			kafkaGroupTools(t, startBroker(t, append(slices.Clone(quickGroups), "offsets.storage="+storage)...))
		})
	}
}

func kafkaGroupTools(t *testing.T, b *brokerProcess) {
	for _, k := range kafkaReleases {
		t.Run(k.Version, func(t *testing.T) {
			topic, group := "tools-"+k.Version, "readers-"+k.Version
			createTopic(t, b, topic, 2)
			produceStrings(t, b, topic, 500)
			tool := func(args ...string) string {
				t.Helper()
				return k.java(t, "", groupTools[k.Version].groups, append([]string{"--bootstrap-server", b.Bootstrap}, args...)...)
			}
			wantIn(t, k.java(t, "", k.ConsoleConsumer, "--bootstrap-server", b.Bootstrap, "--topic", topic, "--group", group, "--from-beginning",
				"--max-messages", "500", "--timeout-ms", "20000"), "Processed a total of 500 messages")
			wantIn(t, tool("--list"), group)
			wantIn(t, tool("--list", "--state"), group, "Empty")
			wantIn(t, tool("--describe", "--group", group), topic, "CURRENT-OFFSET", "LAG")
			wantIn(t, tool("--describe", "--group", group, "--state"), "Empty")
			requireCommitted(t, b, group, topic, 500)

			command := k.command(t, "tidemark.Member", b.Bootstrap, group, topic, "RangeAssignor")
			command.Env = append(os.Environ(), sessionEnv+"=6s") // it is there as long as the tool looks
			member := startMember(t, newProcessed(), command)
			produceStrings(t, b, topic, 100)
			member.working(t)
			wantIn(t, tool("--describe", "--group", group, "--members", "--verbose"), "consumer-"+group, "/127.0.0.1", "0,1")
			member.kill()
			awaitEmpty(t, b, group)

			tool("--group", group, "--topic", topic, "--reset-offsets", "--to-earliest", "--execute")
			requireCommitted(t, b, group, topic, 0)
			tool("--group", group, "--topic", topic+":0", "--reset-offsets", "--to-offset", "7", "--execute")
			requireCommitted(t, b, group, topic, 7)
			wantIn(t, tool("--group", group, "--topic", topic, "--delete-offsets"), "Successful")
			wantIn(t, tool("--delete", "--group", group), "was successful")
			if out := tool("--list"); strings.Contains(out, group) {
				t.Errorf("the deleted group is still listed:\n%s", out)
			}

			perf := k.java(t, "", groupTools[k.Version].perf, "--bootstrap-server", b.Bootstrap, "--topic", topic, "--messages", "600", "--timeout", "20000", "--hide-header")
			if fields := strings.Split(strings.TrimSpace(lastLine(perf)), ", "); len(fields) < 5 || fields[4] != "600" {
				t.Errorf("kafka-consumer-perf-test did not read 600 records:\n%s", perf)
			}
		})
	}
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// requireCommitted adds up the group's offsets of a topic.
func requireCommitted(t *testing.T, b *brokerProcess, group, topic string, want int64) {
	t.Helper()
	offsets, err := b.admin().FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	var got int64
	offsets.Each(func(o kadm.OffsetResponse) {
		if o.Topic == topic && o.At > 0 {
			got += o.At
		}
	})
	if got != want {
		t.Errorf("the offsets of %s add up to %d, want %d", group, got, want)
	}
}

// awaitEmpty returns once the coordinator has given up the group's last member.
func awaitEmpty(t *testing.T, b *brokerProcess, group string) {
	t.Helper()
	admin := b.admin()
	eventually(t, group+" has no members", func() bool {
		groups, err := admin.DescribeGroups(t.Context(), group)
		return err == nil && groups[group].State == "Empty"
	})
}

// TestKafkaReadsOffsets hands the files of __consumer_offsets to Kafka's own tool,
// which decodes the groups and offsets in them. 3.0 knows neither KIP-848 nor offsets
// with a topic id, which clients of its time do not commit.
func TestKafkaReadsOffsets(t *testing.T) {
	t.Parallel()
	now, then := kafkaReleases[0], kafkaReleases[1]
	t.Run(now.Version, func(t *testing.T) {
		b := startBroker(t, quickGroups...)
		writeOffsets(t, b, goMember(t, "franz")(0, b.Bootstrap, "billing", "orders"), b.admin())
		p := newProcessed()
		m := startMember(t, p, now.command(t, "tidemark.Member", b.Bootstrap, "next", "orders", "uniform"))
		p.await(t, 20)
		m.kill()
		out := now.dumpOffsets(t, b)
		wantIn(t, out, `"protocolType":"consumer"`, `"group":"billing"`, `"topic":"orders"`, `"clientHost":"/127.0.0.1"`,
			fmt.Sprintf(`"offset":%d,"leaderEpoch":%d,"metadata":"by hand"`, 17, 3), "<DELETE>", `"topicId":"`,
			`"subscribedTopicNames":["orders"],"subscribedTopicRegex":""`, `"serverAssignor":"uniform"`, `"assignedPartitions":[{`)
		for _, complaint := range []string{"unknown::", "Exception", "invalid"} {
			if strings.Contains(out, complaint) {
				t.Errorf("kafka-dump-log complains (%q):\n%s", complaint, around(out, complaint))
			}
		}
	})
	t.Run(then.Version, func(t *testing.T) {
		b := startBroker(t, quickGroups...)
		writeOffsets(t, b, then.command(t, "tidemark.Member", b.Bootstrap, "billing", "orders", "RangeAssignor"),
			kadm.NewClient(newKgo(t, b, kgo.MaxVersions(kversion.V3_0_0()))))
		wantIn(t, then.dumpOffsets(t, b), "group_metadata::group=billing", "offset_commit::group=billing,partition=orders-0", `"protocolType":"consumer"`,
			"offset=20", "offset=17,metadata=by hand", "<DELETE>")
	})
}

// writeOffsets has a member of group billing read 20 records of orders, and group
// by-hand come and go.
func writeOffsets(t *testing.T, b *brokerProcess, member *exec.Cmd, admin *kadm.Client) {
	t.Helper()
	createTopic(t, b, "orders", 1)
	produceStrings(t, b, "orders", 20)
	p := newProcessed()
	m := startMember(t, p, member)
	p.await(t, 20)
	eventually(t, "billing has committed", func() bool {
		offsets, err := admin.FetchOffsets(t.Context(), "billing")
		o, ok := offsets.Lookup("orders", 0)
		return err == nil && ok && o.At == 20
	})
	m.kill()
	awaitEmpty(t, b, "billing")
	commit := kadm.Offsets{}
	commit.Add(kadm.Offset{Topic: "orders", Partition: 0, At: 17, LeaderEpoch: 3, Metadata: "by hand"})
	if err := admin.CommitAllOffsets(t.Context(), "by-hand", commit); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteGroups(t.Context(), "by-hand"); err != nil {
		t.Fatal(err)
	}
}

// dumpOffsets stops the broker and decodes its partitions of __consumer_offsets.
func (k kafkaRelease) dumpOffsets(t *testing.T, b *brokerProcess) string {
	t.Helper()
	b.Stop(t)
	var files []string
	err := filepath.WalkDir(b.Dir, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".log" && strings.Contains(path, "__consumer_offsets-") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return k.java(t, "", "kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", strings.Join(files, ","))
}
