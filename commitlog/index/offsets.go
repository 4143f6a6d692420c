package index

import (
	"encoding/binary"
	"fmt"
	"math"

	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// OffsetEntrySize is the size in bytes of an entry of the offset index (big
// endian):
//
//	0                4                8
//	+----------------+----------------+
//	| last offset of | position of    |
//	| a batch - base | that batch     |
//	+----------------+----------------+
const OffsetEntrySize = 8

// Position says where a batch lies.
type Position struct {
	// Offset is the last offset of the batch.
	Offset int64
	// Position is the first byte of the batch in the segment file.
	Position int64
}

// Offsets is the offset index of one segment. Both columns ascend strictly.
type Offsets struct {
	*table
	base int64
	max  int
}

// CreateOffsets opens an empty offset index for the segment with the given base
// offset; a former content is dropped. maxBytes is the size at which it is full.
func CreateOffsets(fsys vfs.FS, path string, base, maxBytes int64) (*Offsets, error) {
	x := &Offsets{table: newTable(fsys, path, OffsetEntrySize), base: base, max: int(maxBytes / OffsetEntrySize)}
	if err := x.create(); err != nil {
		return nil, err
	}
	return x, nil
}

// OpenOffsets opens the offset index of a segment of segmentBytes bytes and
// checks that it could be that: whole, ascending, positions inside the segment.
// If not the error is ErrDamaged, if there is no file fs.ErrNotExist.
func OpenOffsets(fsys vfs.FS, path string, base, maxBytes, segmentBytes int64) (*Offsets, error) {
	x := &Offsets{table: newTable(fsys, path, OffsetEntrySize), base: base, max: int(maxBytes / OffsetEntrySize)}
	err := x.load(func(previous, next []byte) bool {
		offset, position := int32(binary.BigEndian.Uint32(next)), int32(binary.BigEndian.Uint32(next[4:]))
		if offset < 0 || position < 0 || int64(position) >= segmentBytes {
			return false
		}
		return previous == nil || offset > int32(binary.BigEndian.Uint32(previous)) &&
			position > int32(binary.BigEndian.Uint32(previous[4:]))
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Append adds the batch at position whose last offset is offset. It only writes
// to memory: call Spill before the append that needs it, so that a full disk is
// noticed while nothing has been appended.
func (x *Offsets) Append(offset, position int64) {
	if position < 0 || position > math.MaxInt32 {
		invariant.Check(false, "position %d in an offset index", position)
	}
	x.add(uint64(relative(offset, x.base)), 4, uint32(position))
}

// Full says that the index has reached its maximum size.
func (x *Offsets) Full() bool { return x.Entries() >= x.max }

// Floor returns the last entry whose Offset is at most offset: the place to
// start looking for the batch that contains offset. Where there is none, that is
// the start of the segment, and ok is false.
func (x *Offsets) Floor(offset int64) (p Position, ok bool, err error) {
	target := offset - x.base
	return x.find(func(entry []byte) bool { return int64(binary.BigEndian.Uint32(entry)) <= target })
}

// FloorPosition returns the last entry whose Position is at most position: a
// batch boundary near it. Where there is none, ok is false.
func (x *Offsets) FloorPosition(position int64) (p Position, ok bool, err error) {
	return x.find(func(entry []byte) bool { return int64(binary.BigEndian.Uint32(entry[4:])) <= position })
}

// Last returns the last entry; ok is false for an empty index.
func (x *Offsets) Last() (p Position, ok bool, err error) {
	return x.find(func([]byte) bool { return true })
}

func (x *Offsets) find(atMost func([]byte) bool) (Position, bool, error) {
	var buf [OffsetEntrySize]byte
	entry, err := x.floor(buf[:0], atMost)
	if err != nil || len(entry) == 0 {
		return Position{Offset: x.base}, false, err
	}
	return decodePosition(entry, x.base), true, nil
}

func decodePosition(entry []byte, base int64) Position {
	return Position{
		Offset:   base + int64(binary.BigEndian.Uint32(entry)),
		Position: int64(binary.BigEndian.Uint32(entry[4:])),
	}
}

// TruncateTo drops the entries of batches that reach offset or lie after it.
func (x *Offsets) TruncateTo(offset int64) error {
	target := offset - x.base
	return x.truncate(func(entry []byte) bool { return int64(binary.BigEndian.Uint32(entry)) < target })
}

// DecodeOffsets returns the entries in the bytes of an offset index file, as
// they stand, and an error if they end inside one.
func DecodeOffsets(data []byte, base int64) ([]Position, error) {
	entries := make([]Position, 0, len(data)/OffsetEntrySize)
	for ; len(data) >= OffsetEntrySize; data = data[OffsetEntrySize:] {
		entries = append(entries, decodePosition(data, base))
	}
	if len(data) > 0 {
		return entries, fmt.Errorf("%d bytes after the last entry: %w", len(data), ErrDamaged)
	}
	return entries, nil
}
