package record

import (
	"fmt"
	"math"
)

// A record, after decompression:
//
//	length varint | attributes int8 | timestamp delta varlong | offset delta
//	varint | key length varint (-1 null) | key | value length varint (-1 null)
//	| value | header count varint | headers: key length, key, value length,
//	value
//
// The scanner walks records without taking them apart further than the rules
// for a batch need. It is the hot loop of validation: it is called once per
// piece of a batch and keeps its state in registers from record to record.
type scanner struct {
	rules
	count int32 // records that the header announces
	next  int32 // offset delta that the next record must have

	maxDelta int64 // largest timestamp delta so far
	maxAt    int32 // offset delta of the first record that has it
	rejected RecordErrors
}

// rules are what a record's contents must keep.
type rules struct {
	requireKeys bool
	// lowestDelta and highestDelta bound the timestamp deltas, inclusive.
	lowestDelta, highestDelta int64
}

func newScanner(count int32, r rules) scanner {
	return scanner{rules: r, count: count, maxDelta: math.MinInt64}
}

// minRecordBody is the smallest value of a record's length: attributes, two
// deltas, two null lengths and no headers, a byte each.
const minRecordBody = 6

// scan checks the whole records at the start of p and returns how many bytes
// they take. It stops at the announced count, and before a record of which p
// has only a part.
func (s *scanner) scan(p []byte) (int, error) {
	next, maxDelta, maxAt := s.next, s.maxDelta, s.maxAt
	lowest, highest, requireKeys := s.lowestDelta, s.highestDelta, s.requireKeys
	pos := 0
	var err error
	for next < s.count {
		// The bodies of most records are 64 to 8191 bytes long, which is two
		// bytes of varint.
		var body, at int
		if rest := p[pos:]; len(rest) >= 2 && rest[0]&^rest[1] >= 0x80 {
			body, at = int(uint32(rest[0]&0x7f)|uint32(rest[1])<<7), pos+2
		} else {
			u, n := uvarint32(rest)
			if n <= 0 {
				if n < 0 {
					err = s.wrong(next, reasonVarint)
				}
				break
			}
			body, at = int(u), pos+n
		}
		if body&1 != 0 || body < 2*minRecordBody {
			err = s.wrong(next, reasonLength)
			break
		}
		end := at + body>>1
		if end > len(p) {
			break
		}
		delta, nullKey, reason := scanBody(p[at:end], next)
		if reason != "" {
			err = s.wrong(next, reason)
			break
		}
		if delta > maxDelta {
			maxDelta, maxAt = delta, next
		}
		if delta < lowest || delta > highest || requireKeys && nullKey {
			s.reject(next, delta, nullKey)
		}
		next++
		pos = end
	}
	s.next, s.maxDelta, s.maxAt = next, maxDelta, maxAt
	return pos, err
}

// scanBody checks the body of the record that must have offset delta next, of
// at least minRecordBody bytes. Varints of one and two bytes, which nearly all
// are, are read here, others by the decoders.
func scanBody(r []byte, next int32) (delta int64, nullKey bool, reason string) {
	// Timestamp delta, behind the unused attributes.
	at := 2
	ts := uint64(r[1])
	if ts >= 0x80 {
		if c := r[2]; c < 0x80 {
			ts, at = ts&0x7f|uint64(c)<<7, 3
		} else {
			u, n := uvarint64(r[1:])
			if n <= 0 {
				return 0, false, reasonVarint
			}
			ts, at = u, 1+n
		}
	}
	if at+3 > len(r) {
		return 0, false, reasonLength
	}
	off := uint32(r[at])
	at++
	if off >= 0x80 {
		if c := r[at]; c < 0x80 {
			off = off&0x7f | uint32(c)<<7
			at++
		} else {
			u, n := uvarint32(r[at-1:])
			if n <= 0 {
				return 0, false, reasonVarint
			}
			off = u
			at += n - 1
		}
	}
	if off != uint32(next)<<1 {
		return 0, false, reasonOffset
	}
	if at, nullKey, reason = scanKeyValue(r, at); reason != "" {
		return 0, false, reason
	}
	if at != len(r)-1 || r[at] != 0 { // other than no headers
		reason = skipHeaders(r, at)
	}
	return unzigzag64(ts), nullKey, reason
}

