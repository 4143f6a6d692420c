package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// HeaderBytes is the room at the start of a value that a Record takes.
//
//	0        4          8           12         16        24         32
//	| run id | producer | partition | crc      | seq     | sent, ns |  body …
//
// All numbers are big-endian. The producer is 16 bits of topic and 16 of
// producer. The CRC is CRC-32C over everything else: the header before and behind
// it, and the body.
const HeaderBytes = 32

const atCRC, afterCRC = 12, 16

// Stream is one producer's records in one partition: what a sequence counts in.
type Stream struct {
	// Topic is the caller's number of the topic.
	Topic, Producer uint16
	Partition       int32
}

// String names the stream for people.
func (s Stream) String() string {
	return fmt.Sprintf("topic %d partition %d producer %d", s.Topic, s.Partition, s.Producer)
}

// Record identifies one record wherever it turns up.
type Record struct {
	// Run tells the records of one ledger from what another run left.
	Run uint32
	Stream
	// Seq counts the stream's records from 0.
	Seq uint64
	// SentNs is the sender's clock.
	SentNs int64
}

var (
	// ErrShort: the value has no room for a header.
	ErrShort = errors.New("value is shorter than a record's header")
	// ErrChecksum: header or body are not what was sent.
	ErrChecksum = errors.New("checksum of the record does not match")
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	big        = binary.BigEndian
)

// Put writes the record's header over the first HeaderBytes of value; what stands
// behind them is its body and must be final.
func (r Record) Put(value []byte) {
	_ = value[HeaderBytes-1]
	big.PutUint32(value, r.Run)
	big.PutUint16(value[4:], r.Topic)
	big.PutUint16(value[6:], r.Producer)
	big.PutUint32(value[8:], uint32(r.Partition))
	big.PutUint64(value[16:], r.Seq)
	big.PutUint64(value[24:], uint64(r.SentNs))
	big.PutUint32(value[atCRC:], checksum(value))
}

// Parse reads the header of a value and checks it and the body.
func Parse(value []byte) (Record, error) {
	if len(value) < HeaderBytes {
		return Record{}, ErrShort
	}
	r := Record{
		Run:    big.Uint32(value),
		Stream: Stream{Topic: big.Uint16(value[4:]), Producer: big.Uint16(value[6:]), Partition: int32(big.Uint32(value[8:]))},
		Seq:    big.Uint64(value[16:]),
		SentNs: int64(big.Uint64(value[24:])),
	}
	if checksum(value) != big.Uint32(value[atCRC:]) {
		return r, ErrChecksum
	}
	return r, nil
}

func checksum(value []byte) uint32 {
	return crc32.Update(crc32.Checksum(value[:atCRC], castagnoli), castagnoli, value[afterCRC:])
}
