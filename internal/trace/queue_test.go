package trace

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// gate is a writer that stands still until it is opened.
type gate struct {
	open chan struct{}
	bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(p)
}

// TestQueueDropsAndSaysSo: a flood that the writer cannot follow blocks nobody; what
// is lost is counted, and the file says where.
func TestQueueDropsAndSaysSo(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	q := NewQueue(g, nil)
	tr := NewClockedTracer(1, q, 0, func() time.Duration { return time.Second })
	const emitters, each = 4, 25_000
	var all sync.WaitGroup
	for range emitters {
		all.Go(func() {
			for i := range int64(each) {
				tr.Emit(Event{Kind: HW, TopicPartition: "orders-0", Epoch: 1, From: i, To: i + 1})
			}
		})
	}
	all.Wait() // The writer has not written a byte.
	if q.Dropped() == 0 {
		t.Fatal("nothing was dropped: the flood is too small, or memory is not bounded")
	}
	close(g.open)
	for len(q.free) == 0 {
		time.Sleep(time.Millisecond)
	}
	tr.Emit(Event{Kind: Verdict, What: "last"})
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	var written, told int64
	next, last := uint64(1), ""
	err := Read(&g.Buffer, func(e Event) error {
		if e.Kind == Drop {
			told += e.Count
			next += uint64(e.Count) - 1
		} else {
			written++
		}
		if e.ID.Seq != next {
			t.Fatalf("event %v follows number %d", e.ID, next-1)
		}
		next, last = e.ID.Seq+1, e.What
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if told != q.Dropped() || uint64(written+told) != next-1 || last != "last" {
		t.Errorf("%d events written and %d told lost of %d, the last %q; want %d lost and the last one there", written, told, next-1, last, q.Dropped())
	}
}

// slow counts how often it is called.
type slow struct{ calls atomic.Int64 }

func (s *slow) Write(p []byte) (int, error) {
	s.calls.Add(1)
	return len(p), nil
}

// TestQueueTellsOfTheLastLoss: nothing needs to follow for a loss to be told.
func TestQueueTellsOfTheLastLoss(t *testing.T) {
	g := &gate{open: make(chan struct{})}
	q := NewQueue(g, nil)
	tr := NewTracer(1, q)
	for q.Dropped() < 3 {
		tr.Emit(Event{Kind: HW, TopicPartition: "orders-0"})
	}
	close(g.open)
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	var last Event
	if err := Read(&g.Buffer, func(e Event) error { last = e; return nil }); err != nil {
		t.Fatal(err)
	}
	if last.Kind != Drop || last.Count != 3 {
		t.Errorf("the last event is %s, want that 3 were lost", AppendText(nil, &last))
	}
}

// TestQueueWritesBeforeLong: a page that does not fill goes out all the same.
func TestQueueWritesBeforeLong(t *testing.T) {
	w := &slow{}
	q := NewQueue(w, nil)
	defer q.Close()
	NewTracer(1, q).Emit(Event{Kind: Verdict, What: "I1"})
	for deadline := time.Now().Add(time.Minute); w.calls.Load() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("an event is not written")
		}
	}
}

func TestQueueTellsOfAFullDisk(t *testing.T) {
	var told error
	q := NewQueue(fullDisk{}, func(err error) { told = err })
	NewTracer(1, q).Emit(Event{Kind: Verdict, What: "I1"})
	if err := q.Close(); err != io.ErrShortWrite || told != err {
		t.Errorf("closed with %v, told %v, want %v", err, told, io.ErrShortWrite)
	}
}

func TestQueueAllocatesNothing(t *testing.T) {
	q := NewQueue(io.Discard, nil)
	defer q.Close()
	tr := NewTracer(1, q)
	for range 200_000 { // every page is made
		tr.Emit(Event{Kind: HW, TopicPartition: "orders-0", From: 1, To: 2})
	}
	if n := testing.AllocsPerRun(10_000, func() { tr.Emit(Event{Kind: HW, TopicPartition: "orders-0", From: 1, To: 2}) }); n != 0 {
		t.Errorf("an event: %v allocations, want 0", n)
	}
}

func TestPace(t *testing.T) {
	var p Pace
	passed := 0
	for i := range 1000 {
		if p.Pass(time.Duration(i) * time.Millisecond / 5) { // 1000 in 200 ms
			passed++
		}
	}
	if passed != 2*PaceEvents {
		t.Errorf("%d events passed in two windows, want %d", passed, 2*PaceEvents)
	}
}

func BenchmarkQueue(b *testing.B) {
	q := NewQueue(io.Discard, nil)
	defer q.Close()
	tr := NewTracer(1, q)
	b.ReportAllocs()
	for b.Loop() {
		tr.Emit(Event{Kind: Append, TopicPartition: "orders-0", Epoch: 3, From: 7, To: 9, Records: 2})
	}
}
