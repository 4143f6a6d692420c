package proxy

import (
	"math/rand/v2"
	"time"
)

// queueBytes is how much a flow may have under way: what a network's buffers hold.
const queueBytes = 1 << 20

// queue is the bytes under way of one flow, in pieces with the times at which they
// arrive. It is confined to its pump and reads no clock.
type queue struct {
	random *rand.Rand
	pieces []piece
	bytes  int
	// last is when the last piece arrives, free when the link has sent it off.
	last, free time.Time
}

type piece struct {
	due  time.Time
	data []byte
}

func newQueue(seed uint64) queue { return queue{random: rand.New(rand.NewPCG(seed, 0))} }

func (q *queue) empty() bool { return len(q.pieces) == 0 }

func (q *queue) full() bool { return q.bytes >= queueBytes }

// due is when the next piece arrives; the zero time where none is under way.
func (q *queue) due() time.Time {
	if q.empty() {
		return time.Time{}
	}
	return q.pieces[0].due
}

// put takes a copy of data that was read now.
func (q *queue) put(data []byte, r Rule, now time.Time) {
	for len(data) > 0 {
		n := len(data)
		if r.SliceBytes > 0 {
			n = min(n, r.SliceBytes)
		}
		if r.BytesPerSecond > 0 {
			n = min(n, max(int(r.BytesPerSecond/piecesPerSecond), 1))
		}
		q.pieces = append(q.pieces, piece{q.arrival(n, r, now), append([]byte(nil), data[:n]...)})
		q.bytes += n
		data = data[n:]
	}
}

// piecesPerSecond is how evenly a bounded flow runs.
const piecesPerSecond = 100

// arrival is when n bytes that were read now arrive: sent off after those before
// them, then the way itself, and never before an earlier piece.
func (q *queue) arrival(n int, r Rule, now time.Time) time.Time {
	q.free = later(q.free, now)
	if r.BytesPerSecond > 0 {
		q.free = q.free.Add(time.Duration(float64(n) / float64(r.BytesPerSecond) * float64(time.Second)))
	}
	way := r.Delay
	if r.Jitter > 0 {
		way += time.Duration(q.random.Int64N(int64(r.Jitter) + 1))
	}
	q.last = later(q.last, q.free.Add(way))
	return q.last
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pop removes the next piece.
func (q *queue) pop() []byte {
	p := q.pieces[0]
	q.pieces[0] = piece{} // so that its bytes can go
	q.pieces = q.pieces[1:]
	q.bytes -= len(p.data)
	return p.data
}
