package proxy

import (
	"testing"
	"time"
)

// TestQueueTimes is the arithmetic: when each piece arrives, in milliseconds.
func TestQueueTimes(t *testing.T) {
	start := time.Unix(1000, 0)
	tests := []struct {
		name string
		rule Rule
		want []int // of 10 bytes at 0 ms and 10 bytes at 1 ms
	}{
		{"delay", Rule{Delay: 20 * time.Millisecond}, []int{20, 21}},
		{"slices", Rule{SliceBytes: 5}, []int{0, 0, 1, 1}},
		{"a byte each millisecond", Rule{SliceBytes: 1, BytesPerSecond: 1000}, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
		{"rate and delay", Rule{BytesPerSecond: 1000, Delay: 5 * time.Millisecond}, []int{15, 25}},
	}
	for _, test := range tests {
		q := newQueue(1)
		q.put(make([]byte, 10), test.rule, start)
		q.put(make([]byte, 10), test.rule, start.Add(time.Millisecond))
		var got []int
		for !q.empty() {
			got = append(got, int(q.due().Sub(start)/time.Millisecond))
			q.pop()
		}
		if len(got) != len(test.want) {
			t.Errorf("%s: pieces at %v ms, want %v", test.name, got, test.want)
			continue
		}
		for i := range got {
			if got[i] != test.want[i] {
				t.Errorf("%s: pieces at %v ms, want %v", test.name, got, test.want)
				break
			}
		}
		if q.bytes != 0 {
			t.Errorf("%s: %d bytes left in an empty queue", test.name, q.bytes)
		}
	}
}

// TestJitterKeepsOrderAndSeed: later bytes never overtake, and the same seed gives
// the same times.
func TestJitterKeepsOrderAndSeed(t *testing.T) {
	rule := Rule{Delay: time.Millisecond, Jitter: 10 * time.Millisecond}
	times := func(seed uint64) (out []time.Time) {
		q := newQueue(seed)
		now := time.Unix(1000, 0)
		for range 100 {
			q.put([]byte{1}, rule, now)
			if got := q.last.Sub(now); got < rule.Delay {
				t.Fatalf("a piece takes %s", got)
			}
			out = append(out, q.last)
			now = now.Add(time.Millisecond)
		}
		return out
	}
	a, b, other := times(1), times(1), times(2)
	same, differs := true, false
	for i := range a {
		if i > 0 && a[i].Before(a[i-1]) {
			t.Fatalf("piece %d overtakes", i)
		}
		same = same && a[i].Equal(b[i])
		differs = differs || !a[i].Equal(other[i])
	}
	if !same || !differs {
		t.Errorf("the same seed gives the same times: %t; another one others: %t", same, differs)
	}
}
