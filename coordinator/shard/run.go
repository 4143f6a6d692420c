package shard

import (
	"context"
	"fmt"
	"time"

	"tidemark/internal/invariant"
	"tidemark/internal/timer"
	"tidemark/protocol/record"
)

// shard is one leadership of one partition. Everything below the mailbox is
// confined to the goroutine of run.
type shard[M Machine[R], R any] struct {
	mailbox[M, R]
	host      *Host[M, R]
	partition int32
	log       Log
	// context ends with the shard.
	context context.Context
	cancel  context.CancelFunc

	machine M
	outcome Outcome[R]
	builder *record.Builder
	batch   []byte
	// written is the offset after the last batch that the machine has seen.
	written int64
	keeping keeping[R]
	waiting map[Token]func(Reply)
	timers  map[TimerKey]*armed
	parked  queue
	// overdue runs while something is parked, for the commit timeout.
	overdue timer.Entry
}

func newShard[M Machine[R], R any](h *Host[M, R], partition, leaderEpoch int32, log Log) *shard[M, R] {
	ctx, cancel := context.WithCancel(context.Background())
	return &shard[M, R]{
		mailbox: mailbox[M, R]{wake: make(chan struct{}, 1), state: Loading, epoch: leaderEpoch},
		host:    h, partition: partition, log: log, builder: record.NewBuilder(record.None, record.DefaultLevel),
		context: ctx, cancel: cancel,
	}
}

// end tells the goroutine to stop, and what it waits for too.
func (s *shard[M, R]) end() {
	s.cancel()
	s.mailbox.end()
}

// keepOn reports whether this shard serves the given leadership: one that it knows,
// or the one right after its own of the same log. No other broker can have led, and
// nothing can have been truncated, between two successive epochs.
func (s *shard[M, R]) keepOn(leaderEpoch int32, log Log) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case leaderEpoch < s.epoch:
		return true
	case s.state == Failed:
		return false
	case leaderEpoch == s.epoch:
		return true
	case leaderEpoch == s.epoch+1 && log == s.log:
		s.epoch = leaderEpoch
		return true
	}
	return false
}

func (s *shard[M, R]) enqueue(w work[M, R]) error {
	return s.mailbox.enqueue(w, s.host.options.MaxQueued)
}

// run is the shard's goroutine, from election to resignation.
func (s *shard[M, R]) run() {
	stop := s.log.Watch(s.ring)
	defer stop()
	s.load()
	var l letter[M, R]
	for range s.wake {
		l = s.take(l)
		if l.ended {
			s.unload(ErrNotCoordinator)
			refuse(l.queue, ErrNotCoordinator)
			return
		}
		if !s.lostStore() {
			s.release()
		}
		for _, a := range l.expired {
			s.expireTimer(a)
		}
		for i, w := range l.queue {
			if s.now() != Active {
				refuse(l.queue[i:], ErrLoadInProgress)
				break
			}
			s.do(w)
		}
		if s.now() == Loading {
			s.load()
		}
	}
}

// do runs one entry of the queue.
func (s *shard[M, R]) do(w work[M, R]) {
	s.waiting[w.token] = w.done
	s.outcome.Reset()
	if w.marker != nil {
		s.endTransaction(w)
		return
	}
	now := s.host.options.Clock.Now()
	w.operation(s.machine, now, w.token, &s.outcome)
	s.carryOut(now, w.token)
}

// endTransaction appends a control record and applies it.
func (s *shard[M, R]) endTransaction(w work[M, R]) {
	end, err := s.log.AppendMarker(s.leaderEpoch(), *w.marker, w.newer)
	if err != nil {
		s.answer(Reply{Token: w.token, Err: err})
		return
	}
	s.written = end
	s.machine.EndTransaction(w.marker.ProducerID, w.marker.ProducerEpoch, w.marker.Commit)
	s.outcome.Reply(w.token, nil, nil)
	s.settle()
}

// carryOut does what the outcome of an operation asks for, and reports whether the log
// took its records. token is the operation's own.
func (s *shard[M, R]) carryOut(now time.Time, token Token) bool {
	if len(s.outcome.Records) > 0 {
		if err := s.append(now); err != nil {
			s.refused(token, err)
			return false
		}
	}
	s.settle()
	return true
}

