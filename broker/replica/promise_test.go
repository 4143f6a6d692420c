package replica

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"tidemark/commitlog"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// TestAcknowledgedIsSynced cuts the power at every call that appends under
// flush=batch and flush=group make on the file system, rolls included, and after
// every acknowledgement: the log must hold what producers may have been told. So
// the sync that covers a record comes before its acknowledgement, and the name of
// a new segment is durable before the first record in it counts.
func TestAcknowledgedIsSynced(t *testing.T) {
	for name, flush := range flushPolicies {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewMem()
			if err := errors.Join(mem.MkdirAll("/data"), mem.SyncDir("/")); err != nil {
				t.Fatal(err)
			}
			faulty := vfs.NewFaulty(mem)
			h := newHost(t, faulty, "/data")
			h.set("t", func(c *TopicConfig) { c.Flush, c.Log.SegmentBytes = flush, 500 })
			h.open()
			h.lead("t", 1, 2)
			parts := []*Partition{h.Partition("t", 0), h.Partition("t", 1)}
			var cuts, promised atomic.Int64
			options, err := h.Manager.logOptions(h.config("t"))
			if err != nil {
				t.Fatal(err)
			}
			check := func(p *Partition) {
				least := p.ackedLeader.Load() // Before the clone: what it says must be in it.
				left := mem.CrashClone(0)
				l, err := commitlog.Open(left, filepath.Join("/data", p.ID().String()), options, commitlog.OpenState{}, clock.NewManual(testNow))
				if err != nil {
					t.Error(err)
					return
				}
				if end := l.LogEndOffset(); end < least {
					t.Errorf("%s: %d was acknowledged, a power cut leaves %d", p.ID(), least, end)
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
				cuts.Add(1)
				promised.Add(least)
			}
			faulty.OnCall(func(op vfs.Op, _ string) error {
				if op == vfs.OpSync || op == vfs.OpSyncDir || op == vfs.OpCreate || op == vfs.OpRename {
					check(parts[0])
					check(parts[1])
				}
				return nil
			})
			var wg sync.WaitGroup
			for range 3 {
				for _, p := range parts {
					wg.Go(func() {
						for range 15 {
							info, _, err := p.Append(testBatch("a", "b"), 1, commitlog.Client)
							if err != nil {
								t.Error(err)
								return
							}
							acknowledged(p, info.LastOffset)
							check(p)
						}
					})
				}
			}
			wg.Wait()
			faulty.Clear()
			h.close()
			if cuts.Load() < 200 || promised.Load() == 0 {
				t.Errorf("%d cuts, %d records acknowledged at them: want more", cuts.Load(), promised.Load())
			}
		})
	}
}
