package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
	"tidemark/protocol/record"
)

// What follows is done to the disks of brokers in a cluster. A client writes without
// compression, so that a byte behind the header of a batch is a record's.

// segment is a broker's first segment file of a partition.
func (r *rig) segment(id int32, topic string, partition int32) string {
	return filepath.Join(r.DataDir(id), fmt.Sprint(topic, "-", partition), "00000000000000000000.log")
}

// rot turns over one bit in the records of the first batch of a partition, in one
// broker's copy of it.
func (r *rig) rot(t *testing.T, id int32, topic string, partition int32) {
	t.Helper()
	file, err := os.OpenFile(r.segment(id, topic, partition), os.O_RDWR, 0)
	must(t, err)
	defer file.Close()
	var b [1]byte
	const at = record.HeaderSize + 8
	_, err = file.ReadAt(b[:], at)
	must(t, err)
	b[0] ^= 4
	_, err = file.WriteAt(b[:], at)
	must(t, err)
}

// elect has partition 0 of a topic led by one that is its preferred leader, or by any
// live replica.
func (r *rig) elect(t *testing.T, how kadm.ElectLeadersHow, topic, what string, led func(leader int32) bool) {
	t.Helper()
	admin := r.admin(t)
	r.awaitPartitions(t, topic, what, func(all kadm.PartitionDetails) bool {
		_, _ = admin.ElectLeaders(t.Context(), how, kadm.TopicsSet{topic: {0: {}}}) // asked again until it is so
		return led(all[0].Leader)
	})
}

// sameBytes waits until the copies of a partition are equal and sound.
func (r *rig) sameBytes(t *testing.T, topic string, partition int32) {
	t.Helper()
	r.await(t, "equal copies of "+topic, func(context.Context) (string, bool) {
		var files [3][]byte
		for i := range files {
			data, err := os.ReadFile(r.segment(int32(i+1), topic, partition))
			if err != nil {
				return err.Error(), false
			}
			files[i] = data
		}
		for rest := files[0]; len(rest) > 0; {
			b, after, err := record.Parse(rest)
			if err == nil {
				err = b.CheckCRC()
			}
			if err != nil {
				return err.Error(), false
			}
			rest = after
		}
		return fmt.Sprintf("%d, %d and %d bytes", len(files[0]), len(files[1]), len(files[2])), bytes.Equal(files[0], files[1]) && bytes.Equal(files[1], files[2])
	})
}

var plain = kgo.ProducerBatchCompression(kgo.NoCompression())

// TestClusterDamagedReplicaDoesNotLead has the last in-sync replica killed and a bit of
// what it had on stable storage flipped (L03): its next start cuts the log there, and it
// leads no more, though nobody may in its place. Once it is decided to go on without what
// it alone had, it follows, fetches what it lost and is in sync again.
func TestClusterDamagedReplicaDoesNotLead(t *testing.T) {
	t.Parallel()
	r := startRig(t, cluster.Embedded)
	r.create(t, "rot", 1, 3, "min.insync.replicas=1")
	r.write(t, "rot", 0, 0, 10, plain)
	last := r.partition(t, "rot", 0).Leader
	r.restart(t, last) // notes how far its log is synced
	r.awaitInSync(t, "rot", 3)
	r.elect(t, kadm.ElectPreferredReplica, "rot", fmt.Sprint("led by ", last), func(leader int32) bool { return leader == last })
	r.write(t, "rot", 0, 10, 20, plain)
	for _, id := range others(last) {
		must(t, r.Stop(id))
	}
	r.awaitPartitions(t, "rot", "one in sync", func(all kadm.PartitionDetails) bool { return len(all[0].ISR) == 1 && all[0].Leader == last })
	r.write(t, "rot", 0, 20, 30, plain) // only here
	r.kill(t, last)
	r.rot(t, last, "rot", 0)
	r.restart(t, last)
	r.restart(t, others(last)...)
	r.awaitBrokers(t, 3)
	r.awaitSaid(t, last, "records are gone that were on stable storage")
	r.awaitPartitions(t, "rot", "nobody leads", func(all kadm.PartitionDetails) bool {
		if all[0].Leader == last {
			t.Error("the damaged replica leads")
		}
		return all[0].Leader == -1
	})
	r.elect(t, kadm.ElectLiveReplica, "rot", "another leads", func(leader int32) bool { return leader >= 0 && leader != last })
	r.read(t, "rot", 0, 20)
	r.awaitInSync(t, "rot", 3)
	r.write(t, "rot", 0, 20, 30, plain)
	r.sameBytes(t, "rot", 0)
	r.elect(t, kadm.ElectPreferredReplica, "rot", fmt.Sprint("led by ", last), func(leader int32) bool { return leader == last })
	r.read(t, "rot", 0, 30)
}

// said is what a broker has logged.
func (r *rig) said(id int32) ([]byte, error) {
	return os.ReadFile(filepath.Join(filepath.Dir(r.DataDir(id)), "process.log"))
}

// awaitSaid waits until a broker has logged something.
func (r *rig) awaitSaid(t *testing.T, id int32, what string) {
	t.Helper()
	r.await(t, fmt.Sprintf("broker %d says %q", id, what), func(context.Context) (string, bool) {
		text, err := r.said(id)
		return fmt.Sprint(err), bytes.Contains(text, []byte(what))
	})
}

// TestClusterRottenLeaderStepsDown has a bit of a committed batch flipped in one broker's
// copy while it is away in order, and that broker elected (D09): the first reader makes it
// find out and give the partition up; another leads, with all that was acknowledged, and
// nobody is given a batch that is not sound. The broker's next start has it fetched anew.
func TestClusterRottenLeaderStepsDown(t *testing.T) {
	t.Parallel()
	r := startRig(t, cluster.Embedded)
	r.create(t, "rotten", 1, 3)
	r.write(t, "rotten", 0, 0, 10, plain)
	rotten := r.partition(t, "rotten", 0).Leader
	must(t, r.Stop(rotten))
	r.rot(t, rotten, "rotten", 0)
	r.write(t, "rotten", 0, 10, 20, plain)
	r.restart(t, rotten)
	r.awaitInSync(t, "rotten", 3)
	r.elect(t, kadm.ElectPreferredReplica, "rotten", "led by the rotten copy", func(leader int32) bool { return leader == rotten })
	r.write(t, "rotten", 0, 20, 30, plain)
	r.read(t, "rotten", 0, 30)
	r.awaitPartitions(t, "rotten", "another leads", func(all kadm.PartitionDetails) bool {
		return all[0].Leader >= 0 && all[0].Leader != rotten && !slices.Contains(all[0].ISR, rotten)
	})
	r.awaitSaid(t, rotten, "replica goes offline, and others serve")
	r.restart(t, rotten)
	r.awaitInSync(t, "rotten", 3)
	r.write(t, "rotten", 0, 30, 40, plain)
	r.read(t, "rotten", 0, 40)
	r.sameBytes(t, "rotten", 0)
}
