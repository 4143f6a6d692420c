package proxy

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tidemark/internal/loopback"
)

// unpaced is how brokers make their connections: the mesh must not be what paces.
var unpaced = loopback.Control(loopback.Unpaced)

// Mesh is a set of listeners and the rules between the names behind them. It is safe
// for concurrent use.
type Mesh struct {
	seed   uint64
	ctx    context.Context // ends at Close; dials live under it
	cancel context.CancelFunc
	work   sync.WaitGroup // accept loops and connections

	mu        sync.Mutex
	closed    bool
	listeners []net.Listener
	targets   map[Name]string
	apart     map[Flow]string      // of openers that are sent elsewhere
	rules     map[Flow]Rule        // the zero Rule is not kept
	ends      map[Flow]*time.Timer // of rules that end by themselves
	conns     map[*conn]struct{}
	opened    map[Flow]uint64 // connections so far, by opener and target
	timeline  timeline
}

// New returns a mesh without listeners. seed is what jitter follows.
func New(seed uint64) *Mesh {
	ctx, cancel := context.WithCancel(context.Background())
	return &Mesh{
		seed: seed, ctx: ctx, cancel: cancel, targets: map[Name]string{}, apart: map[Flow]string{}, rules: map[Flow]Rule{}, ends: map[Flow]*time.Timer{},
		conns: map[*conn]struct{}{}, opened: map[Flow]uint64{}, timeline: timeline{open: map[Flow]int{}},
	}
}

// Listen takes connections at address (host:port, port 0 takes a free one) on their
// way to the name to, whose address Target sets. who tells where a connection comes
// from by its remote address.
func (m *Mesh) Listen(address string, to Name, who func(netip.Addr) Name) (net.Addr, error) {
	of := net.ListenConfig{Control: unpaced}
	l, err := of.Listen(m.ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("mesh: listener for %s: %w", to, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		_ = l.Close() // nobody used it
		return nil, fmt.Errorf("mesh: listener for %s: %w", to, net.ErrClosed)
	}
	m.listeners = append(m.listeners, l)
	m.work.Add(1)
	go m.accept(l, to, who)
	return l.Addr(), nil
}

// Target says where a name listens in truth; connections opened from now on go
// there.
func (m *Mesh) Target(name Name, address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.targets[name] = address
}

// TargetOf says where one name listens for another alone, as each broker may talk to a
// server of its own of one metadata store.
func (m *Mesh) TargetOf(opener Flow, address string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.apart[opener] = address
}

// Set gives flows a rule, for a while or, where it is 0, until it is changed. A flow
// that gets the zero Rule is healed. What is sent after Set has returned goes by the
// rule, unless the receiver has not read for so long that earlier bytes are stuck.
func (m *Mesh) Set(r Rule, lasting time.Duration, flows ...Flow) error {
	if err := r.Check(); err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	m.mu.Lock()
	var taken []<-chan struct{}
	for _, f := range flows {
		taken = append(taken, m.set(f, r)...)
		if lasting > 0 && !m.closed {
			m.endAfter(f, lasting)
		}
	}
	m.mu.Unlock()
	await(taken)
	return nil
}

// stuck is how long a connection may take to go by a rule before nobody waits for
// it any more: it cannot write.
const stuck = 200 * time.Millisecond

func await(taken []<-chan struct{}) {
	t := time.NewTimer(stuck)
	defer t.Stop()
	for _, c := range taken {
		select {
		case <-c:
		case <-t.C:
			return
		}
	}
}

// set is called with mu held. What it returns are closed once each connection goes
// by the rule.
func (m *Mesh) set(f Flow, r Rule) (taken []<-chan struct{}) {
	if t := m.ends[f]; t != nil {
		t.Stop()
		delete(m.ends, f)
	}
	if m.rules[f] == r {
		return nil
	}
	m.timeline.change(f, r, time.Now())
	if r == (Rule{}) {
		delete(m.rules, f)
	} else {
		m.rules[f] = r
	}
	for c := range m.conns {
		if t := c.apply(f, r); t != nil {
			taken = append(taken, t)
		}
	}
	return taken
}

// endAfter is called with mu held.
func (m *Mesh) endAfter(f Flow, lasting time.Duration) {
	var t *time.Timer
	t = time.AfterFunc(lasting, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.ends[f] == t { // else somebody has set it anew
			m.set(f, Rule{})
		}
	})
	m.ends[f] = t
}

// ResetNow resets the connections that carry a flow, once.
func (m *Mesh) ResetNow(f Flow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.timeline.mark(f, Rule{Mode: Reset}, time.Now())
	for c := range m.conns {
		if c.carries(f) {
			c.reset()
		}
	}
}

// Heal gives every flow the zero Rule.
func (m *Mesh) Heal() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range slices.SortedFunc(maps.Keys(m.rules), byName) {
		m.set(f, Rule{})
	}
}

func byName(a, b Flow) int {
	if a.From != b.From {
		return compareNames(a.From, b.From)
	}
	return compareNames(a.To, b.To)
}

// compareNames puts shorter numbers first.
func compareNames(a, b Name) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}

// Faults are the rules that hold, sorted by flow.
func (m *Mesh) Faults() []Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := []Fault{}
	for _, f := range slices.SortedFunc(maps.Keys(m.timeline.open), byName) {
		out = append(out, m.timeline.faults[m.timeline.open[f]])
	}
	return out
}

// Timeline is every fault so far, in the order of their beginnings.
func (m *Mesh) Timeline() []Fault {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.timeline.faults)
}

// Close ends every connection and waits for what it started.
func (m *Mesh) Close() error {
	m.mu.Lock()
	m.closed = true
	m.cancel()
	var errs []error
	for _, l := range m.listeners {
		errs = append(errs, l.Close())
	}
	m.listeners = nil
	for _, t := range m.ends {
		t.Stop()
	}
	clear(m.ends)
	for c := range m.conns {
		c.reset()
	}
	m.mu.Unlock()
	m.work.Wait()
	return errors.Join(errs...)
}

// acceptPause is how long an accept loop rests after an error that passes, as for
// want of file descriptors.
const acceptPause = 10 * time.Millisecond

func (m *Mesh) accept(l net.Listener, to Name, who func(netip.Addr) Name) {
	defer m.work.Done()
	for {
		s, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-time.After(acceptPause):
				continue
			case <-m.ctx.Done():
				return
			}
		}
		remote, err := netip.ParseAddrPort(s.RemoteAddr().String())
		if err != nil {
			_ = s.Close() // not a TCP connection of ours
			continue
		}
		m.open(s.(*net.TCPConn), Flow{From: who(remote.Addr().Unmap()), To: to})
	}
}

// open registers an accepted connection and starts to serve it.
func (m *Mesh) open(s *net.TCPConn, f Flow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		reset(s)
		return
	}
	m.opened[f]++
	c := newConn(m, s, f, m.seedOf(f, m.opened[f]))
	m.conns[c] = struct{}{}
	for _, flow := range []Flow{f, f.Back()} {
		c.apply(flow, m.rules[flow])
	}
	m.work.Add(1)
	go func() {
		defer m.work.Done()
		c.serve()
		m.mu.Lock()
		delete(m.conns, c)
		m.mu.Unlock()
	}()
}

// seedOf makes the jitter of the nth connection of a pair the same in each run.
func (m *Mesh) seedOf(f Flow, n uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.seed, f, n)
	return h.Sum64()
}

func (m *Mesh) target(opener Flow) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if address, ok := m.apart[opener]; ok {
		return address
	}
	return m.targets[opener.To]
}
