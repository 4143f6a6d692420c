package replica

import (
	"slices"
	"sync"
	"sync/atomic"
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
}

// span is the offsets from from to to-1.
type span struct{ from, to int64 }

// mostSpans bounds what readers at random offsets leave behind; what is forgotten is
// only looked at again.
const mostSpans = 64

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
