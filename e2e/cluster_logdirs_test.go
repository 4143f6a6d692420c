package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/bench/cluster"
	"tidemark/bench/process"
)

// twoDisks is a rig whose brokers have two log directories each.
func twoDisks(t *testing.T, settings ...string) *rig {
	t.Helper()
	return startRigWith(t, cluster.Options{LogDirs: 2}, settings...)
}

// noNewFiles has no file made in a directory, nor renamed, until the returned function is
// called: by its mode, or, for root whom that does not bind, by moving it away.
func noNewFiles(t *testing.T, dir string) (undo func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		must(t, os.Chmod(dir, 0o555))
		return func() { must(t, os.Chmod(dir, 0o755)) }
	}
	must(t, os.Rename(dir, dir+"-away"))
	return func() { must(t, os.Rename(dir+"-away", dir)) }
}

// holds are the partitions of a topic that lie in a log directory.
func holds(t *testing.T, dir, topic string, partitions int32) (list []int32) {
	t.Helper()
	for p := range partitions {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(topic, "-", p))); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// TestClusterLosesLogDirs takes the one and then the other of a broker's two log
// directories from it, under load (D07): the partitions in the first are led by others
// and those in the second stay; without any the broker ends. Nothing that the producer
// sent fails or is lost, and with its directories back the broker has all again.
func TestClusterLosesLogDirs(t *testing.T) {
	t.Parallel()
	const partitions, victim = 6, 2
	r := twoDisks(t, "replica.high.watermark.checkpoint.interval.ms=200")
	r.create(t, "disks", partitions, 3)
	r.awaitInSync(t, "disks", 3)
	dirs, err := r.DataDirs(victim)
	must(t, err)
	lost, kept := holds(t, dirs[0], "disks", partitions), holds(t, dirs[1], "disks", partitions)
	if len(lost) == 0 || len(kept) == 0 || len(lost)+len(kept) != partitions {
		t.Fatalf("partitions %v are in the first directory and %v in the second", lost, kept)
	}
	s := startStream(t, r, "disks", partitions)
	giveBack := noNewFiles(t, dirs[0])
	r.awaitPartitions(t, "disks", fmt.Sprintf("%v without broker %d, and %v with it", lost, victim, kept), func(all kadm.PartitionDetails) bool {
		for _, p := range all {
			away := slices.Contains(lost, p.Partition)
			if p.Leader < 0 || away && p.Leader == victim || slices.Contains(p.ISR, victim) == away {
				return false
			}
		}
		return true
	})
	s.awaitMore(t, 200)
	r.awaitBrokers(t, 3)
	giveBackOther := noNewFiles(t, dirs[1])
	r.awaitPartitions(t, "disks", fmt.Sprintf("all without broker %d", victim), func(all kadm.PartitionDetails) bool {
		return !slices.ContainsFunc(all.Sorted(), func(p kadm.PartitionDetail) bool {
			return p.Leader < 0 || p.Leader == victim || slices.Contains(p.ISR, victim)
		})
	})
	s.awaitMore(t, 200)
	state, err := r.State()
	must(t, err)
	for deadline := time.Now().Add(patience); state.Brokers[victim-1].State() != process.Gone; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a broker without a log directory goes on")
		}
	}
	r.awaitSaid(t, victim, "no log directory is left")
	giveBack()
	giveBackOther()
	r.restart(t, victim)
	r.awaitInSync(t, "disks", 3)
	s.end(t, r)
}
