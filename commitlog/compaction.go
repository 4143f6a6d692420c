package commitlog

import (
	"errors"
	"fmt"
	"math"

	"tidemark/commitlog/index"
	"tidemark/protocol/record"
)

// Compaction is when and how far a compacted log is cleaned; it counts where
// Options.Compacted is set. Fields named after Kafka's topic configs mean what
// those mean.
type Compaction struct {
	// DeleteRetentionMs (delete.retention.ms) is how long tombstones and markers
	// of emptied transactions stay after the first round that saw them.
	DeleteRetentionMs int64
	// MinLagMs (min.compaction.lag.ms) is how old the newest record of a segment
	// is at least before the segment is cleaned.
	MinLagMs int64
	// MaxLagMs (max.compaction.lag.ms) is the age at which a record makes its
	// log due, however little else there is to clean.
	MaxLagMs int64
	// MinDirtyRatio (min.cleanable.dirty.ratio) is the part of a log that must
	// be dirty for the log to be due otherwise.
	MinDirtyRatio float64
}

// DefaultCompaction returns Kafka's defaults.
func DefaultCompaction() Compaction {
	return Compaction{DeleteRetentionMs: 24 * 3600 * 1000, MaxLagMs: math.MaxInt64, MinDirtyRatio: 0.5}
}

// mode is how deep a leader checks a batch. Of a compacted log it is always every
// record: a header does not show whether they have keys, and compaction would drop
// those that have none.
func (o *Options) mode() record.Mode {
	if o.Compacted {
		return record.Records
	}
	return o.Validation
}

// ErrCleaningAborted: a round of cleaning ended early because the log was
// truncated, cut at its start or closed meanwhile, or because it was asked to.
// What the round had finished stays, and the next one begins anew.
var ErrCleaningAborted = errors.New("cleaning was aborted")

// Cleanable is what a round could do for a log now (Kafka's LogToClean).
type Cleanable struct {
	// FirstDirty is the first offset not cleaned yet, End the first that a round
	// would leave alone.
	FirstDirty, End int64
	// CleanBytes and DirtyBytes are the sizes of the segments before FirstDirty,
	// and from there to End.
	CleanBytes, DirtyBytes int64
	// OverdueMs is for how long a dirty record has been older than
	// max.compaction.lag.ms, 0 where none is.
	OverdueMs int64
}

// Ratio is the dirty part of what a round would read.
func (c Cleanable) Ratio() float64 {
	if c.DirtyBytes == 0 {
		return 0
	}
	return float64(c.DirtyBytes) / float64(c.CleanBytes+c.DirtyBytes)
}

// Due says whether a round is worth its cost.
func (c Cleanable) Due(o Compaction) bool {
	return c.DirtyBytes > 0 && (c.OverdueMs > 0 || c.Ratio() > o.MinDirtyRatio)
}

// FirstDirty is the first offset that no round of cleaning has covered; it goes
// into the cleaner-offset checkpoint of the log directory, and comes back in
// through OpenState. A truncation lowers it: the caller then writes the
// checkpoint before it appends again, as with the recovery point.
func (l *Log) FirstDirty() int64 { return max(l.firstDirty.Load(), l.LogStartOffset()) }

// Cleanable says what a round would find. boundOffset is the first offset that
// may still change or vanish: the high watermark, or the last stable offset
// where that is lower. The active segment is never cleaned.
func (l *Log) Cleanable(boundOffset int64) (Cleanable, error) {
	l.mu.Lock()
	s, err := l.sealed(boundOffset)
	l.mu.Unlock()
	var c Cleanable
	if err == nil {
		_, c, err = s.cleanable(l.options.Load().Compaction, l.clock.Now().UnixMilli())
	}
	if errors.Is(err, errSegmentGone) {
		err = ErrClosed // Or removed meanwhile; the next look sees it.
	}
	if err != nil {
		return c, fmt.Errorf("find what to clean: %w", err)
	}
	return c, nil
}

// sealedPart is the part of a log that a round may cover, as it was at one instant.
type sealedPart struct {
	view view
	// count is how many segments of the view those are.
	count      int
	firstDirty int64
}

// sealed returns the part that no longer changes and lies before bound and the
// first open transaction; mu is held.
func (l *Log) sealed(bound int64) (sealedPart, error) {
	p := sealedPart{view: l.view, firstDirty: max(l.firstDirty.Load(), l.view.start)}
	bound = min(bound, l.producers.FirstOpen())
	for p.count < len(l.view.segments)-1-len(l.sealing) && l.view.nextOf(p.count) <= bound {
		p.count++
	}
	return p, l.usable()
}

// cleanable returns the segments that a round would clean, too. It reads from the
// disk: no lock is needed.
func (p *sealedPart) cleanable(o Compaction, nowMs int64) ([]*segment, Cleanable, error) {
	v, c := &p.view, Cleanable{FirstDirty: p.firstDirty, End: p.firstDirty}
	n := 0
	for ; n < p.count; n++ {
		s, next := v.segments[n], v.nextOf(n)
		if next <= c.FirstDirty {
			c.CleanBytes += s.size.Load()
			continue
		}
		newestMs, firstMs := int64(index.NoTimestamp), int64(index.NoTimestamp)
		if o.MinLagMs > 0 || o.MaxLagMs < math.MaxInt64 {
			var err error
			if newestMs, firstMs, err = s.ages(); err != nil {
				return nil, c, err
			}
		}
		if o.MinLagMs > 0 && newestMs > nowMs-o.MinLagMs {
			break
		}
		if firstMs >= 0 && firstMs < nowMs-o.MaxLagMs {
			c.OverdueMs = max(c.OverdueMs, nowMs-o.MaxLagMs-firstMs)
		}
		c.DirtyBytes += s.size.Load()
		c.End = next
	}
	return v.segments[:n], c, nil
}

// ages are the largest timestamp of a sealed segment, or where it has none the
// time its file was written, and the largest of its first batch.
func (s *segment) ages() (newestMs, firstMs int64, err error) {
	if err := s.acquire(); err != nil {
		return 0, 0, err
	}
	defer s.release()
	newest, _, err := s.times.Last()
	if err != nil {
		return 0, 0, err
	}
	newestMs, firstMs = newest.TimestampMs, index.NoTimestamp
	if newestMs < 0 {
		info, err := s.fs.Stat(s.name)
		if err != nil {
			return 0, 0, err
		}
		if !info.ModTime().IsZero() {
			newestMs = info.ModTime().UnixMilli()
		}
	}
	if s.size.Load() > 0 {
		r := s.headers(s.size.Load())
		defer r.close()
		h, err := r.read(0)
		if err != nil {
			return 0, 0, err
		}
		firstMs = h.MaxTimestamp()
	}
	return newestMs, firstMs, nil
}

// forgetClean notes a truncation to offset: what is appended there next is not
// clean, and a round that is under way has looked at what is gone. mu is held.
func (l *Log) forgetClean(offset int64) {
	l.truncations++
	l.firstDirty.Store(min(l.firstDirty.Load(), offset))
}
