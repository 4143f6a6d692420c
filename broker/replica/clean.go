package replica

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
)

// CleanerOptions configure the threads that compact logs (Kafka's LogCleaner).
type CleanerOptions struct {
	// Threads is how many logs are cleaned at one time; 0 cleans none.
	Threads int
	// DedupeBytes and BufferBytes are the memory of all threads for keys and for
	// reading and writing; Load is the part of the former that is filled.
	DedupeBytes int64
	Load        float64
	BufferBytes int
	// BytesPerSecond bounds what all threads read and write.
	BytesPerSecond float64
	// Backoff is how long a thread sleeps when no log is due.
	Backoff time.Duration
}

// cleaning is the compaction of this broker's logs: which one is next, which are
// under way, and which cannot be cleaned (Kafka's LogCleanerManager). It is safe
// for concurrent use.
type cleaning struct {
	m        *Manager
	throttle throttle
	threads  []*cleanerThread
	stopping chan struct{}

	mu sync.Mutex // guards what follows
	// busy are the logs under way, uncleanable those that raised an error; they
	// are tried again by the next process.
	busy, uncleanable map[*commitlog.Log]*Partition
	lastRun           time.Time
	dirtiest          float64
}

// cleanerThread cleans one log after another. Its numbers are of the last round.
type cleanerThread struct {
	*cleaning
	cleaner *commitlog.Cleaner
	task    *task

	fill, recopied, seconds, overdueSeconds atomic.Uint64 // as math.Float64bits
}

// startCleaners begins to compact logs. Open calls it once.
func (m *Manager) startCleaners() {
	o := m.o.Cleaner
	c := &cleaning{m: m, stopping: make(chan struct{}), busy: map[*commitlog.Log]*Partition{}, uncleanable: map[*commitlog.Log]*Partition{}, lastRun: m.o.Clock.Now()}
	c.throttle = throttle{clock: m.o.Clock, bytesPerSecond: o.BytesPerSecond}
	m.cleaning = c
	for range o.Threads {
		t := &cleanerThread{cleaning: c}
		t.cleaner = commitlog.NewCleaner(commitlog.CleanerOptions{
			MapBytes: o.DedupeBytes / int64(o.Threads), MapLoad: o.Load,
			BufferBytes: max(o.BufferBytes/o.Threads/2, minCleanerBuffer), Pause: c.pause,
		})
		t.task = &task{clock: m.o.Clock, interval: o.Backoff, run: t.cleanAll}
		c.threads = append(c.threads, t)
		t.task.start()
	}
}

// minCleanerBuffer keeps reads and writes from getting small with many threads.
const minCleanerBuffer = 4096

// stopCleaners returns once no log is being cleaned; it may be called again.
func (m *Manager) stopCleaners() {
	c := m.cleaning
	if c == nil {
		return
	}
	c.mu.Lock()
	select {
	case <-c.stopping:
	default:
		close(c.stopping)
	}
	c.mu.Unlock()
	for _, t := range c.threads {
		t.task.stop()
	}
}

// pause holds up a round as log.cleaner.io.max.bytes.per.second asks.
func (c *cleaning) pause(bytes int, closed <-chan struct{}) error {
	if c.throttle.wait(bytes, closed, c.stopping) {
		return nil
	}
	return commitlog.ErrCleaningAborted
}

// cleanAll cleans logs until none is due.
func (t *cleanerThread) cleanAll() {
	for t.cleanOne() {
		select {
		case <-t.stopping:
			return
		default:
		}
	}
}

// cleanOne cleans the log that needs it most; false where none is due, or where
// trying again at once would not help.
func (t *cleanerThread) cleanOne() bool {
	p, found := t.grab()
	if p == nil {
		return false
	}
	defer t.release(p)
	started := t.m.o.Clock.Now()
	report, err := t.cleaner.Clean(p.log, p.LastStableOffset())
	switch {
	case err == nil:
		p.dir.checkpointCleaned()
		t.note(found, report, t.m.o.Clock.Now().Sub(started))
		t.m.o.Logger.Info("log was compacted", "partition", p.ID().String(), "from", report.FirstDirty, "to", report.CleanedTo,
			"read", report.BytesRead, "kept", report.BytesKept, "segments", report.SegmentsBefore, "became", report.SegmentsAfter)
		if report.Keyless > 0 {
			t.m.o.Logger.Warn("records without a key were dropped by compaction", "partition", p.ID().String(), "records", report.Keyless)
		}
		return report.CleanedTo > report.FirstDirty
	case errors.Is(err, commitlog.ErrCleaningAborted):
		return true
	}
	t.failed(p, err)
	return !vfs.IsFull(err)
}

// failed deals with a round that ended in an error: a full disk may be freed, what
// cannot be read stays unreadable, and a log that gave up takes its directory
// along.
func (t *cleanerThread) failed(p *Partition, err error) {
	if !vfs.IsFull(err) {
		t.mu.Lock()
		t.uncleanable[p.log] = p
		t.mu.Unlock()
	}
	if errors.Is(err, commitlog.ErrFailed) || vfs.IsFull(err) {
		_ = p.failed("compact", err) // Tells the log directory; nobody waits for an answer.
		return
	}
	if damaged(err) {
		p.foundDamage(err)
	}
	t.m.o.Logger.Error("log cannot be compacted and is left as it is until the next start", "partition", p.ID().String(), "error", err)
}

// grab finds the dirtiest log that is due and marks it busy.
func (c *cleaning) grab() (*Partition, commitlog.Cleanable) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best *Partition
	var found commitlog.Cleanable
	c.lastRun, c.dirtiest = c.m.o.Clock.Now(), 0
	maps.DeleteFunc(c.uncleanable, func(_ *commitlog.Log, p *Partition) bool { return p.lead.Load().stopped })
	for _, p := range c.m.partitions() {
		if !p.Topic.Config().Log.Compacted || p.offline() || c.busy[p.log] != nil || c.uncleanable[p.log] != nil {
			continue
		}
		x, err := p.log.Cleanable(p.LastStableOffset())
		if err != nil {
			if !refusal(err) {
				c.m.backgroundFailed("look for dirty segments", p, err)
			}
			continue
		}
		c.dirtiest = max(c.dirtiest, x.Ratio())
		if x.Due(p.Topic.Config().Log.Compaction) && (best == nil || x.Ratio() > found.Ratio()) {
			best, found = p, x
		}
	}
	if best != nil {
		c.busy[best.log] = best
	}
	return best, found
}

func (c *cleaning) release(p *Partition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.busy, p.log)
}

// cleanedTo is the first dirty offset of the partition, -1 where nothing was
// cleaned: the checkpoint leaves it out.
func (p *Partition) cleanedTo() int64 {
	if first := p.log.FirstDirty(); first > p.log.LogStartOffset() {
		return first
	}
	return -1
}

// checkpointCleaned writes the first dirty offsets.
func (d *logDir) checkpointCleaned() {
	d.checkpoint(checkpoint.CleanerFile, d.cleaned, (*Partition).cleanedTo)
}
