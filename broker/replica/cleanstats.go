package replica

import (
	"math"
	"sync/atomic"
	"time"

	"tidemark/commitlog"
)

// CleanerStats is how compaction stands (Kafka's metrics of LogCleaner and
// LogCleanerManager).
type CleanerStats struct {
	// MaxDirtyRatio is the dirty part of the dirtiest log that was looked at.
	MaxDirtyRatio float64
	// SinceLastRun is the time since a thread looked for a log to clean.
	SinceLastRun time.Duration
	// Of the last round of each thread, the largest: MaxFill is the part of the
	// memory for keys in use, MaxSeconds what it took, MaxOverdueSeconds for how
	// long it was due by max.compaction.lag.ms.
	MaxFill, MaxSeconds, MaxOverdueSeconds float64
	// Recopied is the part of what was read that was written again, over the last
	// round of each thread.
	Recopied float64
	// Dirs are the log directories, in the order of Options.Dirs.
	Dirs []CleanerDirStats
}

// CleanerDirStats is one log directory's part.
type CleanerDirStats struct {
	Dir string
	// Uncleanable is how many partitions raised an error, UncleanableBytes what
	// they have to clean.
	Uncleanable, UncleanableBytes int64
}

func (t *cleanerThread) note(found commitlog.Cleanable, r commitlog.CleanReport, took time.Duration) {
	put := func(a *atomic.Uint64, v float64) { a.Store(math.Float64bits(v)) }
	put(&t.fill, r.MapFill)
	put(&t.recopied, float64(r.BytesKept)/float64(max(r.BytesRead, 1)))
	put(&t.seconds, took.Seconds())
	put(&t.overdueSeconds, float64(found.OverdueMs)/1000)
}

// CleanerStats returns the present numbers.
func (m *Manager) CleanerStats() CleanerStats {
	c := m.cleaning
	if c == nil {
		return CleanerStats{}
	}
	var s CleanerStats
	for _, t := range c.threads {
		get := func(a *atomic.Uint64) float64 { return math.Float64frombits(a.Load()) }
		s.MaxFill = max(s.MaxFill, get(&t.fill))
		s.MaxSeconds = max(s.MaxSeconds, get(&t.seconds))
		s.MaxOverdueSeconds = max(s.MaxOverdueSeconds, get(&t.overdueSeconds))
		s.Recopied += get(&t.recopied) / float64(len(c.threads))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.MaxDirtyRatio, s.SinceLastRun = c.dirtiest, m.o.Clock.Now().Sub(c.lastRun)
	for _, d := range m.dirs {
		dir := CleanerDirStats{Dir: d.path}
		for log, p := range c.uncleanable {
			if p.dir != d {
				continue
			}
			dir.Uncleanable++
			if x, err := log.Cleanable(p.LastStableOffset()); err == nil { // Else it is closed.
				dir.UncleanableBytes += x.DirtyBytes
			}
		}
		s.Dirs = append(s.Dirs, dir)
	}
	return s
}
