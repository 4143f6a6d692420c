package shard

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/protocol/record"
)

func TestRepliesWaitForTheCommit(t *testing.T) {
	s := newStage(t)
	s.log.manual = true
	s.elect()
	first := s.send(write("a"))
	second := s.send(write("b"))
	reads := s.send(read)
	s.silent(first, "nothing is committed")
	s.silent(reads, "a read may not tell what could be lost")
	s.log.commit()
	for _, c := range []<-chan Reply{first, second} {
		if r := s.get(c); r.Err != nil {
			t.Error(r.Err)
		}
	}
	r := s.get(reads)
	if diff := cmp.Diff([]string{"0:a", "1:b"}, *r.Body.(*[]string)); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestCommitTimeout(t *testing.T) {
	s := newStage(t)
	s.log.manual = true
	s.elect()
	first := s.send(write("a"))
	s.passed()
	s.clock.Advance(3 * time.Second)
	second := s.send(write("b"))
	s.passed()
	s.clock.Advance(3 * time.Second)
	if r := s.get(first); r.Err != ErrCommitTimeout {
		t.Errorf("the first: got %v, want %v", r.Err, ErrCommitTimeout)
	}
	s.silent(second, "its time is not over")
	s.log.commit()
	if r := s.get(second); r.Err != nil {
		t.Errorf("the second: got %v", r.Err)
	}
	if got := s.entries(); len(got) != 2 {
		t.Errorf("entries %v: what timed out is in the log all the same", got)
	}
}

func TestWhoIsRefused(t *testing.T) {
	s := newStage(t)
	if r := s.do(read); r.Err != ErrNotCoordinator {
		t.Errorf("before the election: got %v", r.Err)
	}
	s.log.batches, s.log.end = []record.Batch{batch(0, "a")}, 1
	s.log.reading = make(chan struct{})
	s.Elected(0, 1, s.log)
	if r := s.do(read); r.Err != ErrLoadInProgress {
		t.Errorf("while loading: got %v", r.Err)
	}
	close(s.log.reading)
	wait(t, s.loaded)
	s.log.commit()
	block, blocked := make(chan struct{}), make(chan struct{})
	s.send(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		close(blocked)
		<-block
		out.Reply(token, nil, nil)
	})
	<-blocked
	var waiting []<-chan Reply
	for range 10 {
		waiting = append(waiting, s.send(read))
	}
	if r := s.do(read); r.Err != ErrOverloaded {
		t.Errorf("an eleventh in the queue: got %v", r.Err)
	}
	s.Resigned(0, 2)
	close(block)
	for _, c := range waiting {
		s.get(c)
	}
	if r := s.do(read); r.Err != ErrNotCoordinator {
		t.Errorf("after the resignation: got %v", r.Err)
	}
}

// TestRefusedRecords: nothing has happened, and others wait on.
func TestRefusedRecords(t *testing.T) {
	s := newStage(t)
	s.elect()
	waits := s.send(func(d *diary, _ time.Time, token Token, _ *Outcome[string]) { d.waits = append(d.waits, token) })
	s.passed()
	s.log.set(func() { s.log.refuse = true })
	r := s.do(func(d *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.RecordsOnly = true
		out.Records = append(out.Records, "a")
		out.Reply(d.waits[0], nil, nil)
		out.Reply(token, nil, nil)
	})
	if !errors.Is(r.Err, errRefused) {
		t.Errorf("got %v, want %v", r.Err, errRefused)
	}
	s.silent(waits, "the outcome that would answer it was refused")
	s.log.set(func() { s.log.refuse = false })
	s.do(func(d *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Reply(d.waits[0], nil, nil)
		out.Reply(token, nil, nil)
	})
	if r := s.get(waits); r.Err != nil {
		t.Error(r.Err)
	}
}

// TestMemoryAheadOfTheLog is lost with the machine, which is made again.
func TestMemoryAheadOfTheLog(t *testing.T) {
	s := newStage(t)
	s.elect()
	s.do(write("a"))
	waits := s.send(func(*diary, time.Time, Token, *Outcome[string]) {})
	s.passed()
	s.log.set(func() { s.log.refuse = true })
	r := s.do(func(d *diary, _ time.Time, token Token, out *Outcome[string]) {
		d.memory = "ahead"
		out.Records = append(out.Records, "b")
		out.Set(TimerKey{Name: "never"}, time.Second)
		out.Reply(token, nil, nil)
	})
	if !errors.Is(r.Err, errRefused) {
		t.Errorf("got %v, want %v", r.Err, errRefused)
	}
	if r := s.get(waits); r.Err != ErrNotCoordinator {
		t.Errorf("who waited: got %v, want %v", r.Err, ErrNotCoordinator)
	}
	wait(t, s.loaded)
	s.clock.Advance(time.Minute)
	s.do(func(d *diary, _ time.Time, token Token, out *Outcome[string]) {
		if d.memory != "" || len(d.entries) != 1 || len(d.expired) != 0 {
			t.Errorf("the machine is %+v, want it made from the log", d)
		}
		out.Reply(token, nil, nil)
	})
	if err := wait(t, s.failed); !errors.Is(err, errRefused) {
		t.Errorf("told of %v, want the reason", err)
	}
}

func TestTransactions(t *testing.T) {
	s := newStage(t)
	s.elect()
	s.do(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Records = append(out.Records, "a", "b")
		out.Transactional, out.ProducerID, out.ProducerEpoch = true, 7, 3
		out.Reply(token, nil, nil)
	})
	s.do(write("c"))
	done := make(chan Reply, 1)
	s.CompleteTransaction(0, record.EndTxnMarker{ProducerID: 7, ProducerEpoch: 3, Commit: true}, true, func(r Reply) { done <- r })
	if r := s.get(done); r.Err != nil || !s.log.newer {
		t.Errorf("%v; the log was told of a newer epoch: %v, want so", r.Err, s.log.newer)
	}
	want := []string{"0:a by 7", "1:b by 7", "2:c", "end of 7: true"}
	if diff := cmp.Diff(want, s.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	s.log.set(func() { s.log.refuse = true })
	s.CompleteTransaction(0, record.EndTxnMarker{ProducerID: 8}, false, func(r Reply) { done <- r })
	if r := s.get(done); !errors.Is(r.Err, errRefused) {
		t.Errorf("a refused marker: got %v", r.Err)
	}
	s.Resigned(0, AnyEpoch)
	s.log.set(func() { s.log.refuse = false; s.log.epoch = 2 })
	s.Elected(0, 2, s.log)
	wait(t, s.loaded)
	if diff := cmp.Diff(want, s.entries()); diff != "" {
		t.Errorf("entries made from the log (-want +got):\n%s", diff)
	}
}
