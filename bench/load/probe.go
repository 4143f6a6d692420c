package load

import (
	"context"
	"time"

	"tidemark/bench/schedule"
)

// Probe reads what processes have used so far. A zero Usage is unknown.
type Probe interface {
	// Broker is the target's usage; the zero Usage when it is in this process
	// or elsewhere.
	Broker() Usage
	// Client is this process's usage.
	Client() Usage
	// Threads is the CPU time of every thread of this process, by id.
	Threads() map[int]int64
	// Machine is the CPU time of all processors.
	Machine() Machine
}

// Debtor is a Probe that knows the target's durability debt too.
type Debtor interface {
	// Debt is how many records the target has acknowledged and not synced; −1
	// where that is unknown.
	Debt() int64
}

// Clustered is a Probe of a target that consists of more than brokers; what is not
// there has used nothing.
type Clustered interface {
	// Store is the usage of the brokers' metadata store: part of what the target costs.
	Store() Usage
	// Mesh is the usage of the proxy mesh between them: part of the harness.
	Mesh() Usage
}

// Machine is accumulated CPU time of the whole machine; zero is unknown.
type Machine struct{ TotalNs, IdleNs, StealNs int64 }

// Usage is accumulated processor time and present memory of a process.
type Usage struct {
	UserNs, SysNs int64
	RSSAnonBytes  int64
}

// CPUNs is user and system time.
func (u Usage) CPUNs() int64 { return u.UserNs + u.SysNs }

// sample is one reading.
type sample struct {
	at                          int64
	broker, client, store, mesh Usage
	debt                        int64
}

// ours is the processor time so far of all that belongs to the run.
func (s sample) ours() int64 {
	return s.broker.CPUNs() + s.client.CPUNs() + s.store.CPUNs() + s.mesh.CPUNs()
}

// sampling reads a probe at the start of the window, at the end of every
// interval and at the end of the window.
type sampling struct {
	samples           []sample
	machine           Machine // within the window
	rssAnonPeak       int64
	clientMaxThreadNs int64 // the busiest thread, within the window

	threads0 map[int]int64
	machine0 Machine
}

func take(p Probe) sample {
	s := sample{at: schedule.Now(), broker: p.Broker(), client: p.Client(), debt: -1}
	if d, ok := p.(Debtor); ok {
		s.debt = d.Debt()
	}
	if c, ok := p.(Clustered); ok {
		s.store, s.mesh = c.Store(), c.Mesh()
	}
	return s
}

// watch samples until the span is closed or ctx is done; the result is complete
// when the returned channel is closed.
func watch(ctx context.Context, p Probe, s *span) (*sampling, <-chan struct{}) {
	w := &sampling{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.started:
		case <-ctx.Done():
			return
		}
		if !sleepUntil(ctx, s.start.Load()) {
			return
		}
		w.first(p)
		for next := s.start.Load() + s.interval; ; next += s.interval {
			if !w.sleep(ctx, s, next) {
				break
			}
			w.one(p)
		}
		w.last(p)
	}()
	return w, done
}

// sleep waits until t; false means that the window ended first.
func (w *sampling) sleep(ctx context.Context, s *span, t int64) bool {
	end := s.end.Load()
	if end <= t {
		sleepUntil(ctx, end)
		return false
	}
	timer := time.NewTimer(time.Duration(max(0, t-schedule.Now())))
	defer timer.Stop()
	closed := s.closed
	if end != unset {
		closed = nil // decided beforehand, and later than t
	}
	select {
	case <-timer.C:
		return true
	case <-closed:
		return false
	case <-ctx.Done():
		return false
	}
}

func sleepUntil(ctx context.Context, t int64) bool {
	timer := time.NewTimer(time.Duration(max(0, t-schedule.Now())))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (w *sampling) one(p Probe) {
	s := take(p)
	w.samples = append(w.samples, s)
	w.rssAnonPeak = max(w.rssAnonPeak, s.broker.RSSAnonBytes)
}

func (w *sampling) first(p Probe) {
	w.threads0 = p.Threads()
	w.machine0 = p.Machine()
	w.one(p)
}

func (w *sampling) last(p Probe) {
	w.one(p)
	m := p.Machine()
	w.machine = Machine{TotalNs: m.TotalNs - w.machine0.TotalNs, IdleNs: m.IdleNs - w.machine0.IdleNs, StealNs: m.StealNs - w.machine0.StealNs}
	for id, ns := range p.Threads() {
		w.clientMaxThreadNs = max(w.clientMaxThreadNs, ns-w.threads0[id])
	}
}

// lengthNs is the time between the first and the last reading.
func (w *sampling) lengthNs() int64 {
	if len(w.samples) < 2 {
		return 0
	}
	return w.samples[len(w.samples)-1].at - w.samples[0].at
}
