package replica

import (
	"testing"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

// TestCleanEpochOfWhatIsThere: a marker of a clean shutdown is not believed where a log
// lost something after it, so that nobody is elected for records that are gone.
func TestCleanEpochOfWhatIsThere(t *testing.T) {
	for name, c := range map[string]struct {
		lose func(vfs.FS) error
		want int64
	}{
		"nothing is lost":   {func(vfs.FS) error { return nil }, 7},
		"a log is gone":     {func(fs vfs.FS) error { return fs.RemoveAll("/a/t-0") }, replication.NoBrokerEpoch},
		"a segment is gone": {func(fs vfs.FS) error { return fs.Remove("/a/t-0/00000000000000000000.log") }, replication.NoBrokerEpoch},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			h := newHost(t, fs, "/a")
			h.open()
			state := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, LeaderEpoch: 4, Replicas: []int32{1}, ISR: Members(1)}
			if err := h.Apply([]State{state}).Err(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := h.Partition("t", 0).Append(testBatch("a"), 1, commitlog.Client); err != nil {
				t.Fatal(err)
			}
			if err := h.Manager.Close(7); err != nil {
				t.Fatal(err)
			}
			if err := c.lose(fs); err != nil {
				t.Fatal(err)
			}
			h.open()
			defer h.close()
			if got := h.CleanEpoch(); got != c.want {
				t.Errorf("clean epoch %d, want %d", got, c.want)
			}
		})
	}
}
