package commitlog

import "tidemark/internal/vfs"

// repairActive fills the indexes of the active segment anew where an entry, of a
// former life of the log, turned out not to match it. Appends and readers wait
// meanwhile, as long as it takes to read the headers of one segment. Of a segment that
// was rolled since, the next look finds the mismatch again.
func (l *Log) repairActive(v *view, s *segment) error {
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if l.view.active() != s || l.stale(v) {
		return errIndexLies
	}
	return l.refillActive(s)
}

// refillActive is repairActive of s, the active segment; maintenance and mu are held.
func (l *Log) refillActive(s *segment) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return err
	}
	x := newIndexer(s.offsets, s.times, l.indexer.interval)
	err := s.refill(&x, l.view.position)
	l.indexer = x
	if err == nil {
		l.publish(func(v *view) { v.newest = x.newest })
	}
	return err
}

// refill drops the entries of the indexes and makes them again up to end. The files
// stay those that they are: a restart after a crash makes them anew, and what has no
// room on a full disk stays in memory. s.mu is held.
func (s *segment) refill(x *indexer, end int64) error {
	if err := s.offsets.TruncateTo(s.base); err != nil {
		return err
	}
	if err := s.times.TruncateTo(s.base); err != nil {
		return err
	}
	r := s.headers(end)
	defer r.close()
	for at := int64(0); at < end; {
		h, err := r.read(at)
		if err != nil {
			return err
		}
		x.note(h)
		if err := x.spill(); err != nil && !vfs.IsFull(err) {
			return err
		}
		at = h.end()
	}
	return nil
}
