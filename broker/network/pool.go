package network

import (
	"math/bits"
	"sync"
)

// buffer is pooled memory for frames together with its share of the in-flight
// budget. It is owned by one connection's reader, then by one request.
type buffer struct {
	b     []byte // full capacity
	class int    // -1: too large to be kept
	grant grant
}

// Sizes are 512 B times powers of two, with four steps in each doubling, up to
// maxPooled: at most a quarter of a buffer is waste.
const (
	minPooledBits = 9
	maxPooledBits = 27
)

var pools [(maxPooledBits-minPooledBits)*4 + 1]sync.Pool

// classOf returns the class that holds n bytes, and its size.
func classOf(n int) (class, size int) {
	if n <= 1<<minPooledBits {
		return 0, 1 << minPooledBits
	}
	k := bits.Len(uint(n-1)) - 1 // 2^k < n <= 2^(k+1)
	if k >= maxPooledBits {
		return -1, n
	}
	step := 1 << k / 4
	q := (n - 1<<k + step - 1) / step // 1 to 4
	return (k-minPooledBits)*4 + q, 1<<k + q*step
}

// bufferSize is the size of the buffer that newBuffer(n) returns.
func bufferSize(n int) int {
	_, size := classOf(n)
	return size
}

// newBuffer returns a buffer of at least n bytes, of any content.
func newBuffer(n int) *buffer {
	class, size := classOf(n)
	if class >= 0 {
		if b, ok := pools[class].Get().(*buffer); ok {
			return b
		}
	}
	return &buffer{b: make([]byte, size), class: class}
}

// release gives the memory and the grant back.
func (b *buffer) release() {
	b.grant.release()
	if b.class >= 0 {
		pools[b.class].Put(b)
	}
}
