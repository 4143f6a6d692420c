package sim

import (
	"math/rand/v2"
	"time"
)

// random is the only source of chance in a run: one PCG, drawn from in the order
// of events. Equal seeds give equal runs.
type random struct{ pcg rand.PCG }

func newRandom(seed uint64) *random {
	r := &random{}
	r.pcg.Seed(seed, 0x7469_6465_6d61_726b) // the second word only has to be constant
	return r
}

// below is uniform in [0, n); n must be positive. The bias of the remainder is
// below 2^-40 for every n used here.
func (r *random) below(n int) int { return int(r.pcg.Uint64() >> 1 % uint64(n)) }

// chance is true with probability perMille/1000.
func (r *random) chance(perMille int) bool { return r.below(1000) < perMille }

// between is uniform in [low, high].
func (r *random) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(r.pcg.Uint64()%uint64(high-low+1))
}

// around is a waiting time with the mean given, from half of it to one and a half.
func (r *random) around(mean time.Duration) time.Duration { return r.between(mean/2, mean+mean/2) }
