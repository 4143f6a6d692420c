package commitlog

import (
	"errors"
	"fmt"

	"tidemark/commitlog/cleaner"
	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// CleanerOptions configure a Cleaner.
type CleanerOptions struct {
	// MapBytes is the memory for keys and MapLoad the part of it that is filled
	// (log.cleaner.dedupe.buffer.size over the threads,
	// log.cleaner.io.buffer.load.factor).
	MapBytes int64
	MapLoad  float64
	// BufferBytes is the size of the two I/O buffers
	// (log.cleaner.io.buffer.size over the threads); a batch that is larger has
	// them grow to its size for the round.
	BufferBytes int
	// Pause is called with the number of bytes to be read or written next, and
	// returns when that is in order, or once closed is closed with the log; an
	// error ends the round with it. nil never waits.
	Pause func(bytes int, closed <-chan struct{}) error
}

// Cleaner is what a thread needs to clean one log after another: the memory for
// keys and the I/O buffers (Kafka's Cleaner). It is confined to one goroutine.
type Cleaner struct {
	o       CleanerOptions
	offsets *cleaner.OffsetMap
	in, out []byte
}

// NewCleaner returns a Cleaner; its memory is allocated when a log needs it.
func NewCleaner(o CleanerOptions) *Cleaner {
	invariant.Check(o.BufferBytes >= record.HeaderSize, "I/O buffers of %d bytes", o.BufferBytes)
	return &Cleaner{o: o, offsets: cleaner.NewOffsetMap(o.MapBytes, o.MapLoad)}
}

// CleanReport is what a round did.
type CleanReport struct {
	Cleanable
	// CleanedTo is the new first dirty offset; less than End where the memory
	// for keys was full before.
	CleanedTo int64
	// Stats count what the second pass saw and kept.
	cleaner.Stats
	// SegmentsBefore and SegmentsAfter count the segments replaced and those
	// that took their place.
	SegmentsBefore, SegmentsAfter int
	// Keys is how many keys the dirty section has, MapFill the part of the
	// memory for keys that they took.
	Keys    int
	MapFill float64
}

// Clean cleans l up to boundOffset, as Cleanable would report it: of each key only
// the record with the greatest offset stays (package cleaner). Offsets, sequences
// and leader epochs stay; the first dirty offset moves on. Segments are replaced
// one group at a time, oldest first, each durably and so that a crash leaves the
// old ones or the new one. Reads and appends go on meanwhile.
//
// ErrCleaningAborted is no failure. A *CorruptError, and errors of package record,
// say that the log cannot be cleaned: it is as it was. A full disk leaves it as
// it was, too. After any other error of writing, the log is failed.
func (c *Cleaner) Clean(l *Log, boundOffset int64) (CleanReport, error) {
	l.cleaning.Lock()
	defer l.cleaning.Unlock()
	r, err := c.begin(l, boundOffset)
	if err == nil {
		err = r.run()
	}
	if errors.Is(err, errSegmentGone) || errors.Is(err, ErrClosed) {
		err = ErrCleaningAborted
	}
	if cap(c.in) > c.o.BufferBytes {
		c.in = nil
	}
	if cap(c.out) > 2*c.o.BufferBytes {
		c.out = nil
	}
	if err != nil {
		return r.report, fmt.Errorf("clean %s: %w", l.dir, err)
	}
	return r.report, nil
}

// round is one round of cleaning.
type round struct {
	*Cleaner
	log         *Log
	options     *Options
	nowMs       int64
	truncations int
	// segments are those that the round covers.
	segments []*segment
	// view is the log as it was when the round began.
	view         view
	transactions cleaner.Transactions
	filter       cleaner.Filter
	report       CleanReport
}

// begin seals what was rolled and decides what the round covers.
func (c *Cleaner) begin(l *Log, bound int64) (*round, error) {
	r := &round{Cleaner: c, log: l, options: l.options.Load(), nowMs: l.clock.Now().UnixMilli()}
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	if err := l.sealAll(); err != nil {
		return r, err
	}
	l.mu.Lock()
	part, err := l.sealed(bound)
	r.view, r.truncations = l.view, l.truncations
	producers := l.producers.Entries()
	l.mu.Unlock()
	if err != nil {
		return r, err
	}
	r.segments, r.report.Cleanable, err = part.cleanable(r.options.Compaction, r.nowMs)
	r.report.CleanedTo = r.report.FirstDirty
	r.filter = cleaner.Filter{
		Map: c.offsets, Transactions: &r.transactions, Producers: map[int64]cleaner.Last{},
		NowMs: r.nowMs, DeleteRetentionMs: r.options.Compaction.DeleteRetentionMs, Limits: r.limits(),
	}
	for _, e := range producers {
		r.filter.Producers[e.ProducerID] = cleaner.Last{Offset: e.LastOffset, Epoch: e.Epoch}
	}
	return r, err
}

// limits are those of reading what was let in: a limit lowered since must not
// make a log uncleanable.
func (r *round) limits() record.Limits {
	return record.Limits{DecompressedBytes: max(r.options.DecompressedLimit, record.DefaultDecompressedBytes)}
}

func (r *round) run() error {
	if r.report.End <= r.report.FirstDirty {
		return nil
	}
	if err := r.findTransactions(); err != nil {
		return err
	}
	if err := r.fillMap(); err != nil {
		return err
	}
	end := r.offsets.Latest() + 1
	n := 0
	for n < len(r.segments) && r.segments[n].base < end {
		n++
	}
	groups, err := r.group(r.segments[:n])
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := r.cleanGroup(g); err != nil {
			return err
		}
	}
	r.report.Stats = r.filter.Stats
	return r.finish(end)
}

