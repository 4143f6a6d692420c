package commitlog

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/commitlog/producer"
	"tidemark/engines"
	"tidemark/internal/vfs"
)

// Reconfigure changes the options. The read engine changes at once, chunks of
// the former stay readable; the append engine, the segment's size and age change
// with the next roll. On an error the former options hold.
func (l *Log) Reconfigure(o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	former := l.options.Load()
	if o.Read.Name != former.Read.Name {
		for _, s := range l.view.segments {
			if err := s.setRead(o.Read, engines.ReadOptions{SegmentBytes: o.SegmentBytes}); err != nil {
				return errors.Join(err, l.resetRead(former))
			}
		}
	}
	l.indexer.interval = o.IndexIntervalBytes
	l.options.Store(&o)
	return nil
}

func (l *Log) resetRead(o *Options) error {
	var errs []error
	for _, s := range l.view.segments {
		if s.read.Name != o.Read.Name {
			errs = append(errs, s.setRead(o.Read, engines.ReadOptions{SegmentBytes: o.SegmentBytes}))
		}
	}
	return errors.Join(errs...)
}

// Close flushes, leaves a producer snapshot and closes every file once the last
// chunk is released. After it without an error, everything is on stable storage
// and the next Open may be told of a clean shutdown. A failed log is closed as it
// is. Further calls return nil.
func (l *Log) Close() error {
	if !l.end() {
		return nil
	}
	l.tasks.Wait()
	l.cleaning.Lock() // A round ends at its next step.
	defer l.cleaning.Unlock()

	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	err := l.Err()
	if err == nil {
		err = l.finish()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.sealing {
		if !x.closed {
			err = errors.Join(err, x.appender.Close())
		}
	}
	l.sealing = nil
	err = errors.Join(err, l.appender.Close())
	for _, s := range l.view.segments {
		err = errors.Join(err, s.close())
	}
	for _, s := range l.doomed {
		err = errors.Join(err, s.close(), s.remove(deletedSuffix))
	}
	l.doomed = nil
	if err != nil {
		return fmt.Errorf("close log %s: %w", l.dir, err)
	}
	return nil
}

// end takes the log out of service; false where that was done before.
func (l *Log) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.closed = true
	close(l.closing)
	l.stopTimers()
	return true
}

// finish puts everything on stable storage; maintenance is held and closed set,
// so nothing is appended any more.
func (l *Log) finish() error {
	if err := l.flush(false); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.indexer.seal()
	active := l.view.active()
	if err := active.sync(); err != nil {
		return l.fail(err)
	}
	snapshot := producer.Encode(l.producers.Entries())
	if err := vfs.WriteFileAtomic(l.fs, l.path(FileName(l.view.end, SnapshotSuffix)), snapshot); err != nil {
		return l.fail(err)
	}
	return nil
}

// Delete closes the log, whatever state it is in, and removes its directory, once the
// last chunk is released.
func (l *Log) Delete() error {
	release, err := l.Remove()
	release()
	return err
}

// Remove ends the service of the log, whatever state it is in, and removes its
// directory at once: another log can have its place. What is being read stays
// readable; release, to be called once, waits for the last chunk, which may take a
// slow reader minutes, and gives the files back.
func (l *Log) Remove() (release func(), err error) {
	l.mu.Lock()
	if !l.closed {
		_ = l.fail(ErrClosed) // Nothing is worth a sync any more.
	}
	l.mu.Unlock()
	release = func() {}
	if l.end() {
		release = l.release
	}
	l.cleaning.Lock() // As in Close.
	defer l.cleaning.Unlock()
	l.maintenance.Lock()
	defer l.maintenance.Unlock()
	for _, s := range l.snapshot().segments {
		s.retire() // Its name may be another log's soon.
	}
	if err := l.fs.RemoveAll(l.dir); err != nil {
		return release, fmt.Errorf("delete log: %w", err)
	}
	return release, nil
}

// release closes the files of a removed log. No lock is held while it waits.
func (l *Log) release() {
	l.tasks.Wait()
	l.mu.Lock()
	appenders := []engines.Appender{l.appender}
	for _, x := range l.sealing {
		if !x.closed {
			appenders = append(appenders, x.appender)
		}
	}
	segments := slices.Concat(l.view.segments, l.doomed)
	l.sealing, l.doomed = nil, nil
	l.mu.Unlock()
	for _, a := range appenders {
		_ = a.Close() // The file is gone, whatever is wrong with it.
	}
	for _, s := range segments {
		_ = s.close() // As above.
	}
}
