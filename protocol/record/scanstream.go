package record

import (
	"fmt"
	"io"
	"sync"
)

// streams holds what validating a compressed batch needs: a window and a place
// for the source. They are few, like decoders.
var streams = sync.Pool{New: func() any { return new(stream) }}

type stream struct {
	win window
	src source
}

// scanBatch checks the form of all of b's records. What it needs beyond the
// batch is one window and the decoder, however large the records are.
func scanBatch(b Batch, r rules, l Limits) (scanner, error) {
	s := newScanner(b.Count(), r)
	if b.Codec() == None {
		payload := b.Payload()
		n, err := s.scan(payload)
		if err == nil {
			err = s.finish(n == len(payload), nil)
		}
		return s, err
	}
	st := streams.Get().(*stream)
	defer streams.Put(st)
	if err := st.src.open(b.Codec(), b.Payload(), l.decompressedBytes()); err != nil {
		return s, err
	}
	defer st.src.close()
	st.win.reset(&st.src)
	err := s.scanWindow(&st.win)
	return s, err
}

// scanWindow checks a stream of records to its end.
func (s *scanner) scanWindow(w *window) error {
	for s.next < s.count {
		n, err := s.scan(w.bytes())
		if err != nil {
			return err
		}
		w.skip(n)
		if s.next == s.count || w.fill() {
			continue
		}
		if !w.full() {
			break
		}
		if err := s.scanLarge(w); err != nil {
			return err
		}
	}
	return s.finish(len(w.peek(1)) == 0, w.err)
}

// finish judges the end of the records: empty says that no byte follows, and
// srcErr is what ended the source.
func (s *scanner) finish(empty bool, srcErr error) error {
	switch {
	case srcErr != nil && srcErr != io.EOF:
		return srcErr
	case s.next < s.count:
		return s.wrong(s.next, reasonCut)
	case !empty:
		return fmt.Errorf("more records than the %d announced: %w", s.count, ErrInvalidRecord)
	default:
		return nil
	}
}

// scanLarge checks one record that is larger than the window, field by field,
// keeping nothing of its key, value and headers.
func (s *scanner) scanLarge(w *window) error {
	f := fields{w: w, left: maxVarint32}
	length := int64(unzigzag32(f.varint32()))
	f.left = length
	f.bytes(1) // attributes
	ts := unzigzag64(f.varint64())
	if f.ok() && unzigzag32(f.varint32()) != s.next {
		f.fail(reasonOffset)
	}
	nullKey := f.nullable(reasonKey)
	f.nullable(reasonValue)
	count := int64(unzigzag32(f.varint32()))
	if count < 0 || count > f.left/2 {
		f.fail(reasonHeaders)
	}
	for ; count > 0 && f.ok(); count-- {
		if f.nullable(reasonHeaders) {
			f.fail(reasonHeaders)
		}
		f.nullable(reasonHeaders)
	}
	if f.left != 0 {
		f.fail(reasonLength)
	}
	if f.reason != "" {
		if w.err != nil && w.err != io.EOF {
			return w.err
		}
		return s.wrong(s.next, f.reason)
	}
	if ts > s.maxDelta {
		s.maxDelta, s.maxAt = ts, s.next
	}
	if ts < s.lowestDelta || ts > s.highestDelta || s.requireKeys && nullKey {
		s.reject(s.next, ts, nullKey)
	}
	s.next++
	return nil
}

// fields reads the fields of one record off a window. The first thing wrong
// stays, and every later read gives zero.
type fields struct {
	w      *window
	left   int64 // bytes of the record still unread
	reason string
}

func (f *fields) ok() bool { return f.reason == "" }

func (f *fields) fail(reason string) {
	if f.reason == "" {
		f.reason = reason
	}
}

// took accounts for n bytes read, n being a decoder's count.
func (f *fields) took(n int) {
	switch {
	case n < 0:
		f.fail(reasonVarint)
	case n == 0 || int64(n) > f.left:
		f.fail(reasonLength)
	default:
		f.w.skip(n)
		f.left -= int64(n)
	}
}

func (f *fields) varint32() uint32 {
	if !f.ok() {
		return 0
	}
	u, n := uvarint32(f.w.peek(maxVarint32))
	f.took(n)
	return u
}

func (f *fields) varint64() uint64 {
	if !f.ok() {
		return 0
	}
	u, n := uvarint64(f.w.peek(maxVarint64))
	f.took(n)
	return u
}

// bytes steps over n bytes.
func (f *fields) bytes(n int64) {
	if !f.ok() {
		return
	}
	if n > f.left {
		f.fail(reasonLength)
		return
	}
	if !f.w.discard(n) {
		f.fail(reasonCut)
		return
	}
	f.left -= n
}

// nullable steps over a length and its bytes and says whether it was null.
func (f *fields) nullable(ifWrong string) (null bool) {
	length := int64(unzigzag32(f.varint32()))
	if length < -1 || length > f.left {
		f.fail(ifWrong)
	}
	f.bytes(max(length, 0))
	return length == -1
}
