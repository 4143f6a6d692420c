package producer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// A snapshot file (big endian), Kafka's ProducerSnapshot version 1:
//
//	0      2        6         10
//	+------+--------+---------+------------------ - -
//	| vers.| crc32c | count   | count entries
//	| 1    |        |         |
//	+------+--------+---------+------------------ - -
//
// An entry:
//
//	0          8      10       14         22       26         34       38         46
//	+----------+------+--------+----------+--------+----------+--------+----------+
//	| producer | epoch| last   | last     | offset | last seen| coord. | txn first|
//	| id       |      | seq.   | offset   | delta  | ms       | epoch  | offset   |
//	+----------+------+--------+----------+--------+----------+--------+----------+
//
// The checksum covers everything after it.
const (
	snapshotVersion = 1
	crcAt           = 2
	countAt         = 6
	entriesAt       = 10
	entrySize       = 46
)

// ErrDamaged says that the bytes are no snapshot. The state is to be rebuilt from
// an older one or from the log.
var ErrDamaged = errors.New("damaged producer snapshot")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Entry is what a snapshot keeps of one producer.
type Entry struct {
	ProducerID int64
	// Epoch is the producer epoch.
	Epoch int16
	// LastSequence and LastOffset are those of the last batch, None without one.
	LastSequence int32
	LastOffset   int64
	// OffsetDelta is the last batch's last offset minus its base offset.
	OffsetDelta int32
	// TimestampMs is when the producer was last seen, by the broker's clock.
	TimestampMs int64
	// CoordinatorEpoch is that of the last transaction marker, None before one.
	CoordinatorEpoch int32
	// CurrentTxnFirstOffset is where the open transaction starts, None outside.
	CurrentTxnFirstOffset int64
}

// Encode returns the bytes of a snapshot.
func Encode(entries []Entry) []byte {
	out := make([]byte, entriesAt, entriesAt+entrySize*len(entries))
	binary.BigEndian.PutUint16(out, snapshotVersion)
	binary.BigEndian.PutUint32(out[countAt:], uint32(len(entries)))
	for _, e := range entries {
		out = binary.BigEndian.AppendUint64(out, uint64(e.ProducerID))
		out = binary.BigEndian.AppendUint16(out, uint16(e.Epoch))
		out = binary.BigEndian.AppendUint32(out, uint32(e.LastSequence))
		out = binary.BigEndian.AppendUint64(out, uint64(e.LastOffset))
		out = binary.BigEndian.AppendUint32(out, uint32(e.OffsetDelta))
		out = binary.BigEndian.AppendUint64(out, uint64(e.TimestampMs))
		out = binary.BigEndian.AppendUint32(out, uint32(e.CoordinatorEpoch))
		out = binary.BigEndian.AppendUint64(out, uint64(e.CurrentTxnFirstOffset))
	}
	binary.BigEndian.PutUint32(out[crcAt:], crc32.Checksum(out[countAt:], castagnoli))
	return out
}

// Decode parses the bytes of a snapshot; any doubt is ErrDamaged.
func Decode(data []byte) ([]Entry, error) {
	if len(data) < entriesAt {
		return nil, fmt.Errorf("%d bytes: %w", len(data), ErrDamaged)
	}
	if v := binary.BigEndian.Uint16(data); v != snapshotVersion {
		return nil, fmt.Errorf("unknown version %d: %w", v, ErrDamaged)
	}
	if stored, computed := binary.BigEndian.Uint32(data[crcAt:]), crc32.Checksum(data[countAt:], castagnoli); stored != computed {
		return nil, fmt.Errorf("checksum %08x, computed %08x: %w", stored, computed, ErrDamaged)
	}
	count := int64(int32(binary.BigEndian.Uint32(data[countAt:])))
	data = data[entriesAt:]
	if count*entrySize != int64(len(data)) {
		return nil, fmt.Errorf("%d entries in %d bytes: %w", count, len(data), ErrDamaged)
	}
	entries := make([]Entry, 0, count)
	for ; len(data) > 0; data = data[entrySize:] {
		e := decodeEntry(data)
		if e.LastOffset >= 0 && (e.OffsetDelta < 0 || e.LastSequence < None) {
			return nil, fmt.Errorf("producer %d cannot be so: %w", e.ProducerID, ErrDamaged)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func decodeEntry(data []byte) Entry {
	return Entry{
		ProducerID:            int64(binary.BigEndian.Uint64(data)),
		Epoch:                 int16(binary.BigEndian.Uint16(data[8:])),
		LastSequence:          int32(binary.BigEndian.Uint32(data[10:])),
		LastOffset:            int64(binary.BigEndian.Uint64(data[14:])),
		OffsetDelta:           int32(binary.BigEndian.Uint32(data[22:])),
		TimestampMs:           int64(binary.BigEndian.Uint64(data[26:])),
		CoordinatorEpoch:      int32(binary.BigEndian.Uint32(data[34:])),
		CurrentTxnFirstOffset: int64(binary.BigEndian.Uint64(data[38:])),
	}
}
