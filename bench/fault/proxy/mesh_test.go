package proxy

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a mesh with one target, broker 2, that hands out what it accepts.
type rig struct {
	t        *testing.T
	mesh     *Mesh
	address  string
	accepted chan *net.TCPConn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, mesh: New(1), accepted: make(chan *net.TCPConn, 10)}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { s.Close() })
			r.accepted <- s.(*net.TCPConn)
		}
	})
	address, err := r.mesh.Listen("127.0.0.1:0", Broker(2), Who)
	if err != nil {
		t.Fatal(err)
	}
	r.address = address.String()
	r.mesh.Target(Broker(2), l.Addr().String())
	t.Cleanup(func() {
		if err := r.mesh.Close(); err != nil {
			t.Error(err)
		}
		l.Close()
		accepting.Wait()
	})
	return r
}

// dial connects as broker 1.
func (r *rig) dial() *net.TCPConn { return r.dialFrom("127.0.1.1") }

func (r *rig) dialFrom(ip string) *net.TCPConn {
	r.t.Helper()
	before := r.opened()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	s, err := d.Dial("tcp", r.address)
	if err != nil {
		r.t.Fatal(err)
	}
	for r.opened() == before { // Rules of that moment apply to it.
		time.Sleep(time.Millisecond)
	}
	r.t.Cleanup(func() { s.Close() })
	return s.(*net.TCPConn)
}

// opened is how many connections the mesh has taken.
func (r *rig) opened() (n uint64) {
	r.mesh.mu.Lock()
	defer r.mesh.mu.Unlock()
	for _, opened := range r.mesh.opened {
		n += opened
	}
	return n
}

// dialIsReset connects as broker 1 and wants a reset, which may come at once.
func (r *rig) dialIsReset() {
	r.t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.1.1")}}
	s, err := d.Dial("tcp", r.address)
	if err == nil {
		defer s.Close()
		r.isReset(s.(*net.TCPConn))
	} else if !errors.Is(err, syscall.ECONNRESET) {
		r.t.Fatal(err)
	}
}

// pair is both ends of a connection through the mesh.
func (r *rig) pair() (opener, target *net.TCPConn) {
	r.t.Helper()
	opener = r.dial()
	return opener, r.accept()
}

const patience = 2 * time.Minute

func (r *rig) accept() *net.TCPConn {
	r.t.Helper()
	select {
	case s := <-r.accepted:
		return s
	case <-time.After(patience):
		r.t.Fatal("nobody reached the target")
		return nil
	}
}

