package shard

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tidemark/internal/clock"
)

// TestEverythingAtOnce lets many goroutines submit while leadership comes and goes,
// appends are refused now and then and timers run: every request has one reply, and
// what was acknowledged is in the log.
func TestEverythingAtOnce(t *testing.T) {
	log := newLog()
	h := New(Options[*diary, string]{
		Clock: clock.Real{}, New: func(int32) *diary { return &diary{loaded: make(chan struct{}, 1)} }, Codec: text{},
		CommitTimeout: time.Millisecond, MaxQueued: 100, LoadBytes: 1 << 10,
	})
	const senders, elections = 8, 150
	var requests, replies, acknowledged atomic.Int64
	var sending, others sync.WaitGroup
	stop := make(chan struct{})
	others.Go(func() {
		defer close(stop)
		rnd := rand.New(rand.NewPCG(1, 1))
		for epoch := int32(1); epoch < elections; epoch++ {
			log.set(func() { log.epoch, log.manual, log.refuse = epoch, rnd.IntN(2) == 0, rnd.IntN(4) == 0 })
			h.Elected(0, epoch, log)
			for before := replies.Load(); replies.Load() < before+100; {
				log.commit()
				runtime.Gosched()
			}
			if rnd.IntN(2) == 0 {
				h.Resigned(0, epoch)
				epoch++
			}
		}
	})
	for range senders {
		sending.Go(func() {
			for ; ; runtime.Gosched() {
				select {
				case <-stop:
					return
				default:
				}
				requests.Add(1)
				done := make(chan Reply, 2)
				h.Submit(0, func(d *diary, now time.Time, token Token, out *Outcome[string]) {
					write("r")(d, now, token, out)
					out.RecordsOnly = token%3 > 0
					out.Set(TimerKey{Name: "writes", Kind: int8(token % 5)}, time.Millisecond)
				}, func(r Reply) { replies.Add(1); done <- r })
				if r := <-done; r.Err == nil {
					acknowledged.Add(1)
				}
			}
		})
	}
	sending.Wait()
	others.Wait()
	h.Close()
	if got, want := replies.Load(), requests.Load(); got != want {
		t.Errorf("%d replies to %d requests", got, want)
	}
	inLog := int64(0)
	for _, b := range log.batches {
		inLog += int64(b.Count())
	}
	if acknowledged.Load() == 0 || acknowledged.Load() > inLog {
		t.Errorf("%d acknowledged, %d in the log", acknowledged.Load(), inLog)
	}
	t.Logf("%d of %d acknowledged, %d records in the log", acknowledged.Load(), requests.Load(), inLog)
}

// BenchmarkSubmit is one operation without records, there and back.
func BenchmarkSubmit(b *testing.B) {
	h := New(Options[*diary, string]{
		Clock: clock.Real{}, New: func(int32) *diary { return &diary{loaded: make(chan struct{}, 1)} }, Codec: text{},
		CommitTimeout: time.Second, MaxQueued: 100, LoadBytes: 1 << 10,
	})
	defer h.Close()
	h.Elected(0, 1, newLog())
	for h.State(0) != Active {
		time.Sleep(time.Millisecond)
	}
	done := make(chan struct{}, 1)
	op := func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Set(TimerKey{Name: "group", Member: "member"}, time.Hour)
		out.Reply(token, nil, nil)
	}
	b.ReportAllocs()
	for b.Loop() {
		h.Submit(0, op, func(Reply) { done <- struct{}{} })
		<-done
	}
}
