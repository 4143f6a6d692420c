package check

import (
	"fmt"
	"sort"

	"tidemark/bench/ledger"
)

// stream is what was read of one producer's records.
type stream struct {
	view ledger.View
	// next is one more than the highest sequence read; gaps are those below it
	// that were not.
	next uint64
	gaps ledger.Spans
	// astray are acknowledged records that were read at another offset than the
	// answer's, and not at that one so far.
	astray []astray
	// at is the acknowledgement that the last lookup found.
	at int
}

type astray struct {
	seq        uint64
	told, read int64
}

// outOfOrder takes a record that is not the next; again is true for one that was
// read before.
func (s *stream) outOfOrder(c *Checker, r ledger.Record, offset int64) (again bool) {
	if r.Seq > s.next {
		s.gaps = s.gaps.Add(ledger.Span{First: s.next, End: r.Seq})
		s.next = r.Seq + 1
		return false
	}
	rest, was := s.gaps.Remove(r.Seq)
	s.gaps = rest
	kind, count, why := Reordered, &c.counts.Reordered, "at offset %d, after sequence %d"
	if !was {
		kind, count, why = Duplicate, &c.counts.Duplicate, "again at offset %d, after sequence %d"
	}
	*count++
	c.note(Anomaly{Kind: kind, Stream: r.Stream, First: r.Seq, Count: 1, Offset: offset, Why: fmt.Sprintf(why, offset, s.next-1)})
	return !was
}

// offsetOf is what the answer to a record said; ok is false where there was none.
// Lookups in rising order cost nothing.
func (s *stream) offsetOf(seq uint64) (offset int64, ok bool) {
	acks := s.view.Acks
	within := func(i int) bool { return i < len(acks) && seq >= acks[i].First && seq-acks[i].First < acks[i].Count }
	if !within(s.at) && within(s.at+1) {
		s.at++
	} else if !within(s.at) {
		i := sort.Search(len(acks), func(i int) bool { return acks[i].First > seq }) - 1
		if i < 0 || !within(i) {
			return 0, false
		}
		s.at = i
	}
	a := acks[s.at]
	return a.Offset + int64(seq-a.First), true
}

// lost are the acknowledged sequences that were not read.
func (s *stream) lost() ledger.Spans {
	missing := append(ledger.Spans(nil), s.gaps...).Add(ledger.Span{First: s.next, End: s.view.Sent})
	return missing.Intersect(s.view.Acked())
}