// finish moves the first dirty offset.
func (r *round) finish(end int64) error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if r.log.truncations != r.truncations {
		return ErrCleaningAborted
	}
	r.log.firstDirty.Store(end)
	r.report.CleanedTo = end
	return nil
}

// findTransactions notes what was aborted, by the headers of the log up to where
// the last transaction ends that has data in the round.
func (r *round) findTransactions() error {
	for i := 0; i < len(r.view.segments); i++ {
		if i >= len(r.segments) && !r.transactions.Undecided(r.report.End) {
			return nil
		}
		err := r.view.eachHeader(i, r.view.start, func(s *segment, h header) error {
			if !h.IsControl() {
				r.transactions.Data(h.Batch)
				return nil
			}
			b, err := s.readBatch(h.position, h.size)
			if err != nil {
				return err
			}
			if kind, _, ok := endMarker(b); ok {
				r.transactions.Marker(b.ProducerID(), b.LastOffset(), kind)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fillMap puts the keys of the dirty section into the map, as many as have room.
func (r *round) fillMap() error {
	from := r.report.FirstDirty
	r.offsets.Reset(from, r.report.End-from)
	x := cleaner.Indexer{Map: r.offsets, From: from, Transactions: &r.transactions, Limits: r.limits()}
	full := false
	for i := r.view.floor(from); i < len(r.segments) && !full; i++ {
		position, err := r.view.positionIn(i, from)
		if err != nil {
			return err
		}
		err = r.eachBatch(r.segments[i], position, func(b stored) error {
			var err error
			if full, err = x.Add(b.Batch); err != nil {
				return b.corrupt(err)
			}
			if full {
				return errFound
			}
			return nil
		})
		if err != nil && err != errFound {
			return err
		}
		if !full {
			r.offsets.Advance(r.view.nextOf(i) - 1)
		}
	}
	r.report.Keys, r.report.MapFill = r.offsets.Len(), r.offsets.Fill()
	return nil
}

// goOn asks whether to read or write so many bytes now.
func (r *round) goOn(bytes int) error {
	select {
	case <-r.log.closing:
		return ErrClosed
	default:
	}
	if err := r.log.Err(); err != nil || r.o.Pause == nil {
		return err
	}
	return r.o.Pause(bytes, r.log.closing)
}

// writeFailed fails the log, but for a full disk: what a sync has once refused
// must not be believed the next time. Files of a log that was closed meanwhile may
// be gone.
func (r *round) writeFailed(err error) error {
	r.log.mu.Lock()
	closed := r.log.closed
	r.log.mu.Unlock()
	switch {
	case closed:
		return ErrCleaningAborted
	case vfs.IsFull(err):
		return err
	}
	return r.log.fail(err)
}
