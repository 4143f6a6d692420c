package record

import (
	"fmt"
	"io"
	"sync"
)

// Header is one header of a record.
type Header struct {
	Key   []byte
	Value []byte // nil is null
}

// Record is one record of a batch. Its byte slices alias the Reader's buffer
// and hold until the next call of Next or Close; empty and null are told apart
// by nil.
type Record struct {
	// OffsetDelta adds to the batch's BaseOffset.
	OffsetDelta int32
	// TimestampDelta adds to the batch's BaseTimestamp, in milliseconds. It
	// counts for nothing in a batch of log append time.
	TimestampDelta int64
	Key, Value     []byte
	Headers        []Header
}

// Reader reads the records of one batch in order. It is confined to one
// goroutine.
type Reader struct {
	win   window
	owned []byte // the pooled buffer of win, kept while win shows a payload
	src   source
	count int32
	index int32 // of the next record
	err   error
}

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Records starts reading the batch's records, decompressing them piece by
// piece. The batch must not change before Close, which the caller owes exactly
// once. The error is an ErrUnsupportedCodec, ErrTooLarge or ErrInvalidRecord.
func (b Batch) Records(l Limits) (*Reader, error) {
	r := readers.Get().(*Reader)
	r.count, r.index, r.err = b.Count(), 0, nil
	if b.Codec() == None {
		r.owned = r.win.buf
		r.win.over(b.Payload())
		return r, nil
	}
	if err := r.src.open(b.Codec(), b.Payload(), l.decompressedBytes()); err != nil {
		readers.Put(r)
		return nil, err
	}
	r.win.reset(&r.src)
	return r, nil
}

// Close gives the reader and what it has handed out back.
func (r *Reader) Close() {
	r.src.close()
	if r.owned != nil {
		r.win.buf = r.owned
		r.owned = nil
	} else if r.win.src == nil || cap(r.win.buf) > keepWindowBytes {
		r.win.buf = nil
	}
	r.win = window{buf: r.win.buf}
	readers.Put(r)
}

// Err is what made Next return false before the last record, or what follows
// the last record without belonging there: a *RecordError or an ErrTooLarge.
func (r *Reader) Err() error { return r.err }

// Next reads the next record into rec, reusing rec.Headers. It returns false
// after the last record and on an error.
func (r *Reader) Next(rec *Record) bool {
	if r.err != nil {
		return false
	}
	if r.index >= r.count {
		if len(r.win.peek(1)) > 0 {
			r.err = fmt.Errorf("more records than the %d announced: %w", r.count, ErrInvalidRecord)
		} else if r.win.err != io.EOF {
			r.err = r.win.err
		}
		return false
	}
	body := r.body()
	if body == nil {
		return false
	}
	if reason := rec.parse(body); reason != "" {
		r.err = &RecordError{Index: r.index, Reason: reason, Err: ErrInvalidRecord}
		return false
	}
	r.index++
	return true
}

// body returns the bytes of the next record after its length, nil on an error.
func (r *Reader) body() []byte {
	u, n := uvarint32(r.win.peek(maxVarint32))
	if n <= 0 {
		r.fail(n)
		return nil
	}
	length := int(unzigzag32(u))
	if length < minRecordBody {
		r.err = &RecordError{Index: r.index, Reason: reasonLength, Err: ErrInvalidRecord}
		return nil
	}
	for len(r.win.bytes()) < n+length {
		if r.win.fill() {
			continue
		}
		if r.win.err != nil {
			r.fail(0)
			return nil
		}
		r.win.grow()
	}
	body := r.win.bytes()[n : n+length]
	r.win.skip(n + length)
	return body
}

// fail records why a varint or a record could not be read: it is malformed when
// n is negative, and cut off otherwise.
func (r *Reader) fail(n int) {
	switch {
	case n < 0:
		r.err = &RecordError{Index: r.index, Reason: reasonVarint, Err: ErrInvalidRecord}
	case r.win.err == io.EOF:
		r.err = &RecordError{Index: r.index, Reason: reasonCut, Err: ErrInvalidRecord}
	default:
		r.err = r.win.err
	}
}

// parse takes the body of a record apart. reason says what is wrong with it.
func (rec *Record) parse(r []byte) (reason string) {
	at := 1 // attributes are unused
	ts, n := uvarint64(r[at:])
	if n <= 0 {
		return reasonVarint
	}
	at += n
	off, n := uvarint32(r[at:])
	if n <= 0 {
		return reasonVarint
	}
	at += n
	rec.TimestampDelta, rec.OffsetDelta = unzigzag64(ts), unzigzag32(off)
	if rec.OffsetDelta < 0 {
		return reasonOffset
	}
	if rec.Key, at, reason = takeBytes(r, at, reasonKey); reason != "" {
		return reason
	}
	if rec.Value, at, reason = takeBytes(r, at, reasonValue); reason != "" {
		return reason
	}
	rec.Headers = rec.Headers[:0]
	if reason = skipHeaders(r, at); reason != "" {
		return reason
	}
	count, n := uvarint32(r[at:])
	at += n
	for range int(unzigzag32(count)) {
		var h Header
		h.Key, at, _ = takeBytes(r, at, reasonHeaders)
		h.Value, at, _ = takeBytes(r, at, reasonHeaders)
		rec.Headers = append(rec.Headers, h)
	}
	return ""
}

// takeBytes is skipBytes that also returns what it steps over.
func takeBytes(r []byte, at int, ifWrong string) (b []byte, end int, reason string) {
	end, null, reason := skipBytes(r, at, ifWrong)
	if reason != "" || null {
		return nil, end, reason
	}
	_, n := uvarint32(r[at:])
	return r[at+n : end : end], end, ""
}
