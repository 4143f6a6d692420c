package shard

import "sync"

// SubmitAll puts an operation to every partition that is coordinated here. done is
// called exactly once, with the replies in order of the partitions.
func (h *Host[M, R]) SubmitAll(operation Operation[M, R], done func([]Reply)) {
	partitions := h.Partitions()
	SubmitEach(len(partitions), func(i int, one func(Reply)) { h.Submit(partitions[i], operation, one) }, done)
}

// SubmitEach calls submit for 0 to n−1 and then done, once, with all replies.
func SubmitEach(n int, submit func(i int, done func(Reply)), done func([]Reply)) {
	if n == 0 {
		done(nil)
		return
	}
	var mu sync.Mutex
	left, replies := n, make([]Reply, n)
	for i := range n {
		submit(i, func(r Reply) {
			mu.Lock()
			replies[i] = r
			left--
			last := left == 0
			mu.Unlock()
			if last {
				done(replies)
			}
		})
	}
}
