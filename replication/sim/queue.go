package sim

import "time"

// item is a place in the queue: what happens at that time, ties in the order of
// scheduling.
type item struct {
	at   time.Duration
	id   uint64
	slot int32
}

func (a item) before(b item) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

// queue is one binary heap over all that is yet to happen, timers and messages
// alike. The jobs lie in slots that are used again, with their slices, so that a
// run allocates for its deepest queue only.
type queue struct {
	heap []item
	jobs []*job
	free []int32
	next uint64
}

// add returns the job to fill in for time at.
func (q *queue) add(at time.Duration) *job {
	var slot int32
	if n := len(q.free); n > 0 {
		slot = q.free[n-1]
		q.free = q.free[:n-1]
	} else {
		slot = int32(len(q.jobs))
		q.jobs = append(q.jobs, new(job))
	}
	q.next++
	q.heap = append(q.heap, item{at, q.next, slot})
	q.up(len(q.heap) - 1)
	return q.jobs[slot]
}

// take removes the next item and returns its time and its job, which stays valid
// until release.
func (q *queue) take() (at time.Duration, slot int32, ok bool) {
	if len(q.heap) == 0 {
		return 0, 0, false
	}
	top := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	q.heap = q.heap[:last]
	q.down(0)
	return top.at, top.slot, true
}

// release gives the slot back; the job's slices stay with it.
func (q *queue) release(slot int32) {
	j := q.jobs[slot]
	*j = job{entries: j.entries[:0]}
	q.free = append(q.free, slot)
}

// again puts a job that was taken back in for a later time.
func (q *queue) again(at time.Duration, slot int32) {
	q.next++
	q.heap = append(q.heap, item{at, q.next, slot})
	q.up(len(q.heap) - 1)
}

func (q *queue) up(i int) {
	moved := q.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !moved.before(q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = moved
}

func (q *queue) down(i int) {
	n := len(q.heap)
	if n == 0 {
		return
	}
	moved := q.heap[i]
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && q.heap[child+1].before(q.heap[child]) {
			child++
		}
		if !q.heap[child].before(moved) {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	q.heap[i] = moved
}
