package txn

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/planted"
)

// A simulated cluster around the core: producers that crash, come back and send late;
// partitions that take records and markers by the rules of a log; coordinators that
// die between any two records, with markers of theirs on the way. What must hold
// (invariants I16 and I17):
//
//   - a transaction ends everywhere as it was decided, and in one way;
//   - a producer that was told "committed" has all its records visible, one that was
//     told "aborted" none;
//   - no marker of an older epoch follows one of a newer epoch;
//   - once InitProducerId returned an epoch, nothing of an older one is appended;
//   - a decision is handed out once in a term, and once more to who asks for all;
//   - in the end nothing is open.
type sim struct {
	*world
	t          *testing.T
	rng        *rand.Rand
	seed       uint64
	partitions []*simPartition
	producers  []*simProducer
	network    []func() // messages on the way, delivered in any order
	undone     []carried
	handed     map[string]bool // ids whose decision was handed out in this term
	fresh      int64
	values     int
	trace      []string
	// told is what clients heard of their transactions.
	told map[*simTxn]string
	// granted is the highest epoch that InitProducerId returned, by producer id.
	granted map[int64]int16
}

// simTxn is a transaction as its producer sees it.
type simTxn struct {
	name   string
	values []int
}

// carried is a decision on its way to partitions, in a coordinator's term.
type carried struct {
	Decision
	epoch int32
	left  map[Partition]bool
}

// simPartition is a log with the producer's state that matters here.
type simPartition struct {
	at        Partition
	producers map[int64]*simState
	fate      map[int]string // of each value
}

type simState struct {
	epoch       int16
	coordinator int32
	open        []int
	seen        map[int]bool
	marked      int16
	guard       int
}

// simProducer is a process with a transactional id.
type simProducer struct {
	Producer
	name   string
	newer  bool // of transaction.version 2
	txn    *simTxn
	added  map[Partition]bool
	ending bool
	lives  int
}

var firstSeed = flag.Uint64("seed", 0, "play this seed of TestSimulated alone, and tell")

func TestSimulated(t *testing.T) {
	if *firstSeed != 0 {
		s := newSim(t, *firstSeed)
		s.play()
		t.Log(strings.Join(s.trace, "\n"))
		return
	}
	seeds := uint64(4000)
	if testing.Short() {
		seeds = 500
	}
	for seed := uint64(1); seed <= seeds && !t.Failed(); seed++ {
		newSim(t, seed).play()
	}
}

// TestPlanted: each known-bad build is found.
func TestPlanted(t *testing.T) {
	if !planted.Enabled {
		t.Skip("needs -tags planted")
	}
	for _, flaw := range planted.Transactions {
		t.Run(string(flaw), func(t *testing.T) { caught(t, flaw) })
	}
}

func newSim(t *testing.T, seed uint64) *sim {
	o := NewOptions()
	o.Expiration = 1000 * time.Hour
	s := &sim{
		world: newWorld(o), t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), fresh: 100, told: map[*simTxn]string{}, granted: map[int64]int16{}, handed: map[string]bool{},
	}
	s.appended = func(r *Record) {
		s.note("log %s", showRecord(r))
		if !r.undone() {
			delete(s.handed, r.ID)
		}
	}
	for i := range int32(3) {
		s.partitions = append(s.partitions, &simPartition{at: Partition{"t", i}, producers: map[int64]*simState{}, fate: map[int]string{}})
	}
	for i, name := range []string{"a", "a", "b"} {
		s.producers = append(s.producers, &simProducer{Producer: Producer{name, None, None}, name: fmt.Sprint(name, i), newer: s.rng.IntN(2) == 0})
	}
	s.work(true)
	return s
}

func (s *sim) note(format string, args ...any) {
	s.trace = append(s.trace, fmt.Sprintf("%8s  ", s.now.Sub(time.UnixMilli(0)))+fmt.Sprintf(format, args...))
}

func (s *sim) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("seed %d: %s\n%s\n-seed %d plays it again", s.seed, fmt.Sprintf(format, args...), strings.Join(s.trace[max(0, len(s.trace)-60):], "\n"), s.seed)
}

