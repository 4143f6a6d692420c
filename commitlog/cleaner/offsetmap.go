package cleaner

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"

	"tidemark/internal/invariant"
)

// SlotBytes is what a key costs in an OffsetMap, whatever its length.
const SlotBytes = 24

// slot is 16 bytes of a key's hash and one more than its greatest offset; 0
// there marks a free slot.
type slot struct {
	high, low uint64
	next      int64
}

// OffsetMap knows the greatest offset of each key of a section of a log, in a
// bounded amount of memory (Kafka's SkimpyOffsetMap). It keeps hashes in place
// of keys: SHA-256 cut to 128 bits, so that nobody can make two keys that count
// as one. It is confined to one goroutine.
type OffsetMap struct {
	slots []slot
	used  int
	// most is how many slots may be taken at this size, budget and load what
	// Reset may allocate and fill.
	most   int
	budget int64
	load   float64
	latest int64
}

// NewOffsetMap returns a map of at most budgetBytes, of whose slots at most the
// part load is filled; both leave room for one key at least.
func NewOffsetMap(budgetBytes int64, load float64) *OffsetMap {
	invariant.Check(float64(budgetBytes/SlotBytes)*load >= 1 && load < 1, "an offset map of %d bytes, %v of them filled, holds no key", budgetBytes, load)
	return &OffsetMap{budget: budgetBytes, load: load, latest: -1}
}

// Reset empties the map for a section that begins at from and holds at most
// keys different keys. Memory is kept from one round to the next.
func (m *OffsetMap) Reset(from, keys int64) {
	most := m.budget / SlotBytes
	if keys < most { // or the product could overflow
		most = min(most, int64(float64(max(keys, 1))/m.load)+2)
	}
	if int64(cap(m.slots)) < most {
		m.slots = make([]slot, most)
	} else {
		m.slots = m.slots[:most]
		clear(m.slots)
	}
	m.used, m.most, m.latest = 0, max(1, int(float64(most)*m.load)), from-1
}

// Put notes that key occurs at offset; false says that the key is new and there
// is no room for it.
func (m *OffsetMap) Put(key []byte, offset int64) bool {
	s, high, low := m.find(key)
	if s.next == 0 {
		if m.used >= m.most {
			return false
		}
		m.used++
		s.high, s.low = high, low
	}
	s.next = max(s.next, offset+1)
	return true
}

// Greatest is the greatest offset of key, -1 for a key that is not there.
func (m *OffsetMap) Greatest(key []byte) int64 {
	s, _, _ := m.find(key)
	return s.next - 1
}

// find returns the slot of key, or the free one that it would take. There is
// always a free one.
func (m *OffsetMap) find(key []byte) (s *slot, high, low uint64) {
	sum := sha256.Sum256(key)
	high, low = binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])
	at, _ := bits.Mul64(high, uint64(len(m.slots)))
	for {
		s = &m.slots[at]
		if s.next == 0 || s.high == high && s.low == low {
			return s, high, low
		}
		if at++; at == uint64(len(m.slots)) {
			at = 0
		}
	}
}

// Latest is the offset up to which, counted from where the section begins, every
// key is in the map.
func (m *OffsetMap) Latest() int64 { return m.latest }

// Advance says that every key up to offset is in the map.
func (m *OffsetMap) Advance(offset int64) { m.latest = max(m.latest, offset) }

// Len is how many keys are in the map.
func (m *OffsetMap) Len() int { return m.used }

// Bytes is the memory that the map holds.
func (m *OffsetMap) Bytes() int64 { return int64(cap(m.slots)) * SlotBytes }

// Fill is the part of the slots that is taken.
func (m *OffsetMap) Fill() float64 {
	if len(m.slots) == 0 {
		return 0
	}
	return float64(m.used) / float64(len(m.slots))
}
