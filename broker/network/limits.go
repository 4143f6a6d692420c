package network

import (
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// admission counts open connections against their bounds. It is guarded by the
// Server's mutex.
type admission struct {
	most, mostPerIP int
	open            int
	perIP           map[netip.Addr]int
}

// enter takes a place for a connection from ip, or says why there is none.
func (a *admission) enter(ip netip.Addr) (refusal Refusal, ok bool) {
	switch {
	case a.open >= a.most:
		return RefusedTotal, false
	case a.perIP[ip] >= a.mostPerIP:
		return RefusedPerIP, false
	}
	a.open++
	a.perIP[ip]++
	return 0, true
}

func (a *admission) leave(ip netip.Addr) {
	a.open--
	if a.perIP[ip]--; a.perIP[ip] == 0 {
		delete(a.perIP, ip)
	}
}

// refusals is when a refusal of each kind was last told to the operator. It is confined
// to the accept goroutine.
type refusals [numRefusals]time.Time

// tellEvery is how often one is told: who is refused tries again at once.
const tellEvery = time.Minute

// level is at which level a refusal at now is logged. That of a shutdown is no news.
func (r *refusals) level(kind Refusal, now time.Time) slog.Level {
	if kind == RefusedShutdown || !r[kind].IsZero() && now.Sub(r[kind]) < tellEvery {
		return slog.LevelDebug
	}
	r[kind] = now
	return slog.LevelWarn
}

// addressOf is the IP of a peer; the zero Addr for what is not TCP.
func addressOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// bucket is a token bucket: perSecond tokens a second, as many at most. It is
// confined to the accept goroutine.
type bucket struct {
	perSecond int
	tokens    float64
	last      time.Time
}

// take takes a token at now, or returns how long to wait before asking again.
func (b *bucket) take(now time.Time) time.Duration {
	if b.perSecond <= 0 {
		return 0
	}
	if b.last.IsZero() {
		b.tokens = float64(b.perSecond)
	} else {
		b.tokens = min(b.tokens+now.Sub(b.last).Seconds()*float64(b.perSecond), float64(b.perSecond))
	}
	b.last = now
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / float64(b.perSecond) * float64(time.Second))
	}
	b.tokens--
	return 0
}
