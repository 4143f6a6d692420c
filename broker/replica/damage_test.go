package replica

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
)

// TestDamageIsTold: a log that lost more than a torn tail does not come up in
// silence, and other partitions are served as ever.
func TestDamageIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(log []byte) []byte
		want string
	}{
		"a bit in the middle":  {func(b []byte) []byte { b[80] ^= 4; return b }, "level=ERROR msg=\"log was corrupt and was cut; acknowledged records may be lost\" log=/a/t-0"},
		"less than was synced": {func(b []byte) []byte { return b[:len(b)-5] }, "level=ERROR msg=\"log ends before what had been synced; acknowledged records are lost\" log=/a/t-0"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			h := newHost(t, fs, "/a")
			h.open()
			h.lead("t", 1, 2)
			for range 5 {
				h.append("t", 0, "x")
				h.append("t", 1, "x")
			}
			h.close()
			file := "/a/t-0/" + commitlog.FileName(0, commitlog.LogSuffix)
			data, err := vfs.ReadFile(fs, file)
			if err != nil {
				t.Fatal(err)
			}
			if err := vfs.WriteFileAtomic(fs, file, c.harm(data)); err != nil {
				t.Fatal(err)
			}
			if err := fs.Remove("/a/" + checkpoint.CleanShutdownFile); err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			h.o.Logger = slog.New(slog.NewTextHandler(&text, nil))
			h.Manager = New(h.o)
			if err := h.Open(context.Background()); err != nil {
				t.Fatal(err)
			}
			defer h.close()
			if !strings.Contains(text.String(), c.want) {
				t.Errorf("the start said\n%s\nwant %s", text.String(), c.want)
			}
			h.lead("t", 1, 2)
			if got := h.Partition("t", 1).LogEndOffset(); got != 5 {
				t.Errorf("the partition beside it ends at %d, want 5", got)
			}
			if got := h.Partition("t", 0); got.HighWatermark() != got.LogEndOffset() || got.LogEndOffset() >= 5 {
				t.Errorf("the damaged one ends at %d with high watermark %d", got.LogEndOffset(), got.HighWatermark())
			}
		})
	}
}

// TestHighWatermarkCheckpoint: the high watermark a replica begins with is the
// checkpoint's within the log; without a checkpoint it is the log start offset, not
// the end.
func TestHighWatermarkCheckpoint(t *testing.T) {
	const file = "/a/" + checkpoint.HighWatermarkFile
	id := ID{Topic: "t"}
	for name, c := range map[string]struct {
		checkpoint map[ID]int64 // nil: garbage
		remove     bool
		want       int64
	}{
		"right":               {map[ID]int64{id: 4}, false, 4},
		"ahead of the log":    {map[ID]int64{id: 1 << 40}, false, 5},
		"of an older run":     {map[ID]int64{id: 3}, false, 3},
		"before the log":      {map[ID]int64{id: 1}, false, 2},
		"without it":          {map[ID]int64{}, false, 2},
		"missing":             {nil, true, 2},
		"garbage":             {nil, false, 2},
		"of other partitions": {map[ID]int64{{Topic: "u"}: 4}, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			h := newHost(t, fs, "/a")
			h.open()
			h.lead("t", 1, 1)
			for range 5 {
				h.append("t", 0, "x")
			}
			if _, err := h.Partition("t", 0).DeleteRecords(2); err != nil {
				t.Fatal(err)
			}
			h.close()
			var err error
			switch {
			case c.remove:
				err = fs.Remove(file)
			case c.checkpoint == nil:
				write(t, fs, file, "\x00garbage\n")
			default:
				err = checkpoint.WriteOffsets(fs, file, c.checkpoint)
			}
			if err != nil {
				t.Fatal(err)
			}
			h.open()
			defer h.close()
			// Not alone in sync, so that the commit rule raises nothing.
			s := State{Topic: "t", TopicID: [16]byte{1}, Leader: 1, Replicas: []int32{1, 2}, ISR: Members(1, 2)}
			if err := h.Apply([]State{s}).Err(); err != nil {
				t.Fatal(err)
			}
			if got := h.Partition("t", 0).HighWatermark(); got != c.want {
				t.Errorf("high watermark %d, want %d", got, c.want)
			}
		})
	}
}
