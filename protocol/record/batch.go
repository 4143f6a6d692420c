package record

import (
	"encoding/binary"
	"fmt"
)

// The header of a batch, byte by byte (big endian):
//
//	0        8       12      16 17      21   23      27       35
//	+--------+--------+-------+--+-------+----+-------+--------+--------+
//	| base   | length | leader| m| crc   |attr| last  | base   | max    |
//	| offset |        | epoch | 2| 32c   |    | delta | time   | time   |
//	+--------+--------+-------+--+-------+----+-------+--------+--------+
//	43       51   53      57      61
//	+--------+----+-------+-------+----------------------- - - -
//	| prod.  |prod| base  | count | records, compressed as one block
//	| id     |ep. | seq.  |       |
//	+--------+----+-------+-------+----------------------- - - -
//
// The checksum covers everything from attr to the end.
const (
	atBaseOffset      = 0
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57

	// HeaderSize is the size of a batch's header in bytes.
	HeaderSize = 61
	// Magic2 is the only batch format version that is read and written.
	Magic2 = 2
	// NoTimestamp, NoProducerID, NoProducerEpoch and NoSequence mean that the
	// producer gave none.
	NoTimestamp     = -1
	NoProducerID    = -1
	NoProducerEpoch = -1
	NoSequence      = -1
)

// The bits of the attributes.
const (
	codecMask        = 0x07
	bitLogAppendTime = 1 << 3
	bitTransactional = 1 << 4
	bitControl       = 1 << 5
	bitDeleteHorizon = 1 << 6
)

// Batch is exactly one whole batch of format version 2, header included. It
// aliases the buffer it was parsed from, so patching it patches that buffer. A
// Batch comes from Parse, ParseOne or a Builder: its length and magic have been
// checked, its checksum and records have not.
type Batch []byte

// Parse takes the first batch off buf and returns it with the bytes after it.
// It fails with ErrShort when buf ends inside the batch, with ErrCorrupt when
// the length cannot be that of a batch or the magic is unknown, and with
// ErrInvalidRecord for the message sets of magic 0 and 1.
func Parse(buf []byte) (b Batch, rest []byte, err error) {
	if len(buf) < LogOverhead {
		return nil, buf, ErrShort
	}
	size := ClaimedSize(buf)
	if len(buf) > atMagic {
		if err := checkMagic(int8(buf[atMagic])); err != nil {
			return nil, buf, err
		}
	}
	if size < HeaderSize {
		return nil, buf, fmt.Errorf("batch length %d is below a header's: %w", size-LogOverhead, ErrCorrupt)
	}
	if int64(len(buf)) < size {
		return nil, buf, ErrShort
	}
	return Batch(buf[:size:size]), buf[size:], nil
}

func checkMagic(magic int8) error {
	switch {
	case magic == Magic2:
		return nil
	case magic == 0 || magic == 1:
		return fmt.Errorf("batch of magic %d: %w", magic, ErrInvalidRecord)
	default:
		return fmt.Errorf("batch of magic %d: %w", magic, ErrCorrupt)
	}
}

// ParseOne returns the one batch that buf must consist of, as a produce request
// of version 3 and later carries per partition (Kafka's
// ProduceRequest.validateRecords). No batch and more than one fail with
// ErrInvalidRecord; bytes that end inside the batch or follow it without being
// a batch fail with ErrCorrupt.
func ParseOne(buf []byte) (Batch, error) {
	if len(buf) == 0 {
		return nil, fmt.Errorf("no batch: %w", ErrInvalidRecord)
	}
	b, rest, err := Parse(buf)
	if err == ErrShort {
		return nil, fmt.Errorf("batch is cut off after %d bytes: %w", len(buf), ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	if len(rest) == 0 {
		return b, nil
	}
	if _, _, err := Parse(rest); err != nil {
		return nil, fmt.Errorf("%d bytes after the batch: %w", len(rest), ErrCorrupt)
	}
	return nil, fmt.Errorf("more than one batch: %w", ErrInvalidRecord)
}

func (b Batch) int16At(at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }
func (b Batch) int32At(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func (b Batch) int64At(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// BaseOffset is the offset of the first record.
func (b Batch) BaseOffset() int64 { return b.int64At(atBaseOffset) }

// LastOffset is the offset of the last record the batch was written with; after
// compaction that record may be gone.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// NextOffset is the offset after the batch.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

// Size is the length of the whole batch in bytes.
func (b Batch) Size() int { return len(b) }

// LeaderEpoch is the epoch of the leader that appended the batch.
func (b Batch) LeaderEpoch() int32 { return b.int32At(atLeaderEpoch) }

// Magic is the format version, always 2.
func (b Batch) Magic() int8 { return int8(b[atMagic]) }

// CRC is the checksum as written.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b[atCRC:]) }

// Attributes are the flag bits as written.
func (b Batch) Attributes() int16 { return b.int16At(atAttributes) }

// Codec is how the records are compressed; it may be a value that Valid denies.
func (b Batch) Codec() Codec { return Codec(b[atAttributes+1] & codecMask) }

// IsLogAppendTime says that the broker's clock stamped the batch: every record
// then has MaxTimestamp.
func (b Batch) IsLogAppendTime() bool { return b[atAttributes+1]&bitLogAppendTime != 0 }

// IsTransactional says that the batch belongs to a transaction.
func (b Batch) IsTransactional() bool { return b[atAttributes+1]&bitTransactional != 0 }

// IsControl says that the records are markers for brokers and clients, not data.
func (b Batch) IsControl() bool { return b[atAttributes+1]&bitControl != 0 }

// HasDeleteHorizon says that BaseTimestamp is the time at which compaction may
// drop the batch's tombstones (KIP-534).
func (b Batch) HasDeleteHorizon() bool { return b[atAttributes+1]&bitDeleteHorizon != 0 }

// LastOffsetDelta is LastOffset minus BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return b.int32At(atLastOffsetDelta) }

// BaseTimestamp is what the records' timestamp deltas add to, in milliseconds.
func (b Batch) BaseTimestamp() int64 { return b.int64At(atBaseTimestamp) }

// MaxTimestamp is the largest timestamp in the batch in milliseconds.
func (b Batch) MaxTimestamp() int64 { return b.int64At(atMaxTimestamp) }

// ProducerID is the idempotent producer's id, NoProducerID for none.
func (b Batch) ProducerID() int64 { return b.int64At(atProducerID) }

// ProducerEpoch is the idempotent producer's epoch.
func (b Batch) ProducerEpoch() int16 { return b.int16At(atProducerEpoch) }

// BaseSequence is the sequence number of the first record, NoSequence for none.
func (b Batch) BaseSequence() int32 { return b.int32At(atBaseSequence) }

// LastSequence is the sequence number of the last record. Sequence numbers go
// from 2147483647 to 0.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base == NoSequence {
		return NoSequence
	}
	return int32((int64(base) + int64(b.LastOffsetDelta())) & 0x7fffffff)
}

// Count is the number of records; 0 for a batch that compaction has emptied.
func (b Batch) Count() int32 { return b.int32At(atCount) }

// Payload is the records as stored, compressed or not.
func (b Batch) Payload() []byte { return b[HeaderSize:] }
