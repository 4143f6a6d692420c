package replica

import "sync/atomic"

// A topic that acknowledges synced records (TopicConfig.SyncedAcks) never makes an
// append wait: the append asks for a sync, and whoever waits for the records parks
// until the sync has moved what counts. Appends that come while one sync runs share
// the next.

// flusher says whether a sync of one partition runs and whether another is wanted.
type flusher struct {
	state atomic.Int32
}

// The states of a flusher.
const (
	flushIdle int32 = iota
	flushing
	flushingMoreWanted
)

// want reports whether the caller is to start the goroutine that syncs.
func (f *flusher) want() bool {
	for {
		switch s := f.state.Load(); s {
		case flushIdle:
			if f.state.CompareAndSwap(flushIdle, flushing) {
				return true
			}
		default:
			if f.state.CompareAndSwap(s, flushingMoreWanted) {
				return false
			}
		}
	}
}

// more reports whether the goroutine is to sync again.
func (f *flusher) more() bool {
	if f.state.CompareAndSwap(flushing, flushIdle) {
		return false
	}
	f.state.Store(flushing)
	return true
}

// flushSoon syncs the log in the background.
func (p *Partition) flushSoon() {
	if p.flush.want() {
		p.background.Go(p.runFlush)
	}
}

func (p *Partition) runFlush() {
	for again := true; again; again = p.flush.more() {
		if err := p.log.Flush(); err != nil {
			_ = p.failed("flush", err) // the log dir is offline now, or the log closed: both are told to who waits
		}
		p.mu.RLock()
		p.advance(p.lead.Load())
		p.mu.RUnlock()
		p.Changed.Wake()
	}
}

// counted is the end of what this replica counts as written: synced records where
// the topic acknowledges only those, else everything appended.
func (p *Partition) counted() int64 {
	if p.Topic.Config().SyncedAcks {
		return p.log.RecoveryPoint()
	}
	return p.log.LogEndOffset()
}

// Acknowledged reports whether a producer may be told that the batch which ends at
// last is written: with AckAll once the high watermark has passed it, else once
// this replica counts it.
func (p *Partition) Acknowledged(last int64, acks int16) bool {
	if acks == AckAll {
		return p.hw.Load() > last
	}
	return p.counted() > last
}