func (r *rig) set(rule Rule, flows ...Flow) {
	r.t.Helper()
	if err := r.mesh.Set(rule, 0, flows...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) passes(from, to *net.TCPConn) {
	r.t.Helper()
	r.send(from, "hello")
	r.gets(to, "hello")
}

func (r *rig) send(s *net.TCPConn, text string) {
	r.t.Helper()
	if _, err := s.Write([]byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) gets(s *net.TCPConn, want string) {
	r.t.Helper()
	got := make([]byte, len(want))
	s.SetReadDeadline(time.Now().Add(patience))
	if n, err := io.ReadFull(s, got); err != nil || string(got) != want {
		r.t.Fatalf("got %q, %v; want %q", got[:n], err, want)
	}
}

// silent tells that nothing arrives for a moment: it can miss a fault, and never
// reports one that is not there.
func (r *rig) silent(s *net.TCPConn) {
	r.t.Helper()
	s.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	n, err := s.Read(make([]byte, 10))
	if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		r.t.Fatalf("got %d bytes, %v; want silence", n, err)
	}
}

func (r *rig) isReset(s *net.TCPConn) {
	r.t.Helper()
	s.SetReadDeadline(time.Now().Add(patience))
	if _, err := io.Copy(io.Discard, s); !errors.Is(err, syscall.ECONNRESET) {
		r.t.Fatalf("the connection ended with %v, want a reset", err)
	}
}

var there = Flow{Broker(1), Broker(2)}

func TestPassesBothWaysAndEnds(t *testing.T) {
	r := newRig(t)
	opener, target := r.pair()
	r.passes(opener, target)
	r.passes(target, opener)
	if got := target.RemoteAddr().(*net.TCPAddr).IP.String(); got != "127.0.1.1" {
		t.Errorf("the target sees %s, want its true peer 127.0.1.1", got)
	}
	opener.CloseWrite()
	target.SetReadDeadline(time.Now().Add(patience))
	if rest, err := io.ReadAll(target); err != nil || len(rest) > 0 {
		t.Fatalf("after the end %q, %v", rest, err)
	}
	r.passes(target, opener) // the other way is still open
}

func TestHangKeepsWhatIsSent(t *testing.T) {
	for _, flows := range [][]Flow{{there}, {there.Back()}, {there, there.Back()}} {
		r := newRig(t)
		opener, target := r.pair()
		r.passes(opener, target)
		r.set(Rule{Mode: Hang}, flows...)
		r.send(opener, "to")
		r.send(target, "fro")
		cut := map[Flow]bool{}
		for _, f := range flows {
			cut[f] = true
		}
		if cut[there] {
			r.silent(target)
		} else {
			r.gets(target, "to")
		}
		if cut[there.Back()] {
			r.silent(opener)
		} else {
			r.gets(opener, "fro")
		}
		r.mesh.Heal()
		if cut[there] {
			r.gets(target, "to")
		}
		if cut[there.Back()] {
			r.gets(opener, "fro")
		}
	}
}

// TestCutIsOfOnePair: a client at the same listener is not concerned.
func TestCutIsOfOnePair(t *testing.T) {
	r := newRig(t)
	r.set(Rule{Mode: Reset}, there)
	r.dialIsReset()
	client := r.dialFrom("127.0.0.1")
	r.passes(client, r.accept())
}

func TestNewConnectionsWaitForTheHeal(t *testing.T) {
	for _, f := range []Flow{there, there.Back()} {
		r := newRig(t)
		r.set(Rule{Mode: Hang}, f)
		opener, gone := r.dial(), r.dial()
		r.send(opener, "early")
		gone.Close()
		select {
		case <-r.accepted:
			t.Fatalf("%s is cut and the target was reached", f)
		case <-time.After(50 * time.Millisecond):
		}
		r.set(Rule{}, f)
		first := r.accept()
		first.SetReadDeadline(time.Now().Add(patience))
		got, err := io.ReadAll(io.LimitReader(first, 5))
		if len(got) == 0 { // who has gone, known no earlier: a race that TCP has too
			r.gets(r.accept(), "early")
			continue
		}
		if string(got) != "early" {
			t.Fatalf("got %q, %v; want what was sent early", got, err)
		}
		select {
		case s := <-r.accepted:
			s.SetReadDeadline(time.Now().Add(patience))
			if _, err := s.Read(make([]byte, 1)); err == nil {
				t.Error("who has gone has sent something")
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestReset(t *testing.T) {
	r := newRig(t)
	opener, target := r.pair()
	r.mesh.ResetNow(there.Back()) // whichever way is named
	r.isReset(opener)
	r.isReset(target)
	opener, target = r.pair() // once only
	r.passes(opener, target)
	r.set(Rule{Mode: Reset}, there)
	r.isReset(opener)
	r.isReset(target)
	r.mesh.Heal()
	opener, target = r.pair()
	r.passes(opener, target)
}

func TestHalfOpen(t *testing.T) {
	r := newRig(t)
	opener, target := r.pair()
	r.passes(opener, target)
	r.set(Rule{Mode: HalfOpen}, there)
	r.isReset(target)
	late := r.dial()
	for _, s := range []*net.TCPConn{opener, late} {
		r.send(s, "into the void")
		r.silent(s)
	}
	r.mesh.Heal()
	r.isReset(opener)
	r.isReset(late)

	opener, target = r.pair()
	r.passes(opener, target)
	r.set(Rule{Mode: HalfOpen}, there.Back())
	r.isReset(opener)
	r.send(target, "into the void")
	r.silent(target)
	r.dialIsReset() // whoever opens a connection is forgotten too
}

func TestDeadTargetResets(t *testing.T) {
	r := newRig(t)
	r.mesh.Target(Broker(2), "127.0.0.1:1")
	r.dialIsReset()
}

// TestShapedBytesArriveWhole sends through rules that change all the while.
func TestShapedBytesArriveWhole(t *testing.T) {
	r := newRig(t)
	opener, target := r.pair()
	random := rand.New(rand.NewPCG(7, 7))
	sent := make([]byte, 3<<20)
	for i := range sent {
		sent[i] = byte(random.Uint32())
	}
	stop := make(chan struct{})
	var changing sync.WaitGroup
	changing.Go(func() {
		rules := []Rule{{}, {Delay: 2 * time.Millisecond}, {BytesPerSecond: 50 << 20, Jitter: time.Millisecond}, {Mode: Hang}, {SliceBytes: 1000}, {}}
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				r.mesh.Set(rules[i%len(rules)], 0, there)
			}
		}
	})
	go func() {
		opener.Write(sent)
		opener.CloseWrite()
	}()
	target.SetReadDeadline(time.Now().Add(3 * patience))
	got, err := io.ReadAll(target)
	close(stop)
	changing.Wait()
	if err != nil || sha256.Sum256(got) != sha256.Sum256(sent) {
		t.Errorf("%d bytes of %d arrived, %v, equal: %t", len(got), len(sent), err, bytes.Equal(got, sent))
	}
}

func TestDelayIsKept(t *testing.T) {
	r := newRig(t)
	opener, target := r.pair()
	const delay = 60 * time.Millisecond
	r.passes(opener, target)
	r.set(Rule{Delay: delay}, there)
	for range 3 {
		began := time.Now()
		r.passes(opener, target)
		if took := time.Since(began); took < delay {
			t.Errorf("the bytes took %s, want %s or more", took, delay)
		}
	}
}

func TestRuleEndsByItself(t *testing.T) {
	r := newRig(t)
	opener, target := r.pair()
	if err := r.mesh.Set(Rule{Mode: Hang}, 30*time.Millisecond, there); err != nil {
		t.Fatal(err)
	}
	r.passes(opener, target)
	faults := r.mesh.Timeline()
	if len(faults) != 1 || faults[0].Flow != there || faults[0].Rule.Mode != Hang || faults[0].End.Sub(faults[0].Start) < 30*time.Millisecond {
		t.Errorf("timeline %+v", faults)
	}
	if held := r.mesh.Faults(); len(held) != 0 {
		t.Errorf("after the end %+v still holds", held)
	}
}

func TestRulesAreChecked(t *testing.T) {
	m := New(1)
	defer m.Close()
	for _, r := range []Rule{{Mode: "cut"}, {Delay: -1}, {BytesPerSecond: -1}} {
		if m.Set(r, 0, there) == nil {
			t.Errorf("rule %s was taken", r)
		}
	}
}

func TestCloseLeavesNothing(t *testing.T) {
	r := newRig(t)
	r.set(Rule{Mode: Hang}, Flow{Client, Broker(2)})
	waiting := r.dialFrom("127.0.0.1")
	opener, target := r.pair()
	r.passes(opener, target)
	if err := r.mesh.Close(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*net.TCPConn{waiting, opener, target} {
		r.isReset(s)
	}
}

func TestWho(t *testing.T) {
	for address, want := range map[string]Name{"127.0.1.1": "1", "127.0.1.100": "100", "127.0.0.1": Client, "10.0.1.1": Client, "::1": Client} {
		if got := Who(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
	if got := Who(BrokerIP(7)); got != Broker(7) {
		t.Errorf("broker 7 is taken for %s", got)
	}
}