// refused ends an operation whose records the log did not take.
func (s *shard[M, R]) refused(token Token, err error) {
	if token != 0 {
		s.answer(Reply{Token: token, Err: err})
	}
	if s.outcome.RecordsOnly {
		return
	}
	s.tell(fmt.Errorf("append to partition %d, which is loaded again: %w", s.partition, err))
	s.unload(ErrNotCoordinator)
	s.become(Loading)
}

// append writes the outcome's records as one batch, but for those that the store
// keeps, and replays them.
func (s *shard[M, R]) append(now time.Time) error {
	var kept []R
	if s.host.options.Store != nil {
		kept = s.setApart()
	}
	if len(s.outcome.Records) > 0 {
		if err := s.appendToLog(now); err != nil {
			return err
		}
	}
	if len(kept) == 0 {
		return nil
	}
	invariant.Check(!s.outcome.Transactional, "partition %d: the store knows no transactions", s.partition)
	s.keep(kept)
	for _, r := range kept {
		s.machine.Replay(Origin{Offset: -1, ProducerID: record.NoProducerID, ProducerEpoch: record.NoProducerEpoch}, r)
	}
	return nil
}

// setApart takes out of the outcome's records those that the store keeps.
func (s *shard[M, R]) setApart() (kept []R) {
	logged := s.outcome.Records[:0]
	for _, r := range s.outcome.Records {
		if s.isKept(r) {
			kept = append(kept, r)
		} else {
			logged = append(logged, r)
		}
	}
	clear(s.outcome.Records[len(logged):])
	s.outcome.Records = logged
	return kept
}

// appendToLog writes records as one batch and replays them.
func (s *shard[M, R]) appendToLog(now time.Time) error {
	o := &s.outcome
	s.builder.Reset()
	from := Origin{ProducerID: record.NoProducerID, ProducerEpoch: record.NoProducerEpoch}
	sequence := int32(record.NoSequence)
	if o.Transactional {
		from = Origin{Transactional: true, ProducerID: o.ProducerID, ProducerEpoch: o.ProducerEpoch}
		sequence = 0 // nobody looks at a coordinator's sequences, but none would mean no producer
	}
	s.builder.Producer(from.ProducerID, from.ProducerEpoch, sequence)
	s.builder.Transactional(o.Transactional)
	for _, r := range o.Records {
		key, value := s.host.options.Codec.Encode(r)
		s.builder.Append(now.UnixMilli(), key, value, nil)
	}
	s.batch = s.builder.AppendTo(s.batch[:0])
	end, err := s.log.Append(s.leaderEpoch(), record.Batch(s.batch))
	if err != nil {
		return err
	}
	s.written = end
	from.Offset = end - int64(len(o.Records))
	for _, r := range o.Records {
		s.machine.Replay(from, r)
		from.Offset++
	}
	return nil
}

// answer gives a reply to whoever waits for it. A reply to nobody is an error of the
// machine's: it would be the second one.
func (s *shard[M, R]) answer(r Reply) {
	done, ok := s.waiting[r.Token]
	invariant.Check(ok, "partition %d: a reply to token %d, for which nobody waits", s.partition, r.Token)
	delete(s.waiting, r.Token)
	done(r)
}

// unload answers everybody with err and forgets the machine, its timers and what was
// parked.
func (s *shard[M, R]) unload(err error) {
	for _, a := range s.timers {
		s.host.wheel.Stop(&a.entry)
		a.running = false
	}
	s.host.wheel.Stop(&s.overdue)
	s.closeStore()
	waiting := s.waiting
	s.waiting, s.timers, s.parked = nil, nil, queue{}
	for token, done := range waiting {
		done(Reply{Token: token, Err: err})
	}
}

// tell reports a failure to whoever runs the host.
func (s *shard[M, R]) tell(err error) {
	if s.host.options.Failed != nil {
		s.host.options.Failed(s.partition, err)
	}
}

// refuse answers operations that were never begun.
func refuse[M any, R any](queue []work[M, R], err error) {
	for _, w := range queue {
		w.done(Reply{Token: w.token, Err: err})
	}
}