// play takes some hundred steps and then lets everything come to rest.
func (s *sim) play() {
	for range 300 {
		s.step()
		if s.t.Failed() {
			return
		}
	}
	s.lag, s.refuse = false, false
	s.commit(len(s.log))
	for range 50 { // more than enough for whatever is under way
		for len(s.network) > 0 {
			s.deliver()
		}
		for len(s.undone) > 0 {
			s.sendMarker()
		}
		s.advance(time.Minute)
	}
	s.check()
}

func (s *sim) step() {
	switch n := s.rng.IntN(100); {
	case n < 45:
		s.act(s.producers[s.rng.IntN(len(s.producers))])
	case n < 70:
		if len(s.network) > 0 {
			s.deliver()
		}
	case n < 85:
		if len(s.undone) > 0 {
			s.sendMarker()
		}
	case n < 88:
		s.failOver(s.rng.IntN(3))
		s.note("failover to coordinator epoch %d", s.epoch)
	case n < 91:
		s.lag = !s.lag
	case n < 94:
		s.refuse = s.rng.IntN(3) == 0
	case n < 96:
		s.advance(time.Duration(s.rng.IntN(70)) * time.Second)
	default:
		s.commit(s.committed + s.rng.IntN(3))
	}
	if !s.lag {
		s.commit(len(s.log))
	}
}

// deliver hands over a message that is on the way, not always the oldest.
func (s *sim) deliver() {
	i := 0
	if s.rng.IntN(4) == 0 {
		i = s.rng.IntN(len(s.network))
	}
	message := s.network[i]
	s.network = slices.Delete(s.network, i, i+1)
	message()
}

// send puts a message on the way; now and then it comes twice, where the producer's
// version can bear that.
func (s *sim) send(twice bool, message func()) {
	s.network = append(s.network, message)
	if twice && s.rng.IntN(6) == 0 {
		s.network = append(s.network, message)
	}
}

// act has a producer do what comes next, or crash.
func (s *sim) act(p *simProducer) {
	switch {
	case p.ending:
		// It waits for the answer, or has lost it and asks again.
		if s.rng.IntN(3) == 0 {
			s.end(p)
		} else if s.rng.IntN(10) == 0 {
			s.crash(p)
		}
	case p.ProducerID == None || s.rng.IntN(25) == 0:
		s.crash(p)
	case p.txn == nil:
		s.values++
		p.txn, p.added = &simTxn{name: fmt.Sprintf("%s's %d", p.name, s.values)}, map[Partition]bool{}
	case len(p.txn.values) > 0 && s.rng.IntN(3) == 0:
		s.end(p)
	default:
		at := s.partitions[s.rng.IntN(len(s.partitions))]
		if !p.newer && !p.added[at.at] {
			s.add(p, at)
			return
		}
		s.produce(p, at)
	}
}

// crash loses a process; the next one asks for an identity.
func (s *sim) crash(p *simProducer) {
	p.lives++
	life := p.lives
	p.Producer, p.txn, p.ending = Producer{p.ID, None, None}, nil, false
	r := &InitRequest{Producer: p.Producer, Timeout: time.Minute, Fresh: None}
	s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) {
		if x.ids[p.ID] == nil {
			s.fresh++
			r.Fresh = s.fresh
		}
		x.Init(now, r, token, out)
	}, func(reply shard.Reply) {
		body, ok := reply.Body.(*InitReply)
		if !ok || reply.Err != nil || p.lives != life {
			return // the producer asks again
		}
		p.ProducerID, p.ProducerEpoch = body.ProducerID, body.ProducerEpoch
		s.granted[p.ProducerID] = max(s.granted[p.ProducerID], p.ProducerEpoch)
		s.note("%s is %d/%d", p.name, p.ProducerID, p.ProducerEpoch)
	})
}

