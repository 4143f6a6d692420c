package replica

import (
	"testing"

	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
)

// TestCheckpointOverShortenedLog: where a power cut took what the high-watermark
// checkpoint speaks of, the checkpoint is lowered on stable storage before anything is
// appended: another crash would take new records for committed ones.
func TestCheckpointOverShortenedLog(t *testing.T) {
	fs := vfs.NewMem()
	h := newHost(t, fs, "/a")
	h.open()
	defer h.close()
	h.lead("t", 1, 1)
	for range 8 {
		h.append("t", 0, "x")
	}
	h.Partition("t", 0).dir.checkpointHighWatermarks()
	shorter := 0
	for seed := range uint64(20) {
		cut := newHost(t, fs.CrashClone(seed), "/a")
		cut.open()
		state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 2, LeaderEpoch: 1, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
		if err := cut.Apply([]State{state}).Err(); err != nil {
			t.Fatal(err)
		}
		p := cut.Partition("t", 0)
		if p.LogEndOffset() < 8 {
			shorter++
		}
		left := cut.fs.(*vfs.Mem).CrashClone(seed)
		offsets, err := checkpoint.ReadOffsets(left, "/a/"+checkpoint.HighWatermarkFile)
		if err != nil {
			t.Fatal(err)
		}
		if hw, end := offsets[p.ID()], p.LogEndOffset(); hw > end || p.HighWatermark() > end {
			t.Errorf("seed %d: the checkpoint says %d and the partition %d of a log that ends at %d", seed, hw, p.HighWatermark(), end)
		}
		cut.close()
	}
	if shorter == 0 {
		t.Error("no cut took a record: the test shows nothing")
	}
}
