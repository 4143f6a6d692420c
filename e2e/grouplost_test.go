package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestCommitsBeyondTheEnd: the log loses records whose offsets a group has committed,
// as a failover may where the settings allow it. Members go by their reset policy, and
// whatever is written next is read, at offsets that were read once before (fault G18).
// kafka-go is not among them: it waits until the log is as long again.
func TestCommitsBeyondTheEnd(t *testing.T) {
	t.Parallel()
	members := map[string]func(n int, bootstrap, group, topic string) *exec.Cmd{"franz": goMember(t, "franz"), "sarama": goMember(t, "sarama")}
	for _, k := range kafkaReleases {
		members["java-"+k.Version] = func(_ int, bootstrap, group, topic string) *exec.Cmd {
			return k.command(t, "tidemark.Member", bootstrap, group, topic, "RangeAssignor")
		}
	}
	members["java-848"] = func(_ int, bootstrap, group, topic string) *exec.Cmd {
		return kafkaReleases[0].command(t, "tidemark.Member", bootstrap, group, topic, "uniform")
	}
	for name, member := range members {
		t.Run(name, func(t *testing.T) { commitsBeyondTheEnd(t, member) })
	}
}

func TestCommitsBeyondTheEndOfLibrdkafka(t *testing.T) {
	t.Parallel()
	python := filepath.Join("..", ".cache", "venv-clients", "bin", "python")
	need(t, python, "scripts/test-deps.sh")
	commitsBeyondTheEnd(t, func(_ int, bootstrap, group, topic string) *exec.Cmd {
		return exec.Command(python, "python/member.py", "confluent", bootstrap, group, topic)
	})
}

func commitsBeyondTheEnd(t *testing.T, member func(n int, bootstrap, group, topic string) *exec.Cmd) {
	dir := t.TempDir()
	b := startBrokerWith(t, nil, dir, quickGroups...)
	createTopic(t, b, "work", 1)
	for range 3 {
		produceStrings(t, b, "work", 100, kgo.ProducerLinger(200*time.Millisecond)) // one batch each, also where this process has to wait meanwhile
	}
	p := newProcessed()
	startMember(t, p, member(0, b.Bootstrap, "g", "work"))
	p.await(t, 300)
	eventually(t, "300 records are committed", func() bool { return p.requireNoneSkipped(t, b, "g", "work") == 300 })

	b.Kill(t)
	loseTail(t, filepath.Join(dir, "work-0"))
	b = startBrokerAt(t, b.Bootstrap, nil, dir, quickGroups...)
	end := endOf(t, b, "work")
	if end != 200 {
		t.Fatalf("the log ends at %d, want it to have lost the last 100 of 300 records", end)
	}
	produceStrings(t, b, "work", 50)
	p.awaitTimes(t, 2, end, end+50)
	// A member that joins anew goes on from the old commit once the log is as long again.
	eventually(t, "what was read again is committed", func() bool { return p.requireNoneSkipped(t, b, "g", "work") == end+50 })
	produceStrings(t, b, "work", 100)
	p.awaitTimes(t, 2, end+50, 300)
	p.awaitTimes(t, 1, 300, end+150)
	eventually(t, "all is committed", func() bool { return p.requireNoneSkipped(t, b, "g", "work") == end+150 })
}

// loseTail cuts a partition's only segment within its last batch.
func loseTail(t *testing.T, partition string) {
	t.Helper()
	segment := filepath.Join(partition, "00000000000000000000.log")
	info, err := os.Stat(segment)
	must(t, err)
	must(t, os.Truncate(segment, info.Size()-100))
}

func endOf(t *testing.T, b *brokerProcess, topic string) int64 {
	t.Helper()
	ends, err := b.admin().ListEndOffsets(t.Context(), topic)
	must(t, err)
	o, _ := ends.Lookup(topic, 0)
	must(t, o.Err)
	return o.Offset
}

// awaitTimes returns once each offset of partition 0 in a range was processed so many
// times.
func (p *processed) awaitTimes(t *testing.T, times int, first, end int64) {
	t.Helper()
	missing := func() int64 {
		p.mu.Lock()
		defer p.mu.Unlock()
		for at := first; at < end; at++ {
			if p.times[[2]int64{0, at}] < times {
				return at
			}
		}
		return -1
	}
	late := time.After(patience)
	for missing() >= 0 {
		select {
		case <-p.grew:
		case <-late:
			t.Fatalf("offset %d was not processed %d times within %v", missing(), times, patience)
		}
	}
}