// scanKeyValue steps over key and value at r[at:]. Keys of less than 64 bytes
// and values of 64 to 8191 take the short way.
func scanKeyValue(r []byte, at int) (end int, nullKey bool, reason string) {
	if at < len(r) && r[at]&0x81 == 0 && at+int(r[at])>>1+2 < len(r) {
		at += 1 + int(r[at])>>1
	} else if at < len(r) && r[at] == 1 {
		at++
		nullKey = true
	} else if at, nullKey, reason = skipBytes(r, at, reasonKey); reason != "" {
		return at, nullKey, reason
	}
	if rest := r[at:]; len(rest) >= 2 && rest[0]&^rest[1] >= 0x80 && rest[0]&1 == 0 {
		if at += 2 + int(uint32(rest[0]&0x7f)|uint32(rest[1])<<7)>>1; at < len(r) {
			return at, nullKey, ""
		}
		return at, nullKey, reasonValue
	}
	at, _, reason = skipBytes(r, at, reasonValue)
	return at, nullKey, reason
}

// What can be wrong with a record's form.
const (
	reasonVarint  = "a varint is malformed"
	reasonLength  = "its length does not fit its fields"
	reasonOffset  = "its offset delta is not its place in the batch"
	reasonKey     = "its key does not fit the record"
	reasonValue   = "its value does not fit the record"
	reasonHeaders = "its headers do not fit the record"
	reasonCut     = "the batch ends inside it"
)

func (s *scanner) wrong(index int32, reason string) error {
	return &RecordError{Index: index, Reason: reason, Err: ErrInvalidRecord}
}

// reject notes that the record's contents break a rule.
func (s *scanner) reject(index int32, delta int64, nullKey bool) {
	if len(s.rejected) == MaxRecordErrors {
		return
	}
	e := &RecordError{Index: index, Err: ErrInvalidTimestamp,
		Reason: fmt.Sprintf("its timestamp is %d ms after the batch's, the topic allows %d to %d",
			delta, s.lowestDelta, s.highestDelta)}
	if s.requireKeys && nullKey {
		e.Err, e.Reason = ErrInvalidRecord, "a compacted topic takes no record without a key"
	}
	s.rejected = append(s.rejected, e)
}

// skipBytes steps over a length and as many bytes at r[at:]. reason is the
// caller's word for what is wrong, if something is.
func skipBytes(r []byte, at int, ifWrong string) (end int, null bool, reason string) {
	u, n := uvarint32(r[min(at, len(r)):])
	if n < 0 {
		return at, false, reasonVarint
	}
	if n == 0 {
		return at, false, ifWrong
	}
	length := int(unzigzag32(u))
	if length < -1 || length > len(r)-at-n {
		return at, false, ifWrong
	}
	return at + n + max(length, 0), length < 0, ""
}

// skipHeaders steps over the header count and headers at r[at:], which must end
// where r does.
func skipHeaders(r []byte, at int) (reason string) {
	u, n := uvarint32(r[at:])
	if n <= 0 {
		return reasonHeaders
	}
	at += n
	count := int(unzigzag32(u))
	if count < 0 || count > (len(r)-at)/2 { // a header takes at least two bytes
		return reasonHeaders
	}
	for ; count > 0; count-- {
		var null bool
		if at, null, reason = skipBytes(r, at, reasonHeaders); reason != "" {
			return reason
		}
		if null {
			return reasonHeaders
		}
		if at, _, reason = skipBytes(r, at, reasonHeaders); reason != "" {
			return reason
		}
	}
	if at != len(r) {
		return reasonLength
	}
	return ""
}
