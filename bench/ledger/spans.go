package ledger

import "sort"

// Span is the sequences from First up to, and without, End.
type Span struct{ First, End uint64 }

// Len is the number of sequences.
func (s Span) Len() uint64 { return s.End - s.First }

// Spans is a set of sequences: disjoint spans in rising order, none touching the
// next. Its size follows the number of holes, not of members.
type Spans []Span

// Contains reports whether seq is a member.
func (s Spans) Contains(seq uint64) bool {
	i := s.after(seq)
	return i < len(s) && s[i].First <= seq
}

// after is the index of the first span that ends behind seq.
func (s Spans) after(seq uint64) int {
	if n := len(s); n == 0 || s[n-1].End <= seq {
		return n // the common place: at the end
	}
	return sort.Search(len(s), func(i int) bool { return s[i].End > seq })
}

// Count is the number of members.
func (s Spans) Count() (n uint64) {
	for _, p := range s {
		n += p.Len()
	}
	return n
}

// Add returns the set with p's sequences in it. It may reuse s.
func (s Spans) Add(p Span) Spans {
	if p.First >= p.End {
		return s
	}
	if n := len(s); n == 0 || s[n-1].End < p.First {
		return append(s, p)
	}
	// Everything from i to k touches p and becomes one span with it.
	i := sort.Search(len(s), func(i int) bool { return s[i].End >= p.First })
	k := i
	for ; k < len(s) && s[k].First <= p.End; k++ {
		p.First, p.End = min(p.First, s[k].First), max(p.End, s[k].End)
	}
	if i == k {
		s = append(s, Span{})
		copy(s[i+1:], s[i:])
		s[i] = p
		return s
	}
	s[i] = p
	return append(s[:i+1], s[k:]...)
}

// Remove returns the set without seq, and whether it was a member. It may reuse s.
func (s Spans) Remove(seq uint64) (rest Spans, was bool) {
	i := s.after(seq)
	if i == len(s) || s[i].First > seq {
		return s, false
	}
	p := s[i]
	switch {
	case p.Len() == 1:
		return append(s[:i], s[i+1:]...), true
	case seq == p.First:
		s[i].First++
	case seq == p.End-1:
		s[i].End--
	default:
		s = append(s, Span{})
		copy(s[i+1:], s[i:])
		s[i].End, s[i+1].First = seq, seq+1
	}
	return s, true
}

// Intersect is the set of what both hold.
func (s Spans) Intersect(o Spans) (out Spans) {
	for i, k := 0, 0; i < len(s) && k < len(o); {
		p := Span{max(s[i].First, o[k].First), min(s[i].End, o[k].End)}
		if p.First < p.End {
			out = append(out, p)
		}
		if s[i].End < o[k].End {
			i++
		} else {
			k++
		}
	}
	return out
}
