package commitlog

import (
	"fmt"

	"tidemark/internal/invariant"
	"tidemark/internal/planted"
	"tidemark/protocol/record"
)

// AppendAsFollower appends the whole batches at the start of batches as they
// are, with the leader's offsets and epochs; a batch cut off at the end is left
// out. Checksums are verified. A gap before a batch is allowed, compaction on
// the leader makes them; a batch that starts before the log end offset is
// ErrUnexpectedOffset. On an error after some batches, those stay appended. The
// result describes what was appended; its LogAppendTimeMs is -1.
func (l *Log) AppendAsFollower(batches []byte) (AppendInfo, error) {
	whole, err := checkBatches(batches)
	if err != nil {
		return AppendInfo{}, err
	}
	l.relieve()
	o := l.options.Load()
	l.mu.Lock()
	info, err := l.appendFollower(o, whole)
	return info, l.endAppend(o, err)
}

// checkBatches returns the whole batches at the start of buf, at least one.
func checkBatches(buf []byte) ([]byte, error) {
	rest := buf
	for {
		b, next, err := record.Parse(rest)
		if err == record.ErrShort && len(rest) < len(buf) {
			return buf[:len(buf)-len(rest)], nil
		}
		if err == nil {
			err = b.CheckCRC()
		}
		if err != nil {
			return nil, fmt.Errorf("batch at byte %d of a fetch: %w", len(buf)-len(rest), err)
		}
		rest = next
	}
}

// appendFollower appends checked batches, as many at a time as one segment
// takes; mu is held.
func (l *Log) appendFollower(o *Options, batches []byte) (AppendInfo, error) {
	info := AppendInfo{BaseOffset: -1, LastOffset: -1, LogAppendTimeMs: -1, LogStartOffset: l.view.start}
	if err := l.usable(); err != nil {
		return info, err
	}
	nowMs := l.clock.Now().UnixMilli()
	for len(batches) > 0 {
		first, rest, err := record.Parse(batches)
		invariant.Check(err == nil, "checked batch does not parse: %v", err)
		if err := expect(first, l.view.end); err != nil {
			return info, err
		}
		rolled, err := l.rollFor(o, first, nowMs)
		if err != nil {
			return info, err
		}
		info.Rolled = info.Rolled || rolled
		n, err := l.take(o, first, rest)
		if err != nil {
			return info, err
		}
		if err := l.write(batches[:n], nowMs); err != nil {
			return info, err
		}
		if planted.Is(planted.DedupNotRebuilt) {
			l.producers.Load(nil)
		}
		if info.BaseOffset < 0 {
			info.BaseOffset = first.BaseOffset()
		}
		info.LastOffset, info.Bytes = l.view.end-1, info.Bytes+int64(n)
		batches = batches[n:]
	}
	return info, nil
}

func expect(b record.Batch, next int64) error {
	if b.BaseOffset() < next || b.LastOffsetDelta() < 0 {
		return fmt.Errorf("offsets %d to %d after %d: %w", b.BaseOffset(), b.LastOffset(), next-1, ErrUnexpectedOffset)
	}
	return nil
}

// take notes the leader epochs of first and of the batches after it that fit
// into the active segment, and returns how many bytes they are.
func (l *Log) take(o *Options, first record.Batch, rest []byte) (n int, err error) {
	b, size := first, l.view.position
	for {
		if err := l.assignEpoch(b.LeaderEpoch(), b.BaseOffset()); err != nil {
			return 0, err
		}
		n += b.Size()
		size += int64(b.Size())
		if len(rest) == 0 {
			return n, nil
		}
		next, after, err := record.Parse(rest)
		invariant.Check(err == nil, "checked batch does not parse: %v", err)
		if err := expect(next, b.NextOffset()); err != nil {
			return 0, err
		}
		if size+int64(next.Size()) > o.SegmentBytes || next.LastOffset()-l.view.active().base > maxRelativeOffset {
			return n, nil
		}
		b, rest = next, after
	}
}
