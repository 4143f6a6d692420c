package index

import (
	"encoding/binary"
	"fmt"

	"tidemark/internal/vfs"
)

// TimeEntrySize is the size in bytes of an entry of the time index (big
// endian):
//
//	0                                8               12
//	+--------------------------------+----------------+
//	| largest timestamp so far, ms   | last offset of |
//	|                                | its batch-base |
//	+--------------------------------+----------------+
const TimeEntrySize = 12

// NoTimestamp is the timestamp of a segment none of whose records has one.
const NoTimestamp = -1

// Timestamp says from where on a timestamp has been reached.
type Timestamp struct {
	// TimestampMs is the largest timestamp of the segment up to Offset.
	TimestampMs int64
	// Offset is the last offset of the first batch that has it.
	Offset int64
}

// Times is the time index of one segment. Timestamps ascend strictly, offsets
// with them.
type Times struct {
	*table
	base int64
	max  int
	// last is the last entry, or NoTimestamp; it is the appender's alone.
	last Timestamp
}

// CreateTimes opens an empty time index for the segment with the given base
// offset; a former content is dropped. maxBytes is the size at which it is full.
func CreateTimes(fsys vfs.FS, path string, base, maxBytes int64) (*Times, error) {
	x := newTimes(fsys, path, base, maxBytes)
	if err := x.create(); err != nil {
		return nil, err
	}
	return x, nil
}

// OpenTimes opens the time index of a segment and checks that it could be that:
// whole and ascending. If not the error is ErrDamaged, if there is no file
// fs.ErrNotExist.
func OpenTimes(fsys vfs.FS, path string, base, maxBytes int64) (*Times, error) {
	x := newTimes(fsys, path, base, maxBytes)
	err := x.load(func(previous, next []byte) bool {
		if int64(binary.BigEndian.Uint64(next)) < 0 || int32(binary.BigEndian.Uint32(next[8:])) < 0 {
			return false
		}
		return previous == nil ||
			binary.BigEndian.Uint64(next) > binary.BigEndian.Uint64(previous) &&
				binary.BigEndian.Uint32(next[8:]) > binary.BigEndian.Uint32(previous[8:])
	})
	if err != nil {
		return nil, err
	}
	x.last, _, err = x.Last()
	return x, err
}

func newTimes(fsys vfs.FS, path string, base, maxBytes int64) *Times {
	return &Times{
		table: newTable(fsys, path, TimeEntrySize), base: base, max: int(maxBytes / TimeEntrySize),
		last: Timestamp{TimestampMs: NoTimestamp, Offset: base},
	}
}

// Append adds an entry unless its timestamp is not larger than the last one's.
// Like Offsets.Append it only writes to memory.
func (x *Times) Append(timestampMs, offset int64) {
	if timestampMs <= x.last.TimestampMs {
		return
	}
	x.last = Timestamp{TimestampMs: timestampMs, Offset: offset}
	x.add(uint64(timestampMs), 8, relative(offset, x.base))
}

// Full says that only the entry that sealing the segment may add has room left.
func (x *Times) Full() bool { return x.Entries() >= x.max-1 }

// Floor returns the last entry whose TimestampMs is at most timestampMs; where
// there is none, ok is false.
func (x *Times) Floor(timestampMs int64) (t Timestamp, ok bool, err error) {
	return x.find(func(entry []byte) bool { return int64(binary.BigEndian.Uint64(entry)) <= timestampMs })
}

// Last returns the last entry; ok is false for an empty index.
func (x *Times) Last() (t Timestamp, ok bool, err error) {
	return x.find(func([]byte) bool { return true })
}

func (x *Times) find(atMost func([]byte) bool) (Timestamp, bool, error) {
	var buf [TimeEntrySize]byte
	entry, err := x.floor(buf[:0], atMost)
	if err != nil || len(entry) == 0 {
		return Timestamp{TimestampMs: NoTimestamp, Offset: x.base}, false, err
	}
	return decodeTimestamp(entry, x.base), true, nil
}

func decodeTimestamp(entry []byte, base int64) Timestamp {
	return Timestamp{
		TimestampMs: int64(binary.BigEndian.Uint64(entry)),
		Offset:      base + int64(binary.BigEndian.Uint32(entry[8:])),
	}
}

// TruncateTo drops the entries of offset and after.
func (x *Times) TruncateTo(offset int64) error {
	target := offset - x.base
	err := x.truncate(func(entry []byte) bool { return int64(binary.BigEndian.Uint32(entry[8:])) < target })
	if err != nil {
		return err
	}
	x.last, _, err = x.Last()
	return err
}

// DecodeTimes returns the entries in the bytes of a time index file, as they
// stand, and an error if they end inside one.
func DecodeTimes(data []byte, base int64) ([]Timestamp, error) {
	entries := make([]Timestamp, 0, len(data)/TimeEntrySize)
	for ; len(data) >= TimeEntrySize; data = data[TimeEntrySize:] {
		entries = append(entries, decodeTimestamp(data, base))
	}
	if len(data) > 0 {
		return entries, fmt.Errorf("%d bytes after the last entry: %w", len(data), ErrDamaged)
	}
	return entries, nil
}
