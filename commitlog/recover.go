package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
)

// scanBlock is the most a recovery reads at a time.
const scanBlock = 1 << 20

// recover finds the end of the log, and cuts the log there where the former
// process did not close it.
func (l *Log) recover(s *OpenState) error {
	if len(l.view.segments) == 0 {
		return nil
	}
	first := l.firstUnsealed(s.RecoveryPoint)
	if s.CleanShutdown {
		ok, err := l.findEnd()
		if err != nil || ok {
			return err
		}
		l.notef("%s does not end as a clean shutdown leaves it: it is checked", l.view.active().name)
		first = len(l.view.segments) - 1
	}
	if err := l.scanFrom(first); err != nil {
		return err
	}
	l.report.DroppedSynced = l.view.end < s.RecoveryPoint
	return nil
}

// firstUnsealed is the first segment that an unclean stop may have left unfinished:
// the one with the recovery point, or the one that ends there, if it was synced while
// it was active, rolled, and not sealed any more. It may have reserved space behind
// its batches and lack index entries. The last step of sealing, the producer snapshot
// behind it, tells.
func (l *Log) firstUnsealed(recoveryPoint int64) int {
	first := l.view.floor(recoveryPoint)
	base := l.view.segments[first].base
	if first == 0 || base != recoveryPoint {
		return first
	}
	if _, err := l.fs.Stat(l.path(FileName(base, SnapshotSuffix))); err == nil {
		return first
	}
	return first - 1 // Also where nobody can tell.
}

// findEnd sets the log end offset from the last batches, which it finds by the
// index; ok is false where they do not end with the file.
func (l *Log) findEnd() (ok bool, err error) {
	s := l.view.active()
	if s.size.Load() == 0 {
		l.view.end = s.base
		return true, nil
	}
	var corrupt *CorruptError
	if err := s.acquire(); err != nil {
		if errors.As(err, &corrupt) {
			return false, nil // Rebuilding an index has met it.
		}
		return false, err
	}
	defer s.release()
	last, indexed, err := s.offsets.Last()
	if err != nil {
		return false, err
	}
	r := s.headers(s.size.Load())
	defer r.close()
	end := s.base
	for at := last.Position; at < s.size.Load(); {
		h, err := r.read(at)
		if errors.As(err, &corrupt) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if h.BaseOffset() < end || indexed && at == last.Position && h.LastOffset() != last.Offset {
			return false, nil
		}
		at, end = h.end(), h.NextOffset()
	}
	l.view.end = end
	return true, nil
}

// scanFrom checks every batch from segments[first] on, rebuilds the indexes,
// cuts the log at the first damage or hole and syncs what is left.
func (l *Log) scanFrom(first int) error {
	l.firstScanned = l.view.segments[first].base
	largest := int64(record.HeaderSize)
	for _, s := range l.view.segments[first:] {
		largest = max(largest, s.size.Load())
	}
	buf := make([]byte, 2*min(scanBlock, largest))
	for i := first; i < len(l.view.segments); i++ {
		s, limit := l.view.segments[i], int64(math.MaxInt64)
		if i+1 < len(l.view.segments) {
			limit = l.view.segments[i+1].base
		}
		found, err := s.scan(limit, buf)
		if err != nil {
			return err
		}
		l.report.SegmentsScanned++
		l.report.ScannedBytes += found.read
		l.view.end = found.next
		if err := l.judge(i, found, limit); err != nil {
			return err
		}
		if err := s.syncScanned(i == len(l.view.segments)-1); err != nil {
			return err
		}
	}
	return l.fs.SyncDir(l.dir)
}

// syncScanned is sync after a scan. A full disk may have no room for the indexes that
// the scan made: those of the active segment may lack entries, and any other segment
// does without until it is used, as the first part of a time index passes for a whole
// one.
func (s *segment) syncScanned(active bool) error {
	if err := s.acquire(); err != nil {
		return err
	}
	err := s.file.Sync()
	if err != nil {
		s.release()
		return err
	}
	err = errors.Join(s.offsets.Sync(), s.times.Sync())
	s.release()
	switch {
	case !vfs.IsFull(err):
		return err
	case active:
		return nil
	}
	return s.dropIndexes()
}

// dropIndexes removes the indexes; whoever uses the segment next makes them anew.
func (s *segment) dropIndexes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.closeIndexes() // They go, whatever they lack.
	for _, suffix := range []string{IndexSuffix, TimeIndexSuffix} {
		if err := removeFile(s.fs, s.path(suffix)); err != nil {
			return err
		}
	}
	return nil
}

// widestHole is how many offsets at most a segment whose tail never reached the disk
// may lack. Beyond it lies what a follower leaves where a gap is too wide for one
// segment. Compaction leaves nothing of the kind: it keeps the last batch of a segment.
const widestHole = maxRelativeOffset / 2

