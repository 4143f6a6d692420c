package shard

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/protocol/record"
)

// shelf is a Store of the records that begin with "z". It keeps them when told to.
type shelf struct {
	mu      sync.Mutex
	kept    []string
	waiting []func(error)
	refuse  error         // what Open says
	hang    chan struct{} // where not nil, Open tells it, then waits for its context
	epochs  []int32
	closed  int
}

func (f *shelf) Keeps(r string) bool { return strings.HasPrefix(r, "z") }

func (f *shelf) Open(ctx context.Context, _, leaderEpoch int32, replay func(string)) (Session[string], error) {
	if f.hang != nil {
		f.hang <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.epochs = append(f.epochs, leaderEpoch)
	for _, r := range f.kept {
		replay(r)
	}
	return shelfSession{f}, f.refuse
}

type shelfSession struct{ *shelf }

func (s shelfSession) Write(records []string, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, func(err error) {
		if err == nil {
			s.kept = append(s.kept, records...)
		}
		done(err)
	})
}

func (s shelfSession) Close() { s.mu.Lock(); defer s.mu.Unlock(); s.closed++ }

// finish ends every write that waits.
func (f *shelf) finish(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, done := range f.waiting {
		done(err)
	}
	f.waiting = nil
}

// withShelf is a stage whose host has a store.
func withShelf(t *testing.T) (*stage, *shelf) {
	s, f := newStage(t), &shelf{}
	s.host = New(Options[*diary, string]{
		Clock: s.clock, New: func(int32) *diary { return &diary{loaded: s.loaded} }, Codec: text{}, Store: f,
		CommitTimeout: 5 * time.Second, MaxQueued: 10, LoadBytes: 1 << 10,
		Failed: func(_ int32, err error) { s.failed <- err },
	})
	t.Cleanup(s.host.Close)
	return s, f
}

// TestRepliesWaitForTheStore, reads too; what it keeps is not in the log.
func TestRepliesWaitForTheStore(t *testing.T) {
	s, f := withShelf(t)
	s.elect()
	first := s.send(write("z1"))
	both := s.send(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Records = append(out.Records, "a", "z2")
		out.Reply(token, nil, nil)
	})
	reads := s.send(read)
	s.silent(first, "the store has not kept it")
	s.silent(reads, "a read may not tell what could be lost")
	f.finish(nil)
	for _, c := range []<-chan Reply{first, both} {
		if r := s.get(c); r.Err != nil {
			t.Error(r.Err)
		}
	}
	if diff := cmp.Diff([]string{"-1:z1", "0:a", "-1:z2"}, *s.get(reads).Body.(*[]string)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if s.log.LogEndOffset() != 1 {
		t.Errorf("the log has %d records, want the one that the store does not keep", s.log.LogEndOffset())
	}
	s.Resigned(0, AnyEpoch)
	s.log.set(func() { s.log.epoch = 4 })
	s.Elected(0, 4, s.log)
	wait(t, s.loaded)
	if diff := cmp.Diff([]string{"0:a", "-1:z1", "-1:z2"}, s.entries()); diff != "" {
		t.Errorf("entries of the next coordinator (-want +got):\n%s", diff)
	}
	if !slices.Equal(f.epochs, []int32{1, 4}) {
		t.Errorf("opened in leader epochs %v, want 1 and 4", f.epochs)
	}
}

// TestStoreTimeout is a commit timeout.
func TestStoreTimeout(t *testing.T) {
	s, f := withShelf(t)
	s.elect()
	first := s.send(write("z1"))
	s.passed()
	s.clock.Advance(6 * time.Second)
	if r := s.get(first); r.Err != ErrCommitTimeout {
		t.Errorf("got %v, want %v", r.Err, ErrCommitTimeout)
	}
	second := s.send(write("a"))
	s.silent(second, "what it stands on is not kept")
	f.finish(nil)
	if r := s.get(second); r.Err != nil {
		t.Errorf("after the store went on: %v", r.Err)
	}
}

// TestStoreFails: who waits comes back, to a machine made of what was kept.
func TestStoreFails(t *testing.T) {
	s, f := withShelf(t)
	s.elect()
	kept := s.send(write("z1"))
	s.passed()
	f.finish(nil)
	s.get(kept)
	lost := s.send(write("z2"))
	s.passed()
	gone := errors.New("replaced")
	f.finish(gone)
	if r := s.get(lost); r.Err != ErrNotCoordinator {
		t.Errorf("got %v, want %v", r.Err, ErrNotCoordinator)
	}
	if err := wait(t, s.failed); !errors.Is(err, gone) {
		t.Errorf("told of %v, want the reason", err)
	}
	wait(t, s.loaded)
	if diff := cmp.Diff([]string{"-1:z1"}, s.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if f.closed != 1 {
		t.Errorf("%d sessions are closed, want the failed one", f.closed)
	}
}

// TestStoreRefuses: the shard serves nothing until it is elected anew.
func TestStoreRefuses(t *testing.T) {
	s, f := withShelf(t)
	f.refuse = errors.New("a newer one is there")
	s.Elected(0, 1, s.log)
	if err := wait(t, s.failed); !errors.Is(err, f.refuse) {
		t.Errorf("told of %v, want the reason", err)
	}
	if r := s.do(read); r.Err != ErrNotCoordinator {
		t.Errorf("got %v, want %v", r.Err, ErrNotCoordinator)
	}
	f.refuse = nil
	s.log.set(func() { s.log.epoch = 2 })
	s.Elected(0, 2, s.log)
	wait(t, s.loaded)
}

// TestStoreThatHangs does not hold up the end of a shard.
func TestStoreThatHangs(t *testing.T) {
	s, f := withShelf(t)
	f.hang = make(chan struct{})
	s.Elected(0, 1, s.log)
	<-f.hang
	s.host.Close()
}

// TestOldRecordsInTheLog are of a time when the store was not used.
func TestOldRecordsInTheLog(t *testing.T) {
	s, _ := withShelf(t)
	s.log.batches, s.log.end = []record.Batch{batch(0, "a", "z1")}, 2
	s.log.hw = 2
	s.elect()
	if diff := cmp.Diff([]string{"0:a"}, s.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}