// add is AddPartitionsToTxn; the producer knows only what it was told.
func (s *sim) add(p *simProducer, at *simPartition) {
	r, txn, life := &AddRequest{Producer: p.Producer, Partitions: []Partition{at.at}}, p.txn, p.lives
	s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.Add(now, r, token, out) }, func(reply shard.Reply) {
		switch {
		case p.txn != txn || p.lives != life:
		case reply.Err == nil:
			p.added[at.at] = true
		case errors.Is(reply.Err, ErrFenced), errors.Is(reply.Err, ErrUnknownMapping):
			s.crash(p)
		}
	})
}

// produce sends a record. The leader has it verified, or the partition added, and
// appends it when the answer is there, unless something came in between.
func (s *sim) produce(p *simProducer, at *simPartition) {
	s.values++
	value, from, newer := s.values, p.Producer, p.newer
	p.txn.values = append(p.txn.values, value)
	txn := p.txn
	s.send(true, func() {
		state := at.state(from.ProducerID)
		if len(state.open) > 0 && state.epoch == from.ProducerEpoch {
			s.appendTo(at, from, value, txn)
			return
		}
		guard := state.guard
		verified := func(err error) {
			s.send(false, func() {
				if err == nil && state.guard == guard {
					s.appendTo(at, from, value, txn)
				}
			})
		}
		s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) {
			if newer {
				x.Add(now, &AddRequest{Producer: from, Partitions: []Partition{at.at}, ClientVersion: EpochBump}, token, out)
			} else {
				x.Verify(now, &VerifyRequest{Producer: from, Partitions: []Partition{at.at}}, token, out)
			}
		}, func(reply shard.Reply) {
			if body, ok := reply.Body.(*VerifyReply); ok && reply.Err == nil {
				verified(body.Errs[0])
				return
			}
			verified(reply.Err)
		})
	})
}

func (at *simPartition) state(producerID int64) *simState {
	st := at.producers[producerID]
	if st == nil {
		st = &simState{epoch: None, coordinator: None, marked: None, seen: map[int]bool{}}
		at.producers[producerID] = st
	}
	return st
}

// appendTo applies the rules of a log to a producer's record.
func (s *sim) appendTo(at *simPartition, from Producer, value int, txn *simTxn) {
	st := at.state(from.ProducerID)
	if from.ProducerEpoch < st.epoch || st.seen[value] {
		return
	}
	if from.ProducerEpoch < s.granted[from.ProducerID] && len(st.open) == 0 {
		s.fail("%d of %s is appended with epoch %d/%d after InitProducerId returned %d", value, txn.name, from.ProducerID, from.ProducerEpoch, s.granted[from.ProducerID])
	}
	s.note("%d of %s is in %v", value, txn.name, at.at)
	st.epoch, st.seen[value] = from.ProducerEpoch, true
	st.open = append(st.open, value)
	st.guard++
	at.fate[value] = "open"
}

// end is EndTxn. A producer that has records without an answer aborts.
func (s *sim) end(p *simProducer) {
	all := !slices.ContainsFunc(p.txn.values, func(v int) bool {
		return !slices.ContainsFunc(s.partitions, func(at *simPartition) bool { return at.fate[v] == "open" })
	})
	commit := all && s.rng.IntN(4) > 0
	if p.ending {
		commit = s.told[p.txn] == "commit?"
	}
	p.ending = true
	s.told[p.txn] = "abort?"
	if commit {
		s.told[p.txn] = "commit?"
	}
	r, txn, life := &EndRequest{Producer: p.Producer, Commit: commit, Bump: p.newer, Fresh: None}, p.txn, p.lives
	s.note("%s ends %s, commit %v", p.name, txn.name, commit)
	s.send(p.newer, func() {
		s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) { x.End(now, r, token, out) }, func(reply shard.Reply) {
			heard := s.rng.IntN(5) > 0
			switch {
			case p.txn != txn || p.lives != life || !heard:
			case reply.Err == nil:
				s.note("%s heard of %s, commit %v", p.name, txn.name, commit)
				s.told[txn] = map[bool]string{true: "committed", false: "aborted"}[commit]
				body := reply.Body.(*EndReply)
				p.ProducerID, p.ProducerEpoch, p.txn, p.ending = body.ProducerID, body.ProducerEpoch, nil, false
			case errors.Is(reply.Err, ErrFenced), errors.Is(reply.Err, ErrUnknownMapping), errors.Is(reply.Err, ErrInvalidState):
				s.crash(p)
			}
		})
	})
}

