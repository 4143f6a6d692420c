package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// kafkaRelease is one build of e2e/java with the classes of its tools: they
// moved between releases.
type kafkaRelease struct {
	Version                                              string
	Topics, GetOffsets, ConsoleProducer, ConsoleConsumer string
}

var kafkaReleases = []kafkaRelease{
	{"4.1.1", "org.apache.kafka.tools.TopicCommand", "org.apache.kafka.tools.GetOffsetShell",
		"org.apache.kafka.tools.ConsoleProducer", "org.apache.kafka.tools.consumer.ConsoleConsumer"},
	{"3.0.0", "kafka.admin.TopicCommand", "kafka.tools.GetOffsetShell",
		"kafka.tools.ConsoleProducer", "kafka.tools.ConsoleConsumer"},
}

// java runs a class of the release and returns what it printed.
func (k kafkaRelease) java(t *testing.T, stdin, class string, args ...string) string {
	t.Helper()
	cmd := k.command(t, class, args...)
	return run(t, stdin, cmd.Args[0], cmd.Args[1:]...)
}

// command is the command line of a class of the release.
func (k kafkaRelease) command(t *testing.T, class string, args ...string) *exec.Cmd {
	t.Helper()
	target := filepath.Join("java", "target", k.Version)
	classpath, err := os.ReadFile(filepath.Join(target, "classpath"))
	if err != nil {
		t.Skipf("Kafka %s is not here; run scripts/java-clients.sh", k.Version)
	}
	cp := filepath.Join(target, "classes") + ":" + strings.TrimSpace(string(classpath))
	return exec.Command("java", append([]string{"-Xshare:auto", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-Djava.io.tmpdir=" + t.TempDir(), "-cp", cp, class}, args...)...)
}

func TestJavaClient(t *testing.T) {
	b := startBroker(t)
	for _, k := range kafkaReleases {
		t.Run(k.Version, func(t *testing.T) {
			prefix := "java-" + k.Version
			out := k.java(t, "", "tidemark.ClientCheck", b.Bootstrap, prefix)
			if want := len(codecs) + 1; strings.Count(out, "ok ") != want {
				t.Errorf("want %d lines of ok, got:\n%s", want, out)
			}
			for _, codec := range codecs[1:] {
				requireCodecOnTheWire(t, b, prefix+"-"+codec, codec)
			}
		})
	}
}

func TestKafkaCommandLineTools(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	for _, k := range kafkaReleases {
		t.Run(k.Version, func(t *testing.T) {
			topic := "tools-" + k.Version
			k.java(t, "", k.Topics, "--bootstrap-server", b.Bootstrap, "--create", "--topic", topic, "--partitions", "3", "--replication-factor", "1", "--config", "retention.ms=100000")
			wantIn(t, k.java(t, "", k.Topics, "--bootstrap-server", b.Bootstrap, "--list"), topic)
			wantIn(t, k.java(t, "", k.Topics, "--bootstrap-server", b.Bootstrap, "--describe", "--topic", topic),
				"PartitionCount: 3", "ReplicationFactor: 1", "retention.ms=100000", "Leader: 1", "Isr: 1")
			k.java(t, "", k.Topics, "--bootstrap-server", b.Bootstrap, "--alter", "--topic", topic, "--partitions", "4")

			k.java(t, "", "kafka.admin.ConfigCommand", "--bootstrap-server", b.Bootstrap, "--alter", "--entity-type", "topics", "--entity-name", topic, "--add-config", "segment.bytes=1048576")
			wantIn(t, k.java(t, "", "kafka.admin.ConfigCommand", "--bootstrap-server", b.Bootstrap, "--describe", "--entity-type", "topics", "--entity-name", topic), "segment.bytes=1048576")

			const lines = 200
			var input strings.Builder
			for i := range lines {
				fmt.Fprintf(&input, "line-%d\n", i)
			}
			k.java(t, input.String(), k.ConsoleProducer, "--bootstrap-server", b.Bootstrap, "--topic", topic)
			offsets := k.java(t, "", k.GetOffsets, "--bootstrap-server", b.Bootstrap, "--topic", topic)
			if got := sumOffsets(t, offsets, topic); got != lines {
				t.Errorf("kafka-get-offsets adds up to %d, want %d:\n%s", got, lines, offsets)
			}
			requireConsoleConsumer(t, b, k, topic)
			wantIn(t, k.java(t, "", "org.apache.kafka.tools.ProducerPerformance", "--topic", topic, "--num-records", "20000", "--record-size", "100",
				"--throughput", "-1", "--producer-props", "bootstrap.servers="+b.Bootstrap), "20000 records sent")
			k.java(t, "", k.Topics, "--bootstrap-server", b.Bootstrap, "--delete", "--topic", topic)
			if out := k.java(t, "", k.Topics, "--bootstrap-server", b.Bootstrap, "--list"); strings.Contains(out, topic) {
				t.Errorf("the deleted topic is still listed:\n%s", out)
			}
		})
	}
}

// requireConsoleConsumer reads back each partition that has records.
func requireConsoleConsumer(t *testing.T, b *brokerProcess, k kafkaRelease, topic string) {
	t.Helper()
	offsets := k.java(t, "", k.GetOffsets, "--bootstrap-server", b.Bootstrap, "--topic", topic)
	for _, line := range strings.Fields(offsets) {
		fields := strings.Split(line, ":")
		if len(fields) != 3 || fields[0] != topic || fields[2] == "0" {
			continue
		}
		out := k.java(t, "", k.ConsoleConsumer, "--bootstrap-server", b.Bootstrap, "--topic", topic, "--partition", fields[1],
			"--offset", "earliest", "--max-messages", fields[2], "--timeout-ms", "20000")
		wantIn(t, out, "Processed a total of "+fields[2]+" messages", "line-")
	}
}

func sumOffsets(t *testing.T, out, topic string) int {
	t.Helper()
	sum := 0
	for _, line := range strings.Fields(out) {
		var partition, offset int
		if n, _ := fmt.Sscanf(strings.TrimPrefix(line, topic), ":%d:%d", &partition, &offset); n == 2 {
			sum += offset
		}
	}
	return sum
}

func wantIn(t *testing.T, out string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(out, want) {
			t.Errorf("output lacks %q:\n%s", want, out)
		}
	}
}
