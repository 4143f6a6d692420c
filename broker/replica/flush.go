package replica

import (
	"sync"
	"sync/atomic"

	"tidemark/commitlog"
	"tidemark/internal/vfs"
)

// A topic that acknowledges synced records (TopicConfig.Flush) never makes an
// append wait: the append asks for a sync, and whoever waits for the records parks
// until a sync has moved what counts.
//
// Under FlushGroup the device's flusher gives each log with unsynced appends a
// turn, and one sync counts for all that was appended before it began. Under
// FlushBatch a goroutine of the partition makes one sync for each batch, in order,
// and each counts for its own batch alone, also where the disk has more by then:
// what it costs to do without group commit is what it is there to show.

// flusher is the part of a partition that syncs its log.
type flusher struct {
	group *commitlog.Turn
	// tell is the turn that answers what group has synced, where that would
	// hold up the next sync.
	tell *commitlog.Turn
	own  ownSyncs
	// synced is the end of the last batch that had a sync of its own.
	synced atomic.Int64
	// again says that a sync found no room, so that Manager.retrySyncs asks for
	// another: nobody else might.
	again atomic.Bool
}

// count notes that what ends at end had its sync. Ends are in order but for those
// of appends at the same time and of retries.
func (f *flusher) count(end int64) {
	raise(&f.synced, end)
}

// maxOwnSyncs bounds the batches that wait for a sync of their own; further ones
// share the last. Only acks=0 gets there, as everyone else waits for an answer.
const maxOwnSyncs = 4096

// ownSyncs is the queue of FlushBatch.
type ownSyncs struct {
	mu      sync.Mutex
	running bool
	// ends are the ends of the batches that wait, ascending, from first on.
	ends  []int64
	first int
}

// add queues a sync for what ends at end and reports whether the caller is to
// start the goroutine.
func (q *ownSyncs) add(end int64) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.ends)-q.first == maxOwnSyncs:
		q.ends[len(q.ends)-1] = end
	case len(q.ends) == cap(q.ends) && q.first > 0:
		q.ends = q.ends[:copy(q.ends, q.ends[q.first:])]
		q.first = 0
		fallthrough
	default:
		q.ends = append(q.ends, end)
	}
	start = !q.running
	q.running = true
	return start
}

// next is the next one due; without one, the goroutine ends.
func (q *ownSyncs) next() (end int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.first == len(q.ends) {
		q.ends, q.first, q.running = q.ends[:0], 0, false
		return 0, false
	}
	end = q.ends[q.first]
	q.first++
	return end, true
}

// flushSoon has the log synced up to end in the background.
func (p *Partition) flushSoon(end int64) {
	switch p.Topic.Config().Flush {
	case FlushGroup:
		addProcessors()
		p.flush.group.Ask()
	case FlushBatch:
		addProcessors()
		if p.flush.own.add(end) {
			p.background.Go(p.syncBatches)
		}
	}
}

// flushTail has synced what is not yet.
func (p *Partition) flushTail() {
	end := p.log.LogEndOffset()
	if p.log.RecoveryPoint() >= end {
		p.flush.count(end)
		return
	}
	p.flushSoon(end)
}

// syncGroup is the partition's turn of the device's flusher.
func (p *Partition) syncGroup() {
	var err error
	if !p.dir.offline.Load() {
		err = p.log.Flush()
	}
	if err == nil && p.flush.group.Next() {
		// The next sync has its batches already, and no other log's sync would
		// overlap with the answers.
		p.flush.tell.Ask()
		return
	}
	p.synced(err)
}

// syncBatches is the goroutine of FlushBatch.
func (p *Partition) syncBatches() {
	for {
		end, ok := p.flush.own.next()
		if !ok {
			return
		}
		var err error
		if !p.dir.offline.Load() {
			if err = p.log.Sync(); err == nil {
				p.flush.count(end)
			}
		}
		p.synced(err)
	}
}

// synced lets those who waited for a sync look again; its error has been told to
// the log directory, or says that the log was closed, and they ask for both.
func (p *Partition) synced(err error) {
	if err != nil {
		_ = p.failed("flush", err)
		p.flush.again.Store(vfs.IsFull(err))
	}
	p.stepping.Lock()
	if p.traced != nil {
		p.traced.synced(err)
	}
	p.tellSynced()
	p.unlock()
	p.Changed.Wake()
}

// retrySyncs asks once more for the syncs that found no room.
func (m *Manager) retrySyncs() {
	for _, p := range m.partitions() {
		if p.flush.again.Swap(false) {
			p.flushTail()
		}
	}
}
