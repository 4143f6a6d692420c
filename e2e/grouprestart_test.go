package e2e

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
)

// TestGroupsOutliveTheBroker kills the broker under a group at work: its members go
// on in their generation, and nothing committed is lost.
func TestGroupsOutliveTheBroker(t *testing.T) {
	for _, storage := range []string{"kafka", "zookeeper"} {
		t.Run(storage, func(t *testing.T) {
			groupsOutliveTheBroker(t, append(slices.Clone(quickGroups), "offsets.storage="+storage))
		})
	}
}

func groupsOutliveTheBroker(t *testing.T, settings []string) {
	t.Setenv(sessionEnv, "20s") // longer than the broker is away
	dir := t.TempDir()
	b := startBrokerWith(t, nil, dir, settings...)
	createTopic(t, b, "work", 4)
	p, sent := newProcessed(), 0
	produce := func() {
		produceStrings(t, b, "work", 300)
		sent += 300
	}
	member := goMember(t, "franz")
	produce()
	for range 2 {
		startMember(t, p, member(0, b.Bootstrap, "g", "work"))
	}
	p.await(t, sent)
	for range often(2, 20) {
		before := stableMembers(t, b, "g", 2)
		committed := p.requireNoneSkipped(t, b, "g", "work")
		produce()
		b.Kill(t)
		b = startBrokerAt(t, b.Bootstrap, nil, dir, settings...)
		produce()
		p.await(t, sent)
		if again := p.requireNoneSkipped(t, b, "g", "work"); again < committed {
			t.Errorf("committed are %d records, and %d were before the kill", again, committed)
		}
		if after := stableMembers(t, b, "g", 2); !slices.Equal(before, after) {
			t.Errorf("the members are %v, and were %v before the kill", after, before)
		}
	}
}

// stableMembers returns the ids of a group's members, in order, once there are so
// many and their generation is complete.
func stableMembers(t *testing.T, b *brokerProcess, group string, members int) (ids []string) {
	t.Helper()
	admin := b.admin()
	eventually(t, fmt.Sprintf("%s is stable with %d members", group, members), func() bool {
		groups, err := admin.DescribeGroups(t.Context(), group)
		if err != nil || groups[group].State != "Stable" {
			return false
		}
		ids = ids[:0]
		for _, m := range groups[group].Members {
			ids = append(ids, m.MemberID)
		}
		return len(ids) == members
	})
	slices.Sort(ids)
	return ids
}

// TestCompactedOffsets commits so often that __consumer_offsets is compacted, and
// finds every offset after a kill.
func TestCompactedOffsets(t *testing.T) {
	dir := t.TempDir()
	settings := []string{"offsets.topic.num.partitions=1", "offsets.topic.segment.bytes=20000",
		"log.cleaner.backoff.ms=50", "log.cleaner.min.cleanable.ratio=0.1"}
	b := startBrokerWith(t, nil, dir, settings...)
	createTopic(t, b, "orders", 20)
	admin := b.admin()
	offsets := func(round int64) kadm.Offsets {
		o := kadm.Offsets{}
		for partition := range int32(20) {
			o.Add(kadm.Offset{Topic: "orders", Partition: partition, At: round*1000 + int64(partition), LeaderEpoch: -1})
		}
		return o
	}
	const rounds = 200
	for round := range int64(rounds) {
		if err := admin.CommitAllOffsets(t.Context(), "keeper", offsets(round)); err != nil {
			t.Fatal(err)
		}
	}
	const written = rounds * 20 * 80 // bytes, at least
	eventually(t, "__consumer_offsets is compacted to a tenth", func() bool { return sizeOf(t, dir, "__consumer_offsets-0") < written/10 })
	b.Kill(t)
	b = startBrokerWith(t, nil, dir, settings...)
	got, err := b.admin().FetchOffsets(t.Context(), "keeper")
	if err != nil {
		t.Fatal(err)
	}
	for partition := range int32(20) {
		o, ok := got.Lookup("orders", partition)
		if want := int64((rounds-1)*1000) + int64(partition); !ok || o.At != want {
			t.Errorf("orders-%d: got offset %d (there: %v), want %d", partition, o.At, ok, want)
		}
	}
}

// sizeOf adds up the segments of a partition.
func sizeOf(t *testing.T, dir, partition string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, partition), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".log") {
			return nil // a file may go while we look
		}
		if info, err := d.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// TestZombieMember stops a member for longer than its session while it works. Its
// partitions go to another one, and what it still believes in does no harm.
func TestZombieMember(t *testing.T) {
	b := startBroker(t, quickGroups...)
	for library := range goMembers {
		t.Run(library, func(t *testing.T) {
			topic, p, sent := "work-"+library, newProcessed(), 0
			createTopic(t, b, topic, 4)
			produce := func() {
				produceStrings(t, b, topic, 400)
				sent += 400
			}
			start := goMember(t, library)
			produce()
			zombie := startMember(t, p, start(0, b.Bootstrap, library, topic))
			startMember(t, p, start(1, b.Bootstrap, library, topic))
			p.await(t, sent)
			stableMembers(t, b, library, 2)
			produce()
			if err := zombie.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			stableMembers(t, b, library, 1)
			produce()
			p.await(t, sent)
			committed := p.requireNoneSkipped(t, b, library, topic)
			if err := zombie.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			stableMembers(t, b, library, 2) // it is back, as a new member
			produce()
			p.await(t, sent)
			if again := p.requireNoneSkipped(t, b, library, topic); again < committed {
				t.Errorf("committed are %d records, and %d were before the zombie woke up", again, committed)
			}
		})
	}
}
