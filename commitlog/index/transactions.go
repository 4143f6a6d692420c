package index

import (
	"encoding/binary"
	"fmt"

	"tidemark/internal/vfs"
)

// AbortedEntrySize is the size in bytes of an entry of the transaction index (big
// endian):
//
//	0      2          10         18         26         34
//	+------+----------+----------+----------+----------+
//	| vers.| producer | first    | last     | last     |
//	| 0    | id       | offset   | offset   | stable   |
//	+------+----------+----------+----------+----------+
const AbortedEntrySize = 34

const (
	abortedVersion    = 0
	atAbortedProducer = 2
	atAbortedFirst    = 10
	atAbortedLast     = 18
	atAbortedStable   = 26
)

// Aborted is one aborted transaction (Kafka's AbortedTxn).
type Aborted struct {
	ProducerID int64
	// FirstOffset is that of its first batch, LastOffset that of its marker.
	FirstOffset, LastOffset int64
	// LastStableOffset is the last stable offset behind the marker, had everything
	// been replicated: no transaction that ended later began before it.
	LastStableOffset int64
}

// Transactions is the transaction index of one segment: the transactions whose
// abort marker lies in it, in the order of the markers. Unlike the other two it
// must be whole. There is a file once it was written to.
type Transactions struct {
	*table
	base int64
}

// NewTransactions returns an empty index for the segment with the given base
// offset. A file that is there is overwritten by the first write.
func NewTransactions(fsys vfs.FS, path string, base int64) *Transactions {
	return &Transactions{table: newTable(fsys, path, AbortedEntrySize), base: base}
}

// OpenTransactions opens the index of a segment that ends before the offset next
// and checks that it could be that: whole, of a known version, markers that ascend
// inside the segment, each behind its data. If not the error is ErrDamaged, if
// there is no file fs.ErrNotExist.
func OpenTransactions(fsys vfs.FS, path string, base, next int64) (*Transactions, error) {
	x := NewTransactions(fsys, path, base)
	err := x.load(func(previous, entry []byte) bool {
		return soundAborted(entry, base) && decodeAborted(entry).LastOffset < next &&
			(previous == nil || lastOfAborted(entry) > lastOfAborted(previous))
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// soundAborted says whether the bytes can be an entry in the index of a segment.
func soundAborted(entry []byte, base int64) bool {
	a := decodeAborted(entry)
	return binary.BigEndian.Uint16(entry) == abortedVersion && a.ProducerID >= 0 && a.FirstOffset >= 0 &&
		a.FirstOffset < a.LastOffset && a.LastOffset >= base && a.LastStableOffset >= 0 && a.LastStableOffset <= a.LastOffset+1
}

// Append adds a transaction whose marker lies behind those of all others. It only
// writes to memory: call Spill before the append that needs it.
func (x *Transactions) Append(a Aborted) {
	var entry [AbortedEntrySize]byte
	binary.BigEndian.PutUint16(entry[:], abortedVersion)
	binary.BigEndian.PutUint64(entry[atAbortedProducer:], uint64(a.ProducerID))
	binary.BigEndian.PutUint64(entry[atAbortedFirst:], uint64(a.FirstOffset))
	binary.BigEndian.PutUint64(entry[atAbortedLast:], uint64(a.LastOffset))
	binary.BigEndian.PutUint64(entry[atAbortedStable:], uint64(a.LastStableOffset))
	x.addEntry(entry[:])
}

// Collect appends to dst the transactions that have offsets in the range from from
// to before upTo. complete says that no later segment has any more of them.
func (x *Transactions) Collect(dst []Aborted, from, upTo int64) (all []Aborted, complete bool, err error) {
	err = x.eachAfter(func(entry []byte) bool { return lastOfAborted(entry) < from }, func(entry []byte) bool {
		a := decodeAborted(entry)
		if a.FirstOffset < upTo {
			dst = append(dst, a)
		}
		complete = a.LastStableOffset >= upTo
		return !complete
	})
	return dst, complete, err
}

// TruncateTo drops the transactions whose marker reaches offset.
func (x *Transactions) TruncateTo(offset int64) error {
	return x.truncate(func(entry []byte) bool { return lastOfAborted(entry) < offset })
}

// Each calls f for every transaction.
func (x *Transactions) Each(f func(a Aborted)) error {
	return x.eachAfter(func([]byte) bool { return false }, func(entry []byte) bool {
		f(decodeAborted(entry))
		return true
	})
}

func lastOfAborted(entry []byte) int64 {
	return int64(binary.BigEndian.Uint64(entry[atAbortedLast:]))
}

func decodeAborted(entry []byte) Aborted {
	return Aborted{
		ProducerID:       int64(binary.BigEndian.Uint64(entry[atAbortedProducer:])),
		FirstOffset:      int64(binary.BigEndian.Uint64(entry[atAbortedFirst:])),
		LastOffset:       lastOfAborted(entry),
		LastStableOffset: int64(binary.BigEndian.Uint64(entry[atAbortedStable:])),
	}
}

// DecodeTransactions returns the entries in the bytes of a transaction index file
// of the segment with the given base offset, up to the first that cannot be one,
// which is an error.
func DecodeTransactions(data []byte, base int64) ([]Aborted, error) {
	entries := make([]Aborted, 0, len(data)/AbortedEntrySize)
	last := int64(-1)
	for ; len(data) >= AbortedEntrySize; data = data[AbortedEntrySize:] {
		a := decodeAborted(data)
		if !soundAborted(data, base) || a.LastOffset <= last {
			return entries, fmt.Errorf("entry %d, %+v, cannot be: %w", len(entries), a, ErrDamaged)
		}
		entries, last = append(entries, a), a.LastOffset
	}
	if len(data) > 0 {
		return entries, fmt.Errorf("%d bytes after the last entry: %w", len(data), ErrDamaged)
	}
	return entries, nil
}
