package inspect

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"tidemark/protocol/record"
)

// segment prints and checks the batches of a segment file.
func (d *dumper) segment(path string, base int64) error {
	next := base
	end, err := walk(path, func(b record.Batch, position int64) error {
		d.batch(b, position)
		switch {
		case b.BaseOffset() < next || b.LastOffsetDelta() < 0:
			d.problem("batch at position %d has offsets %d to %d, %d was next", position, b.BaseOffset(), b.LastOffset(), next)
		case b.LastOffset()-base > 1<<31-1:
			d.problem("batch at position %d ends at offset %d, too far from %d", position, b.LastOffset(), base)
		}
		next = b.NextOffset()
		if err := b.CheckCRC(); err != nil {
			d.problem("batch at position %d: %v", position, err)
		} else if d.Deep || d.Records {
			d.records(b, position)
		}
		return d.err
	})
	if err != nil {
		return err
	}
	d.tail(end)
	return nil
}

// batch prints one batch, with the names kafka-dump-log uses.
func (d *dumper) batch(b record.Batch, position int64) {
	timestamp := "CreateTime"
	if b.IsLogAppendTime() {
		timestamp = "LogAppendTime"
	}
	fields := []field{
		{"baseOffset", b.BaseOffset()}, {"lastOffset", b.LastOffset()}, {"count", b.Count()},
		{"baseSequence", b.BaseSequence()}, {"lastSequence", b.LastSequence()},
		{"producerId", b.ProducerID()}, {"producerEpoch", b.ProducerEpoch()},
		{"partitionLeaderEpoch", b.LeaderEpoch()}, {"isTransactional", b.IsTransactional()},
		{"isControl", b.IsControl()}, {"position", position}, {timestamp, b.MaxTimestamp()},
		{"size", b.Size()}, {"magic", b.Magic()}, {"compresscodec", b.Codec().String()},
		{"crc", b.CRC()}, {"isvalid", b.CheckCRC() == nil},
	}
	if b.HasDeleteHorizon() {
		fields = append(fields, field{"deleteHorizonMs", b.BaseTimestamp()})
	}
	d.line("batch", fields...)
}

// records checks the records of a batch, and prints them if asked.
func (d *dumper) records(b record.Batch, position int64) {
	r, err := b.Records(record.Limits{})
	if err != nil {
		d.problem("batch at position %d: %v", position, err)
		return
	}
	defer r.Close()
	var rec record.Record
	count, last, newest := int32(0), int32(-1), int64(record.NoTimestamp)
	for r.Next(&rec) {
		if rec.OffsetDelta <= last {
			d.problem("batch at position %d: offset delta %d after %d", position, rec.OffsetDelta, last)
		}
		count, last = count+1, rec.OffsetDelta
		ms := b.BaseTimestamp() + rec.TimestampDelta
		if b.IsLogAppendTime() {
			ms = b.MaxTimestamp()
		}
		newest = max(newest, ms)
		if d.Records {
			d.record(b, &rec, ms)
		}
	}
	switch {
	case r.Err() != nil:
		d.problem("batch at position %d, after %d records: %v", position, count, r.Err())
	case count != b.Count() || last > b.LastOffsetDelta():
		d.problem("batch at position %d has %d records up to offset delta %d, its header says %d and %d",
			position, count, last, b.Count(), b.LastOffsetDelta())
	case count > 0 && newest != b.MaxTimestamp():
		d.problem("batch at position %d has a largest timestamp of %d, its header says %d", position, newest, b.MaxTimestamp())
	}
}

func (d *dumper) record(b record.Batch, rec *record.Record, ms int64) {
	headers := make([]string, len(rec.Headers))
	for i, h := range rec.Headers {
		headers[i] = fmt.Sprintf("%s=%s", h.Key, h.Value)
	}
	fields := []field{
		{"offset", b.BaseOffset() + int64(rec.OffsetDelta)}, {"timestamp", ms},
		{"keySize", size(rec.Key)}, {"valueSize", size(rec.Value)}, {"headers", headers},
	}
	if b.IsControl() {
		kind, coordinatorEpoch, err := record.ParseControl(rec.Key, rec.Value)
		if err != nil {
			d.problem("control record at offset %d: %v", b.BaseOffset()+int64(rec.OffsetDelta), err)
		}
		fields = append(fields, field{"endTxnMarker", kind.String()}, field{"coordinatorEpoch", coordinatorEpoch})
	} else {
		fields = append(fields, field{"key", text(rec.Key)}, field{"payload", text(rec.Value)})
	}
	d.line("record", fields...)
}

// size is the length of a key or value, -1 for null as on the wire.
func size(b []byte) int {
	if b == nil {
		return -1
	}
	return len(b)
}

// text is a key or value as people can read it: quoted where it is not plain.
func text(b []byte) string {
	if b == nil {
		return "null"
	}
	return fmt.Sprintf("%q", b)
}

// remainder is what lies behind the last whole batch.
type remainder struct {
	position, bytes int64
	// zeros: nothing but space reserved by an append engine.
	zeros bool
	err   error
}

// tail prints what lies behind the last batch.
func (d *dumper) tail(r remainder) {
	switch {
	case r.bytes == 0:
	case r.zeros:
		d.line("reserved", field{"position", r.position}, field{"bytes", r.bytes})
	default:
		d.problem("%d bytes at position %d are no batch: %v", r.bytes, r.position, r.err)
	}
}

// walk calls f for every batch of a segment file until one cannot be read.
func walk(path string, f func(b record.Batch, position int64) error) (remainder, error) {
	file, err := os.Open(path)
	if err != nil {
		return remainder{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return remainder{}, err
	}
	var buf []byte
	position := int64(0)
	for position < info.Size() {
		b, err := readBatch(file, position, info.Size(), &buf)
		if err != nil {
			return rest(file, position, info.Size(), err)
		}
		if err := f(b, position); err != nil {
			return remainder{}, err
		}
		position += int64(b.Size())
	}
	return remainder{position: position}, nil
}

// readBatch reads the batch at position into buf, which grows no further than
// the file reaches.
func readBatch(file io.ReaderAt, position, end int64, buf *[]byte) (record.Batch, error) {
	var head [record.LogOverhead]byte
	if end-position < int64(len(head)) {
		return nil, record.ErrShort
	}
	if _, err := file.ReadAt(head[:], position); err != nil {
		return nil, err
	}
	size := record.ClaimedSize(head[:])
	if size < record.HeaderSize {
		return nil, fmt.Errorf("batch of %d bytes: %w", size, record.ErrCorrupt)
	}
	if size > end-position {
		return nil, record.ErrShort
	}
	if int64(cap(*buf)) < size {
		*buf = make([]byte, size)
	}
	*buf = (*buf)[:size]
	if _, err := file.ReadAt(*buf, position); err != nil {
		return nil, err
	}
	b, _, err := record.Parse(*buf)
	return b, err
}

// rest describes the bytes from position on, which err says are no batch.
func rest(file io.ReaderAt, position, end int64, err error) (remainder, error) {
	r := remainder{position: position, bytes: end - position, zeros: true, err: err}
	block := make([]byte, 1<<16)
	for at := position; at < end; at += int64(len(block)) {
		block = block[:min(int64(len(block)), end-at)]
		if _, err := file.ReadAt(block, at); err != nil {
			return r, err
		}
		if len(bytes.TrimLeft(block, "\x00")) > 0 {
			r.zeros = false
			break
		}
	}
	return r, nil
}
