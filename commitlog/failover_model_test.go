package commitlog

import (
	"errors"
	"math/rand/v2"
	"testing"

	"tidemark/internal/planted"
)

// failovers is a partition of two replicas whose leadership moves at any time, under
// idempotent producers with five batches in flight, whose answers are lost and whose
// retries come at any time and in any order. What must hold (invariant I15):
//
//   - the sequences of a producer are in the log without a gap and once;
//   - a retry of one of the last five gets the offset of the first time.
//
// Everything is replicated before the leader goes, for that is what acks=all waits for.
type failovers struct {
	t         *testing.T
	rng       *rand.Rand
	replicas  [2]*world
	leader    int
	epoch     int32
	producers []*retrier
	hits      int
}

// retrier is a producer as it knows itself: flight are the sequences of the batches
// without an answer, at the offsets that they got.
type retrier struct {
	id     int64
	next   int32
	flight []int32
	first  map[int32]int64 // what each sequence was answered with, or would have been
}

const retrierBatch = 2 // records of a batch

func newFailovers(t *testing.T, seed uint64) *failovers {
	f := &failovers{t: t, rng: rand.New(rand.NewPCG(seed, 0)), epoch: 1}
	for i := range f.replicas {
		f.replicas[i] = newWorld(t).open()
	}
	for id := range int64(3) {
		f.producers = append(f.producers, &retrier{id: id, first: map[int32]int64{}})
	}
	return f
}

func (f *failovers) play() {
	for range 120 {
		p := f.producers[f.rng.IntN(len(f.producers))]
		switch n := f.rng.IntN(20); {
		case n < 8:
			if len(p.flight) < 5 {
				f.send(p, p.next)
			}
		case n < 13:
			if len(p.flight) > 0 {
				f.send(p, p.flight[f.rng.IntN(len(p.flight))])
			}
		case n < 17:
			if len(p.flight) > 0 && p.first[p.flight[0]] >= 0 { // the answer gets through
				p.flight = p.flight[1:]
			}
		case n < 19:
			f.replicate()
		default:
			f.failOver()
		}
		if f.t.Failed() {
			return
		}
	}
	f.replicate()
	f.check()
}

// send produces the batch of a sequence, for the first time or again.
func (f *failovers) send(p *retrier, sequence int32) {
	if sequence == p.next {
		p.flight, p.next = append(p.flight, sequence), sequence+retrierBatch
		p.first[sequence] = -1
		if sequence > 0 && f.rng.IntN(4) == 0 {
			return // lost on the way; with the first, any sequence would do for a producer that is not known
		}
	}
	info, err := f.replicas[f.leader].AppendAsLeader(idempotent(p.id, 0, sequence, retrierBatch), f.epoch, Client)
	switch {
	case errors.Is(err, ErrOutOfOrderSequence): // an earlier one is to come first
	case err != nil:
		f.t.Errorf("sequence %d of producer %d: %v", sequence, p.id, err)
	case p.first[sequence] >= 0 && (info.BaseOffset != p.first[sequence] || !info.Duplicate):
		f.t.Errorf("sequence %d of producer %d is at offset %d and a retry gets %d, duplicate: %v", sequence, p.id, p.first[sequence], info.BaseOffset, info.Duplicate)
	default:
		if info.Duplicate {
			f.hits++
		}
		p.first[sequence] = info.BaseOffset
	}
}

// replicate brings the follower up to the leader.
func (f *failovers) replicate() {
	leader, follower := f.replicas[f.leader], f.replicas[1-f.leader]
	for follower.LogEndOffset() < leader.LogEndOffset() {
		data, _ := leader.read(follower.LogEndOffset(), 400)
		if _, err := follower.AppendAsFollower(data); err != nil {
			f.t.Fatal(err)
		}
	}
}

// failOver makes the other one leader; the former is killed and opened again at times.
func (f *failovers) failOver() {
	f.replicate()
	f.leader, f.epoch = 1-f.leader, f.epoch+1
	if f.rng.IntN(2) == 0 {
		f.replicas[1-f.leader].crash()
		f.replicas[1-f.leader].open()
	}
}

func (f *failovers) check() {
	for i, w := range f.replicas {
		next := map[int64]int32{}
		for _, b := range w.readAll(0) {
			if b.BaseSequence() != next[b.ProducerID()] {
				f.t.Errorf("replica %d: sequence %d of producer %d where %d is due", i, b.BaseSequence(), b.ProducerID(), next[b.ProducerID()])
			}
			next[b.ProducerID()] = b.BaseSequence() + b.Count()
		}
	}
}

// TestRetriesAcrossFailovers are faults T02 and T03.
func TestRetriesAcrossFailovers(t *testing.T) {
	hits := 0
	for seed := range uint64(200) {
		f := newFailovers(t, seed)
		f.play()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		hits += f.hits
	}
	if hits < 1000 {
		t.Errorf("%d retries were known, want some in every run", hits)
	}
}

// TestPlanted: a build that loses what it knows of producers with their leader is found.
func TestPlanted(t *testing.T) {
	if !planted.Enabled {
		t.Skip("needs -tags planted")
	}
	caught(t, planted.DedupNotRebuilt)
}
