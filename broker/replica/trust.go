package replica

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/commitlog"
	"tidemark/protocol/record"
)

// trust is which batches a replica serves as they lie on its disk. What it appended as
// the leader it is now had its checksum compared then. Everything else, which another
// process may have left or another leader sent, may have rotted since, and is read once
// by the replica itself before it is served for the first time. It is safe for
// concurrent use.
type trust struct {
	// below is where what is trusted unseen begins; it costs a look per read.
	below atomic.Int64
	mu    sync.Mutex
	seen  []span // of what is before below; sorted and apart
	sent  []sent // one of each follower
}

// span is the offsets from from to to-1.
type span struct{ from, to int64 }

// mostSpans bounds what readers at random offsets leave behind; what is forgotten is
// only looked at again.
const mostSpans = 64

// sent is what a follower was sent last, and how often.
type sent struct {
	follower int32
	offset   int64
	times    int
}

// sentOften is how often a follower is sent the same before the leader looks whether it
// is sound: who finds a checksum wrong asks again, and so does whose connection broke.
const sentOften = 3

// begin trusts nothing before end.
func (t *trust) begin(end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = nil
	t.below.Store(end)
}

// seenFrom is up to where the batches from offset on were looked at; offset where the
// one there was not.
func (t *trust) seenFrom(offset int64) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.seen {
		if s.from <= offset && offset < s.to {
			return s.to
		}
	}
	return offset
}

// note takes down what was looked at.
func (t *trust) note(s span) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := 0
	for at < len(t.seen) && t.seen[at].to < s.from {
		at++
	}
	end := at
	for ; end < len(t.seen) && t.seen[end].from <= s.to; end++ {
		s.from, s.to = min(s.from, t.seen[end].from), max(s.to, t.seen[end].to)
	}
	t.seen = slices.Replace(t.seen, at, end, s)
	if len(t.seen) > mostSpans {
		t.seen = slices.Delete(t.seen, 0, 1)
	}
}

// noteSent takes down that a follower is sent what lies at an offset, of a log that ends
// at end.
func (t *trust) noteSent(follower int32, offset, end int64) {
	if t.sendAgain(follower, offset) == sentOften {
		t.begin(end)
	}
}

// sendAgain counts how often a follower was sent the same.
func (t *trust) sendAgain(follower int32, offset int64) (times int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.sent, func(s sent) bool { return s.follower == follower })
	if i < 0 {
		i, t.sent = len(t.sent), append(t.sent, sent{follower: follower})
	}
	s := &t.sent[i]
	if s.offset != offset {
		s.offset, s.times = offset, 0
	}
	s.times++
	return s.times
}

// readUnseen reads what may have rotted: it looks at the batches first, unless it has,
// and then gives no more than it has looked at.
func (p *Partition) readUnseen(r *ReadRequest, offset, bound int64) (commitlog.ReadInfo, error) {
	seen := p.trust.seenFrom(offset)
	if seen == offset {
		info, err := p.readAsItIs(r, offset, bound)
		if err != nil || info.Chunk == nil {
			return info, err
		}
		next, position, err := check(info.Chunk)
		info.Chunk.Release()
		if err == nil && next <= offset { // A checksum does not cover the offset.
			err = fmt.Errorf("ends at offset %d: %w", next, record.ErrCorrupt)
		}
		if errors.Is(err, record.ErrCorrupt) {
			err = &commitlog.CorruptError{Path: commitlog.FileName(info.SegmentBase, commitlog.LogSuffix), Position: info.Position + position, Err: err}
		}
		if err != nil {
			return commitlog.ReadInfo{}, fmt.Errorf("read offset %d: %w", offset, err)
		}
		p.trust.note(span{offset, next})
		seen = next
	}
	if seen < p.trust.below.Load() {
		bound = min(bound, seen)
	}
	return p.readAsItIs(r, offset, bound)
}