// work takes decisions as they come.
func (s *sim) work(all bool) {
	s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) {
		x.Work(now, &WorkRequest{All: all}, token, out)
	}, func(r shard.Reply) {
		if r.Err != nil {
			s.work(true)
			return
		}
		if all {
			clear(s.handed)
		}
		for _, d := range r.Body.(*WorkReply).Decisions {
			if s.handed[d.ID] {
				s.fail("%s is handed out again", showDecision(d))
				return
			}
			s.handed[d.ID] = true
			c := carried{Decision: d, epoch: s.epoch, left: map[Partition]bool{}}
			for _, at := range d.Partitions {
				c.left[at] = true
			}
			s.undone = append(s.undone, c)
			s.note("due %s", showDecision(d))
		}
		s.work(false)
	})
}

// sendMarker takes one undone decision, of this term or an earlier one, a partition
// further, or completes it.
func (s *sim) sendMarker() {
	i := s.rng.IntN(len(s.undone))
	c := s.undone[i]
	for _, at := range s.partitions {
		if c.left[at.at] {
			lost := s.rng.IntN(8) == 0 && c.Version >= EpochBump // written, and not known: it is sent again
			if s.mark(at, c) && !lost {
				delete(c.left, at.at)
			}
			return
		}
	}
	s.undone = slices.Delete(s.undone, i, i+1)
	if c.epoch != s.epoch {
		return // its coordinator is no more
	}
	s.do(func(x *Txns, now time.Time, token shard.Token, out *Outcome) {
		x.Complete(now, &CompleteRequest{c.Producer}, token, out)
	}, func(reply shard.Reply) {
		if errors.Is(reply.Err, errRefused) {
			s.undone = append(s.undone, c)
		}
	})
}

// mark applies the rules of a log to a marker, and reports whether it is settled.
func (s *sim) mark(at *simPartition, c carried) (settled bool) {
	st := at.state(c.ProducerID)
	switch {
	case c.ProducerEpoch < st.epoch, c.epoch < st.coordinator:
		return true // outdated; the sender drops it
	case c.Version >= EpochBump && len(st.open) > 0 && c.ProducerEpoch == st.epoch:
		return true
	}
	if c.ProducerEpoch < st.marked {
		s.fail("a marker of epoch %d follows one of %d", c.ProducerEpoch, st.marked)
	}
	s.note("%v gets %s", at.at, showDecision(c.Decision))
	for _, v := range st.open {
		at.fate[v] = map[bool]string{true: "committed", false: "aborted"}[c.Commit]
	}
	st.epoch, st.marked, st.coordinator, st.open = c.ProducerEpoch, c.ProducerEpoch, c.epoch, nil
	st.guard++
	return true
}

// check looks at what came of each transaction.
func (s *sim) check() {
	for id, t := range s.txns.ids {
		if t.State == Ongoing || t.undone() {
			s.fail("%s is %s in the end", id, t.State)
		}
	}
	for _, at := range s.partitions {
		for v, fate := range at.fate {
			if fate == "open" {
				s.fail("value %d in %v is open in the end", v, at.at)
			}
		}
	}
	for txn, told := range s.told {
		fates := map[string]bool{}
		for _, v := range txn.values {
			for _, at := range s.partitions {
				if fate := at.fate[v]; fate != "" {
					fates[fate] = true
				}
			}
		}
		if len(fates) > 1 || told == "committed" && fates["aborted"] || told == "aborted" && fates["committed"] || told == "abort?" && fates["committed"] {
			s.fail("%s came out as %v, its producer knows %q", txn.name, fates, told)
		}
	}
}
