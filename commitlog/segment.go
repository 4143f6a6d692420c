package commitlog

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"tidemark/commitlog/index"
	"tidemark/engines"
	"tidemark/internal/vfs"
)

// errSegmentGone: the segment was removed while a reader held an older view. The
// reader looks again.
var errSegmentGone = errors.New("segment was removed")

// segment is one segment of the log: its file, the read engine on it and its two
// indexes, all opened at first use. It knows nothing of the append engine, which
// the log holds for the last segment only.
type segment struct {
	fs   vfs.FS
	dir  string
	base int64
	// name is the path of the segment file.
	name string
	// indexMaxBytes and indexInterval are used where indexes are made anew.
	indexMaxBytes, indexInterval int64
	// size is the end of the batches while the segment is sealed; of the active
	// segment the log's view knows it. Changed under the log's mu.
	size  atomic.Int64
	cache segmentCache
	// aborted is the transaction index, nil where no transaction was aborted in the
	// segment. Changed under the log's mu, read with mu held shared.
	aborted atomic.Pointer[index.Transactions]
	// remakeAborted: Open makes it anew from the log, and it is not on stable storage
	// yet. Guarded by the log's maintenance.
	remakeAborted bool

	// mu is held shared by whoever uses the fields below, exclusively to open,
	// exchange and close them.
	mu sync.RWMutex
	// gone turns users away, closed says that close was called.
	gone, closed bool

	read    engines.ReadSpec
	options engines.ReadOptions
	file    vfs.File
	reader  engines.Reader
	// ended is file if it wants to know where the appended bytes end; set with
	// file, before the segment is active, and read by the appends.
	ended   vfs.Ended
	offsets *index.Offsets
	times   *index.Times
	// formers are read engines that setRead replaced, until their last chunk.
	formers   sync.WaitGroup
	formerErr error
}

func (s *segment) path(suffix string) string {
	return filepath.Join(s.dir, FileName(s.base, suffix))
}

// acquire makes the fields below mu usable until release.
func (s *segment) acquire() error {
	s.mu.RLock()
	if s.reader != nil && s.offsets != nil && !s.gone {
		return nil
	}
	s.mu.RUnlock()
	s.mu.Lock()
	err := s.open()
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return s.acquire()
}

func (s *segment) release() { s.mu.RUnlock() }

// open opens what is not open yet; mu is held. Indexes that are missing or
// damaged are made again from the log.
func (s *segment) open() error {
	if s.gone {
		return errSegmentGone
	}
	if err := s.openFile(); err != nil {
		return err
	}
	if err := s.openIndexes(); err != nil {
		return err
	}
	if s.reader != nil {
		return nil
	}
	reader, err := s.read.Open(s.file, s.options)
	if err != nil {
		return fmt.Errorf("open segment %s for reading: %w", s.name, err)
	}
	s.reader = reader
	return nil
}

func (s *segment) openFile() error {
	if s.file != nil {
		return nil
	}
	file, err := s.fs.Open(s.name)
	if err != nil {
		return fmt.Errorf("open segment: %w", err)
	}
	s.file, s.ended = file, vfs.EndedOf(file)
	return nil
}

// setRead exchanges the read engine; the former one lives on until its chunks
// are released.
func (s *segment) setRead(spec engines.ReadSpec, o engines.ReadOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.reader == nil {
		s.read, s.options = spec, o
		return nil
	}
	reader, err := spec.Open(s.file, o)
	if err != nil {
		return fmt.Errorf("open segment %s for reading: %w", s.name, err)
	}
	former := s.reader
	s.reader, s.read, s.options = reader, spec, o
	s.formers.Go(func() {
		if err := former.Close(); err != nil {
			s.mu.Lock()
			s.formerErr = errors.Join(s.formerErr, err)
			s.mu.Unlock()
		}
	})
	return nil
}

// close ends the use of the segment: new readers are turned away, the last chunk
// is waited for, files are closed.
func (s *segment) close() error { return s.closeAfter(func(vfs.File) {}) }

// closeAfter is close that calls last with the segment's file, if it is open, once
// nobody else uses it.
func (s *segment) closeAfter(last func(vfs.File)) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.gone, s.closed = true, true
	reader, file := s.reader, s.file
	err := s.closeIndexes()
	if aborted := s.aborted.Load(); aborted != nil {
		err = errors.Join(err, aborted.Close())
	}
	s.mu.Unlock()
	if reader != nil {
		err = errors.Join(err, reader.Close())
	}
	s.formers.Wait()
	err = errors.Join(err, s.formerErr)
	if file != nil {
		last(file)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("close segment %s: %w", s.name, err)
	}
	return nil
}

// retire turns new users away; whoever reads goes on.
func (s *segment) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
}

// rename gives every file of the segment a further suffix.
func (s *segment) rename(suffix string) error {
	return s.eachFile(func(path string) error { return s.fs.Rename(path, path+suffix) })
}

// remove removes the files that rename renamed.
func (s *segment) remove(suffix string) error {
	return s.eachFile(func(path string) error { return s.fs.Remove(path + suffix) })
}

// eachFile calls f for the segment's files and the snapshot at its start; those
// that are not there are skipped.
func (s *segment) eachFile(f func(path string) error) error {
	var errs []error
	for _, suffix := range append(segmentSuffixes[:], SnapshotSuffix) {
		if err := f(s.path(suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// openAppender opens the append engine behind the valid bytes; s is acquired.
func (s *segment) openAppender(o *Options) (engines.Appender, error) {
	if s.ended != nil {
		s.ended.SetEnd(s.size.Load())
	}
	return o.Append.Open(s.file, s.size.Load(), engines.AppendOptions{SegmentBytes: o.SegmentBytes, NoPrefault: o.NoPrefault})
}
