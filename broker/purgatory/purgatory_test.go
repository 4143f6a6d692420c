package purgatory

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/clock"
)

// op is an operation that completes once its condition holds, and counts how it
// ended.
type op struct {
	ready                        *atomic.Bool
	tries                        atomic.Int32
	completed, expired, canceled atomic.Int32
}

func (o *op) TryComplete() bool {
	o.tries.Add(1)
	if !o.ready.Load() {
		return false
	}
	o.completed.Add(1)
	return true
}
func (o *op) Expire() { o.expired.Add(1) }
func (o *op) Cancel() { o.canceled.Add(1) }

func (o *op) ends() int32 { return o.completed.Load() + o.expired.Load() + o.canceled.Load() }

func newOp() *op { return &op{ready: new(atomic.Bool)} }

func TestWakeCompletes(t *testing.T) {
	p := New(clock.NewManual(time.Unix(0, 0)))
	var a, b Key
	o := newOp()
	p.Park(o, time.Second, &a, &b)
	a.Wake()
	if got := o.ends(); got != 0 {
		t.Fatalf("a wake before the condition holds ended the operation %d times", got)
	}
	o.ready.Store(true)
	b.Wake()
	a.Wake()
	if got := o.completed.Load(); got != 1 {
		t.Errorf("operation completed %d times, want once", got)
	}
	if a.Watchers() != 0 || b.Watchers() != 0 || p.Parked() != 0 {
		t.Errorf("after the end %d and %d watch, %d are parked; want none", a.Watchers(), b.Watchers(), p.Parked())
	}
}

// TestParkLooksAgain: a change between the caller's look and the watch must not
// be missed.
func TestParkLooksAgain(t *testing.T) {
	p := New(clock.NewManual(time.Unix(0, 0)))
	var k Key
	o := newOp()
	o.ready.Store(true)
	p.Park(o, time.Second, &k)
	if o.completed.Load() != 1 || k.Watchers() != 0 {
		t.Errorf("completed %d times with %d watchers, want once and none", o.completed.Load(), k.Watchers())
	}
}

func TestDeadlineExpires(t *testing.T) {
	c := clock.NewManual(time.Unix(0, 0))
	p := New(c)
	var k Key
	o := newOp()
	p.Park(o, 500*time.Millisecond, &k)
	c.Advance(499 * time.Millisecond)
	if got := o.ends(); got != 0 {
		t.Fatalf("ended %d times before the deadline", got)
	}
	c.Advance(2 * time.Millisecond)
	o.ready.Store(true)
	k.Wake()
	if o.expired.Load() != 1 || o.ends() != 1 {
		t.Errorf("expired %d times of %d ends, want once", o.expired.Load(), o.ends())
	}
}

func TestCancelWith(t *testing.T) {
	p := New(clock.NewManual(time.Unix(0, 0)))
	var k Key
	var closed func()
	stops := 0
	register := func(cancel func()) func() bool {
		closed = cancel
		return func() bool { stops++; return true }
	}
	gone := newOp()
	p.Park(gone, time.Second, &k).CancelWith(register)
	closed()
	closed()
	if gone.canceled.Load() != 1 || k.Watchers() != 0 {
		t.Errorf("a client that left: canceled %d times, %d watchers; want once and none", gone.canceled.Load(), k.Watchers())
	}
	stays := newOp()
	p.Park(stays, time.Second, &k).CancelWith(register)
	before := stops
	stays.ready.Store(true)
	k.Wake()
	if stops != before+1 {
		t.Errorf("an operation that completed left its callback on the connection")
	}
	left := newOp()
	p.Park(left, time.Second, &k).CancelWith(func(cancel func()) func() bool {
		cancel() // the client had gone before
		return func() bool { return false }
	})
	if left.canceled.Load() != 1 {
		t.Errorf("a client that had left: canceled %d times, want once", left.canceled.Load())
	}
}

// TestEndsExactlyOnce races wakes, deadlines and cancellations of many operations
// over a few keys.
func TestEndsExactlyOnce(t *testing.T) {
	p := New(clock.Real{})
	defer p.Close()
	keys := make([]Key, 8)
	ops := make([]*op, 2000)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 7))
			for i := w; i < len(ops); i += 4 {
				o := newOp()
				ops[i] = o
				a, b := &keys[rnd.IntN(len(keys))], &keys[rnd.IntN(len(keys))]
				waiter := p.Park(o, time.Duration(rnd.IntN(3))*time.Millisecond, a, b)
				switch rnd.IntN(3) {
				case 0:
					o.ready.Store(true)
					a.Wake()
				case 1:
					waiter.Cancel()
				}
				b.Wake()
			}
		})
	}
	wg.Wait()
	for p.Parked() > 0 {
		runtime.Gosched() // the deadlines are milliseconds away
	}
	for i, o := range ops {
		if got := o.ends(); got != 1 {
			t.Fatalf("operation %d ended %d times, want once", i, got)
		}
	}
	for i := range keys {
		if got := keys[i].Watchers(); got != 0 {
			t.Errorf("key %d has %d watchers left, want none", i, got)
		}
	}
}

// TestFiftyThousandParked: the cost of each is bounded, a wake reaches only those
// who watch the key, and cancelling leaves nothing.
func TestFiftyThousandParked(t *testing.T) {
	const count, perKey = 50_000, 10
	p := New(clock.NewManual(time.Unix(0, 0)))
	keys := make([]Key, count/perKey)
	ops := make([]*op, count)
	for i := range ops {
		ops[i] = newOp()
	}
	waiters := make([]*Waiter, count)
	before := heap()
	for i := range ops {
		waiters[i] = p.Park(ops[i], 500*time.Millisecond, &keys[i/perKey])
	}
	each := float64(heap()-before) / count
	t.Logf("%.0f bytes per parked operation", each)
	if each > 512 {
		t.Errorf("a parked operation takes %.0f bytes, want at most 512", each)
	}
	for i := range ops {
		ops[i].ready.Store(true)
		ops[i].tries.Store(0)
	}
	keys[123].Wake()
	woken := 0
	for i, o := range ops {
		if o.tries.Load() == 0 {
			continue
		}
		woken++
		if i/perKey != 123 {
			t.Fatalf("operation %d of another partition was woken", i)
		}
	}
	if woken != perKey || p.Parked() != count-perKey {
		t.Errorf("a wake reached %d operations and left %d parked, want %d and %d", woken, p.Parked(), perKey, count-perKey)
	}
	for _, w := range waiters {
		w.Cancel()
	}
	if got := p.Parked(); got != 0 {
		t.Errorf("%d operations are parked after all were cancelled", got)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestWakeOfNobodyDoesNotAllocate(t *testing.T) {
	var k Key
	if got := testing.AllocsPerRun(100, k.Wake); got != 0 {
		t.Errorf("Wake without watchers allocates %v times, want 0", got)
	}
}

func BenchmarkParkWake(b *testing.B) {
	p := New(clock.Real{})
	defer p.Close()
	var k Key
	b.ReportAllocs()
	for b.Loop() {
		o := &op{ready: new(atomic.Bool)}
		p.Park(o, time.Second, &k)
		o.ready.Store(true)
		k.Wake()
	}
}
