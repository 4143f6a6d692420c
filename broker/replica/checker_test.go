package replica

import (
	"errors"
	"math/rand/v2"
	"testing"

	"tidemark/protocol/record"
)

// TestCheckerSeesEveryFlippedBit: whatever the pieces, whole batches pass, and one with any
// bit flipped that a checksum covers, or in the checksum, does not.
func TestCheckerSeesEveryFlippedBit(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	first, second := testBatch("a", "b"), testBatch("something longer")
	second.SetBaseOffset(2)
	write := func(data []byte) (c checker, err error) {
		for len(data) > 0 && err == nil {
			n := 1 + random.IntN(len(data))
			_, err = c.Write(data[:n])
			data = data[n:]
		}
		return c, err
	}
	data := append(append([]byte(nil), first...), second...)
	if c, err := write(data); err != nil || c.next != 3 || c.position != int64(len(data)) {
		t.Fatalf("sound batches: %v, next offset %d, position %d", err, c.next, c.position)
	}
	const crcAt = 17
	for at := len(first) + crcAt; at < len(data); at++ {
		bit := byte(1) << random.IntN(8)
		data[at] ^= bit
		if c, err := write(data); !errors.Is(err, record.ErrCorrupt) || c.next != 2 || c.position != int64(len(first)) {
			t.Fatalf("byte %d flipped by %x: %v, next offset %d, position %d", at, bit, err, c.next, c.position)
		}
		data[at] ^= bit
	}
}
