package vfs

import (
	"fmt"
	"sync/atomic"
)

// Syncer syncs one file until the first error, which is final: after a failed
// fdatasync the kernel may count the lost pages as clean, and a second call that
// returns nil proves nothing. It is safe for concurrent use.
type Syncer struct {
	file File
	err  atomic.Pointer[error]
}

// NewSyncer returns a Syncer for f.
func NewSyncer(f File) *Syncer { return &Syncer{file: f} }

// Sync returns once every byte written before the call is on stable storage, or
// the first error there ever was.
func (s *Syncer) Sync() error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil && syncErrorsCount {
		err = fmt.Errorf("sync %s: %w", s.file.Name(), err)
		s.err.CompareAndSwap(nil, &err)
	}
	// Another call may have failed meanwhile: what it lost was possibly ours.
	return s.Err()
}

// Err is the first error of Sync; nil before.
func (s *Syncer) Err() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}
