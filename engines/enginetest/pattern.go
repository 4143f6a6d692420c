package enginetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// pattern is an endless file of which every byte is known from its position, so
// that a misplaced or stale one shows. Different patterns differ almost
// everywhere.
type pattern uint64

// word is the eight bytes at position 8·i: one step of SplitMix64.
func (s pattern) word(i uint64) uint64 {
	z := uint64(s)*0xd1342543de82ef95 + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// fill writes into p what the pattern has at position.
func (s pattern) fill(p []byte, position int64) {
	var one [8]byte
	i := uint64(position) / 8
	if skip := position % 8; skip != 0 {
		binary.LittleEndian.PutUint64(one[:], s.word(i))
		p = p[copy(p, one[skip:]):]
		i++
	}
	for ; len(p) >= 8; i++ {
		binary.LittleEndian.PutUint64(p, s.word(i))
		p = p[8:]
	}
	binary.LittleEndian.PutUint64(one[:], s.word(i))
	copy(p, one[:])
}

// bytes is n bytes of the pattern from position.
func (s pattern) bytes(position, n int64) []byte {
	p := make([]byte, n)
	s.fill(p, position)
	return p
}

// verify compares p with the pattern at position.
func (s pattern) verify(p []byte, position int64) error {
	return compare(p, s.bytes(position, int64(len(p))), position)
}

// compare tells the first byte in which got differs from want.
func compare(got, want []byte, position int64) error {
	if bytes.Equal(got, want) {
		return nil
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("the byte at %d is %#02x, want %#02x", position+int64(i), got[i], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%d bytes from %d, want %d", len(got), position, len(want))
	}
	return nil
}
