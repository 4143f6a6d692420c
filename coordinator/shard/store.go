package shard

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Store keeps some kinds of a machine's records elsewhere than in the log; of those
// the log is neither written nor read. All else holds for them as for the log's:
// they are replayed at once, and replies wait until they are kept. Records of one
// outcome that go to both are not kept together: a fall in between leaves one half.
type Store[R any] interface {
	// Keeps says that the store, and not the log, has the record.
	Keeps(r R) bool
	// Open takes a partition over from whoever kept its records before, in a leader
	// epoch that is no newer, and calls replay with each record. It may take long; it
	// fails when ctx ends.
	Open(ctx context.Context, partition, leaderEpoch int32, replay func(R)) (Session[R], error)
}

// Session writes the records of a partition that was taken over.
type Session[R any] interface {
	// Write keeps the records, after those of all calls before. It does not block.
	// done is called at most once, from any goroutine, in the order of the calls;
	// after an error nothing more is kept, and the shard takes the partition over
	// again. The records are not changed by anybody.
	Write(records []R, done func(error))
	// Close ends the session; what is still under way may be kept or not.
	Close()
}

// keeping is a shard's part in its store. All but progress is confined to the
// shard's goroutine.
type keeping[R any] struct {
	session Session[R]
	// sent counts the writes that the session was given.
	sent     uint64
	progress *progress
}

// progress is how far one session has come. Each has its own, so that what an
// earlier one says late is not heard.
type progress struct {
	kept   atomic.Uint64
	failed atomic.Pointer[error]
}

// openStore takes the partition over in the store, if there is one.
func (s *shard[M, R]) openStore() error {
	s.keeping = keeping[R]{progress: &progress{}}
	store := s.host.options.Store
	if store == nil {
		return nil
	}
	session, err := store.Open(s.context, s.partition, s.leaderEpoch(), func(r R) {
		s.machine.Replay(Origin{Offset: -1, ProducerID: -1, ProducerEpoch: -1}, r)
	})
	if err != nil {
		return fmt.Errorf("open the store: %w", err)
	}
	s.keeping.session = session
	return nil
}

// closeStore lets the partition go.
func (s *shard[M, R]) closeStore() {
	if s.keeping.session != nil {
		s.keeping.session.Close()
		s.keeping.session = nil
	}
}

// isKept says that the store has a record, and the log has not.
func (s *shard[M, R]) isKept(r R) bool {
	return s.host.options.Store != nil && s.host.options.Store.Keeps(r)
}

// keep gives records to the store.
func (s *shard[M, R]) keep(records []R) {
	p := s.keeping.progress
	s.keeping.sent++
	s.keeping.session.Write(records, func(err error) {
		if err != nil {
			p.failed.Store(&err)
		} else {
			p.kept.Add(1)
		}
		s.ring()
	})
}

// lostStore reports whether the store has failed since it was opened; the machine is
// then ahead of it, and is made again.
func (s *shard[M, R]) lostStore() bool {
	if s.keeping.progress == nil || s.now() != Active {
		return false
	}
	failed := s.keeping.progress.failed.Load()
	if failed == nil {
		return false
	}
	s.tell(fmt.Errorf("store of partition %d, which is loaded again: %w", s.partition, *failed))
	s.unload(ErrNotCoordinator)
	s.become(Loading)
	return true
}

// isSafe reports whether everything up to an offset of the log and a write of the
// store is committed.
func (s *shard[M, R]) isSafe(end int64, sent uint64) bool {
	return end <= s.log.HighWatermark() && sent <= s.keeping.progress.kept.Load()
}
