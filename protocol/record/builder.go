package record

import (
	"encoding/binary"

	"tidemark/internal/invariant"
)

// Builder builds batches one after another, reusing its buffers: appending a
// record allocates nothing once they have grown. It is confined to one
// goroutine.
type Builder struct {
	codec      Codec
	compressor compressor
	buf        []byte // a header's room, then the records

	count         int32
	baseTimestamp int64
	maxTimestamp  int64

	producerID    int64
	producerEpoch int16
	baseSequence  int32
	flags         byte
}

// NewBuilder builds batches compressed with c. A level outside the codec's
// Levels counts as the nearest one; codecs without levels ignore it.
func NewBuilder(c Codec, level int) *Builder {
	invariant.Check(c.Valid(), "builder for %v", c)
	b := &Builder{codec: c, compressor: newCompressor(c, level), buf: make([]byte, HeaderSize)}
	b.Producer(NoProducerID, NoProducerEpoch, NoSequence)
	return b
}

// Producer sets the idempotent producer's fields for the batches to come.
func (w *Builder) Producer(id int64, epoch int16, baseSequence int32) {
	w.producerID, w.producerEpoch, w.baseSequence = id, epoch, baseSequence
}

// Transactional says whether the batches to come belong to a transaction.
func (w *Builder) Transactional(on bool) {
	w.flags &^= bitTransactional
	if on {
		w.flags |= bitTransactional
	}
}

// Append adds a record with a timestamp in milliseconds. A nil key or value is
// null. The slices are the caller's again on return.
func (w *Builder) Append(timestampMs int64, key, value []byte, headers []Header) {
	if w.count == 0 {
		w.baseTimestamp, w.maxTimestamp = timestampMs, timestampMs
	}
	w.maxTimestamp = max(w.maxTimestamp, timestampMs)
	rec := Record{OffsetDelta: w.count, TimestampDelta: timestampMs - w.baseTimestamp,
		Key: key, Value: value, Headers: headers}
	w.buf = rec.appendTo(w.buf)
	w.count++
}

// Count is the number of records since the last batch.
func (w *Builder) Count() int { return int(w.count) }

// Size is how long the batch would be now without compression, in bytes.
func (w *Builder) Size() int { return len(w.buf) }

// SizeWith is Size after another Append of these lengths with timestampMs and
// no headers; a length of -1 is null.
func (w *Builder) SizeWith(timestampMs int64, keyBytes, valueBytes int) int {
	delta := timestampMs - w.baseTimestamp
	if w.count == 0 {
		delta = 0
	}
	body := 2 + sizeVarint64(delta) + sizeVarint32(w.count) +
		sizeVarint32(int32(keyBytes)) + max(keyBytes, 0) + sizeVarint32(int32(valueBytes)) + max(valueBytes, 0)
	return len(w.buf) + sizeVarint32(int32(body)) + body
}

// Build returns the batch of the records appended since the last one, in
// memory of its own, and starts the next. There is at least one record.
func (w *Builder) Build() Batch { return Batch(w.AppendTo(nil)) }

// AppendTo is Build that appends the batch to dst.
func (w *Builder) AppendTo(dst []byte) []byte {
	invariant.Check(w.count > 0, "batch without records")
	start := len(dst)
	if w.compressor == nil {
		dst = append(dst, w.buf...)
	} else {
		dst = append(dst, w.buf[:HeaderSize]...)
		dst = w.compressor.compress(dst, w.buf[HeaderSize:])
	}
	b := Batch(dst[start:])
	b.putHeader(header{
		attributes: int16(w.codec) | int16(w.flags), lastOffsetDelta: w.count - 1,
		baseTimestamp: w.baseTimestamp, maxTimestamp: w.maxTimestamp,
		producerID: w.producerID, producerEpoch: w.producerEpoch, baseSequence: w.baseSequence,
		count: w.count,
	})
	w.Reset()
	return dst
}

// Reset drops the records appended since the last batch.
func (w *Builder) Reset() {
	w.buf = w.buf[:HeaderSize]
	w.count = 0
}

// header is what a batch's header says of its records. A new batch has base
// offset 0 and no leader epoch.
type header struct {
	attributes      int16
	lastOffsetDelta int32
	baseTimestamp   int64
	maxTimestamp    int64
	producerID      int64
	producerEpoch   int16
	baseSequence    int32
	count           int32
}

const noLeaderEpoch = -1

// putHeader writes the header in front of the payload that b already holds.
func (b Batch) putHeader(h header) {
	b.SetBaseOffset(0)
	binary.BigEndian.PutUint32(b[atLength:], uint32(len(b)-LogOverhead))
	b.SetLeaderEpoch(noLeaderEpoch)
	b[atMagic] = Magic2
	binary.BigEndian.PutUint16(b[atAttributes:], uint16(h.attributes))
	binary.BigEndian.PutUint32(b[atLastOffsetDelta:], uint32(h.lastOffsetDelta))
	binary.BigEndian.PutUint64(b[atBaseTimestamp:], uint64(h.baseTimestamp))
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(h.maxTimestamp))
	binary.BigEndian.PutUint64(b[atProducerID:], uint64(h.producerID))
	binary.BigEndian.PutUint16(b[atProducerEpoch:], uint16(h.producerEpoch))
	binary.BigEndian.PutUint32(b[atBaseSequence:], uint32(h.baseSequence))
	binary.BigEndian.PutUint32(b[atCount:], uint32(h.count))
	b.updateCRC()
}

// appendTo appends the record in wire form.
func (rec *Record) appendTo(dst []byte) []byte {
	body := 1 + sizeVarint64(rec.TimestampDelta) + sizeVarint32(rec.OffsetDelta) +
		sizeBytes(rec.Key) + sizeBytes(rec.Value) + sizeVarint32(int32(len(rec.Headers)))
	for i := range rec.Headers {
		h := &rec.Headers[i]
		body += sizeVarint32(int32(len(h.Key))) + len(h.Key) + sizeBytes(h.Value)
	}
	dst = appendVarint32(dst, int32(body))
	dst = append(dst, 0) // attributes
	dst = appendVarint64(dst, rec.TimestampDelta)
	dst = appendVarint32(dst, rec.OffsetDelta)
	dst = appendBytes(dst, rec.Key)
	dst = appendBytes(dst, rec.Value)
	dst = appendVarint32(dst, int32(len(rec.Headers)))
	for i := range rec.Headers {
		h := &rec.Headers[i]
		dst = appendVarint32(dst, int32(len(h.Key)))
		dst = append(dst, h.Key...)
		dst = appendBytes(dst, h.Value)
	}
	return dst
}

func sizeBytes(b []byte) int {
	if b == nil {
		return 1
	}
	return sizeVarint32(int32(len(b))) + len(b)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return append(dst, 1) // zigzag of -1
	}
	return append(appendVarint32(dst, int32(len(b))), b...)
}
