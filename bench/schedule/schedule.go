// Package schedule says when load is due, and waits for it. Arrival times are
// computed from the rate alone, never from what the system under test did: that
// is what makes a load open loop.
//
// Catch-up: a send that could not leave at its intended time leaves as soon as
// it can, and so do those behind it; none is skipped and none is moved. Their
// response time counts from the intended time. What is still unsent when the
// window ends is counted as dropped, but for its last part (result.LastPart).
package schedule

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

var start = time.Now()

// Now is the monotonic clock of this process in nanoseconds: one scale for
// intended times, sends, acknowledgements and consumers.
func Now() int64 { return int64(time.Since(start)) }

// Arrivals yields intended times. It is confined to one goroutine.
type Arrivals interface {
	// Next returns the next intended time since the start of the schedule; the
	// values never decrease.
	Next() time.Duration
}

// Share is one generator's part of a load: Index of Count equal shares.
type Share struct{ Index, Count int }

// New returns the arrivals of one share of perSecond sends per second. The kinds
// are uniform, poisson and burst(LENGTH@FACTORx/PERIOD), which offers FACTOR
// times the rate for LENGTH at the start of every PERIOD.
func New(kind string, perSecond float64, share Share, seed uint64) (Arrivals, error) {
	if !(perSecond > 0) || share.Count < 1 || share.Index < 0 || share.Index >= share.Count {
		return nil, fmt.Errorf("no schedule for %v sends/s, share %d of %d", perSecond, share.Index, share.Count)
	}
	mine := perSecond / float64(share.Count)
	phase := float64(share.Index) / float64(share.Count)
	switch {
	case kind == "uniform":
		return &uniform{perSecond: mine, i: phase}, nil
	case kind == "poisson":
		return &poisson{perSecond: mine, random: rand.New(rand.NewPCG(seed, uint64(share.Index)))}, nil
	case strings.HasPrefix(kind, "burst("):
		b, err := parseBurst(kind)
		if err != nil {
			return nil, err
		}
		b.perSecond, b.i = mine, phase
		return b, nil
	}
	return nil, fmt.Errorf("unknown arrival %q (there are: uniform, poisson, burst(LENGTH@FACTORx/PERIOD))", kind)
}

type uniform struct{ perSecond, i float64 }

func (u *uniform) Next() time.Duration {
	t := u.i / u.perSecond
	u.i++
	return seconds(t)
}

type poisson struct {
	perSecond, t float64
	random       *rand.Rand
}

func (p *poisson) Next() time.Duration {
	p.t += p.random.ExpFloat64() / p.perSecond
	return seconds(p.t)
}

// burst walks through sends counted in rate-seconds: within a period the first
// length seconds weigh factor, the rest 1.
type burst struct {
	perSecond, i           float64
	length, factor, period float64
}

func (b *burst) Next() time.Duration {
	perPeriod := b.length*b.factor + (b.period - b.length)
	work := b.i / b.perSecond
	b.i++
	full := float64(int64(work / perPeriod))
	rest := work - full*perPeriod
	t := full * b.period
	if rest <= b.length*b.factor {
		return seconds(t + rest/b.factor)
	}
	return seconds(t + b.length + (rest - b.length*b.factor))
}

func parseBurst(kind string) (*burst, error) {
	bad := fmt.Errorf("%q is not burst(LENGTH@FACTORx/PERIOD), such as burst(10s@2x/60s)", kind)
	inner, ok := strings.CutSuffix(strings.TrimPrefix(kind, "burst("), ")")
	if !ok {
		return nil, bad
	}
	lengthText, rest, ok1 := strings.Cut(inner, "@")
	factorText, periodText, ok2 := strings.Cut(rest, "x/")
	length, err1 := time.ParseDuration(lengthText)
	period, err2 := time.ParseDuration(periodText)
	factor, err3 := strconv.ParseFloat(factorText, 64)
	if !ok1 || !ok2 || err1 != nil || err2 != nil || err3 != nil || length <= 0 || period < length || !(factor >= 1 && factor <= 1000) {
		return nil, bad
	}
	return &burst{length: length.Seconds(), factor: factor, period: period.Seconds()}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
