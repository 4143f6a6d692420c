package commitlog

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// TestTurnsInOrder: who asks while it waits runs once, who asks while it runs gets
// a further turn behind those who wait, and what was asked for before Close runs.
func TestTurnsInOrder(t *testing.T) {
	turns := NewTurns(1)
	var ran []string
	held, hold := make(chan struct{}), make(chan struct{})
	turns.Join(func() { close(held); <-hold }).Ask()
	<-held
	var a *Turn
	times := 0
	a = turns.Join(func() {
		ran = append(ran, "a")
		if times++; times == 1 {
			if a.Next() {
				t.Error("a turn nobody asked for is said to follow")
			}
			a.Ask()
			if a.Next() {
				t.Error("a's further turn is said to follow at once although b waits")
			}
		}
	})
	b := turns.Join(func() { ran = append(ran, "b") })
	a.Ask()
	b.Ask()
	a.Ask()
	b.Ask()
	close(hold)
	turns.Close()
	if want := []string{"a", "b", "a"}; !slices.Equal(ran, want) {
		t.Errorf("ran %v, want %v", ran, want)
	}
	a.Ask()
	if len(ran) != 3 {
		t.Error("a task ran after Close")
	}
}

// TestTurnsMissNothing: whatever was counted before Ask is seen by a run that ends
// after it; no task runs twice at a time.
func TestTurnsMissNothing(t *testing.T) {
	turns := NewTurns(3)
	const members, rounds = 5, 2000
	var appended, seen [members]atomic.Int64
	var running [members]atomic.Bool
	var list []*Turn
	for i := range members {
		list = append(list, turns.Join(func() {
			if running[i].Swap(true) {
				t.Error("a task runs twice at a time")
			}
			seen[i].Store(appended[i].Load())
			running[i].Store(false)
		}))
	}
	var asking sync.WaitGroup
	for range 2 {
		asking.Go(func() {
			for n := range rounds {
				appended[n%members].Add(1)
				list[n%members].Ask()
			}
		})
	}
	asking.Wait()
	turns.Close()
	for i := range members {
		if got, want := seen[i].Load(), appended[i].Load(); got != want {
			t.Errorf("task %d saw %d of %d", i, got, want)
		}
	}
}

// TestTurnsAllocateNothing: asking is on the path of an append.
func TestTurnsAllocateNothing(t *testing.T) {
	turns := NewTurns(1)
	defer turns.Close()
	done := make(chan struct{}, 1)
	turn := turns.Join(func() { done <- struct{}{} })
	if n := testing.AllocsPerRun(100, func() { turn.Ask(); <-done }); n > 0 {
		t.Errorf("%v allocations per turn, want 0", n)
	}
}