// judge cuts the log behind segments[i] if the scan of it found anything wrong. A hole
// before the next segment is: that one reached the disk, and the end of this one did not.
func (l *Log) judge(i int, found scanned, limit int64) error {
	later := len(l.view.segments) - 1 - i
	s := l.view.segments[i]
	if found.damage == nil && (later == 0 || found.next == limit || limit-s.base > widestHole) {
		return nil
	}
	if found.damage == nil {
		found.damage = &CorruptError{Path: s.name, Position: s.size.Load(),
			Err: fmt.Errorf("offsets %d to %d are missing before the next segment", found.next, limit-1)}
	}
	if found.more || later > 0 && l.hasBytes(i+1) {
		l.report.Corruption = found.damage
	}
	l.report.TruncatedBytes += found.cut
	l.notef("cut off %d bytes: %v", found.cut, found.damage)
	return l.dropFrom(i + 1)
}

func (l *Log) hasBytes(first int) bool {
	for _, s := range l.view.segments[first:] {
		if s.size.Load() > 0 {
			return true
		}
	}
	return false
}

// dropFrom removes segments[first:] and their files, the last first so that a
// crash leaves no hole.
func (l *Log) dropFrom(first int) error {
	for n := len(l.view.segments); n > first; n-- {
		s := l.view.segments[n-1]
		l.report.SegmentsDropped++
		l.report.TruncatedBytes += s.size.Load()
		if err := s.close(); err != nil {
			return err
		}
		if err := s.eachFile(l.fs.Remove); err != nil {
			return err
		}
		if err := l.fs.SyncDir(l.dir); err != nil {
			return err
		}
		l.view.segments = l.view.segments[:n-1]
	}
	return nil
}

// scanned is what a scan found in a segment.
type scanned struct {
	// next is the offset after the last valid batch, read the size of the file.
	next, read int64
	// cut is how many bytes after it were cut off, damage the reason; nil where
	// the batches end with the file or with zeros.
	cut    int64
	damage *CorruptError
	// more says that a valid batch lay behind the damage.
	more bool
}

// scan checks every batch of a segment whose offsets must lie before limit, cuts
// the file at the first that is not valid and rebuilds the indexes. buf is
// scratch space: half of it for what is read ahead, half for checksums.
func (s *segment) scan(limit int64, buf []byte) (scanned, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openFile(); err != nil {
		return scanned{}, err
	}
	x, err := s.createIndexes("")
	if err == nil {
		s.remakeAborted = true
		err = removeFile(s.fs, s.path(TxnIndexSuffix)) // It is not open yet.
	}
	if err != nil {
		return scanned{}, err
	}
	r := headers{src: s.file, path: s.name, end: s.size.Load(), block: buf[:len(buf)/2]}
	buf = buf[len(buf)/2:]
	found := scanned{next: s.base, read: s.size.Load()}
	for at := int64(0); at < s.size.Load(); {
		h, err := s.check(&r, at, found.next, limit, buf)
		var damage *CorruptError
		if errors.As(err, &damage) {
			s.size.Store(at)
			err = s.examine(&found, &r, damage, limit, buf)
		}
		if err != nil {
			return scanned{}, err
		}
		if damage != nil {
			break
		}
		x.note(h)
		if err := x.spill(); err != nil && !vfs.IsFull(err) { // What has no room stays in memory.
			return scanned{}, err
		}
		at, found.next = h.end(), h.NextOffset()
	}
	x.seal()
	return found, s.file.Truncate(s.size.Load())
}

// examine fills found with what lies behind the last valid batch. Zeros up to
// the end are no damage: an append engine had the space reserved.
func (s *segment) examine(found *scanned, r *headers, damage *CorruptError, limit int64, buf []byte) error {
	zeros, err := r.zerosFrom(damage.Position)
	if err != nil || zeros {
		return err
	}
	found.damage, found.cut = damage, r.end-damage.Position
	found.more, err = s.batchBehind(r, damage.Position, found.next, limit, buf)
	return err
}

// check reads the batch at position and holds it against everything that is true
// of a batch there.
func (s *segment) check(r *headers, position, next, limit int64, buf []byte) (header, error) {
	h, err := r.read(position)
	if err != nil {
		return header{}, err
	}
	if h.BaseOffset() < next || h.LastOffset() >= limit || h.LastOffset()-s.base > maxRelativeOffset {
		return header{}, r.corrupt(position, fmt.Errorf("offsets %d to %d where %d was next", h.BaseOffset(), h.LastOffset(), next))
	}
	return h, r.checkCRC(h, buf)
}

// batchBehind looks for a valid batch anywhere after position, as a torn tail
// has none. It stops looking once it has computed checksums over four times the
// bytes that are there.
func (s *segment) batchBehind(r *headers, position, next, limit int64, buf []byte) (bool, error) {
	budget := 4 * (r.end - position)
	const magicAt = 16
	for at := position + 1; at+record.HeaderSize <= r.end && budget > 0; at++ {
		if at < r.at || at+record.HeaderSize > r.at+int64(r.n) {
			if err := r.fill(at); err != nil {
				return false, err
			}
		}
		b := r.block[at-r.at:]
		if b[magicAt] != record.Magic2 || int64(binary.BigEndian.Uint64(b)) < next {
			continue
		}
		h, err := r.read(at)
		if err == nil {
			budget -= h.size
			h, err = s.check(r, at, next, limit, buf)
		}
		var corrupt *CorruptError
		switch {
		case err == nil:
			return true, nil
		case !errors.As(err, &corrupt):
			return false, err
		}
	}
	return false, nil
}
