package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The keys that frames treat specially, and the one whose response is built
// here.
const (
	KeyProduce     int16 = 0
	KeyFetch       int16 = 1
	KeyAPIVersions int16 = 18

	// KeyFenceReplica is no key of Kafka's: brokers use it among themselves
	// (package broker/peer). Its versions are flexible.
	KeyFenceReplica int16 = 10001
)

// Why a header cannot be read; either way the connection is beyond repair.
var (
	// ErrMalformed: the bytes are not those of a request header.
	ErrMalformed = errors.New("malformed request header")
	// ErrUnknownKey: no API has the key, so that even the header's form is
	// unknown.
	ErrUnknownKey = errors.New("unknown API key")
)

// Header is the header of a request, version 1 or 2.
type Header struct {
	Key, Version  int16
	CorrelationID int32
	// ClientID is what the client calls itself; nil means null. It aliases the
	// frame.
	ClientID []byte
}

// The fixed part of a request header:
//
//	0     2         4                8           10
//	+-----+---------+----------------+-----------+-----------+------+
//	| key | version | correlation id | length of | client id | tags |
//	|     |         |                | client id |           | (v2) |
//	+-----+---------+----------------+-----------+-----------+------+
//
// A client id of length -1 is null; its length is never compact (KIP-482).
const (
	atVersion       = 2
	atCorrelationID = 4
	atClientID      = 8
	fixedHeader     = 10
)

// ParseHeader splits a request frame, without its length, into header and body.
// Where it fails after the fixed part, the header has what could be read.
func ParseHeader(frame []byte) (h Header, body []byte, err error) {
	if len(frame) < fixedHeader {
		return h, nil, fmt.Errorf("%d bytes: %w", len(frame), ErrMalformed)
	}
	h.Key = int16(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[atVersion:]))
	h.CorrelationID = int32(binary.BigEndian.Uint32(frame[atCorrelationID:]))
	if !KnownKey(h.Key) {
		return h, nil, fmt.Errorf("key %d: %w", h.Key, ErrUnknownKey)
	}
	if h.Version < 0 {
		return h, nil, fmt.Errorf("version %d: %w", h.Version, ErrMalformed)
	}
	length := int(int16(binary.BigEndian.Uint16(frame[atClientID:])))
	rest := frame[fixedHeader:]
	if length < -1 || length > len(rest) {
		return h, nil, fmt.Errorf("client id of %d bytes: %w", length, ErrMalformed)
	}
	if length >= 0 {
		h.ClientID, rest = rest[:length:length], rest[length:]
	}
	if IsFlexible(h.Key, h.Version) {
		if rest, err = skipTags(rest); err != nil {
			return h, nil, err
		}
	}
	return h, rest, nil
}

// skipTags steps over tagged fields: a count, then as many of tag, size and
// bytes, the tags in ascending order.
func skipTags(p []byte) ([]byte, error) {
	count, n := binary.Uvarint(p)
	if n <= 0 || count > uint64(len(p)) {
		return nil, fmt.Errorf("count of tagged fields: %w", ErrMalformed)
	}
	p = p[n:]
	last := -1
	for ; count > 0; count-- {
		tag, n := binary.Uvarint(p)
		if n <= 0 || tag > 1<<31-1 || int(tag) <= last {
			return nil, fmt.Errorf("tag after %d: %w", last, ErrMalformed)
		}
		last, p = int(tag), p[n:]
		size, n := binary.Uvarint(p)
		if n <= 0 || size > uint64(len(p)-n) {
			return nil, fmt.Errorf("size of tag %d: %w", last, ErrMalformed)
		}
		p = p[n+int(size):]
	}
	return p, nil
}

// flexible holds the first flexible version of each key, from the table of the
// client library.
var flexible = firstFlexible()

// notFlexible stands for a key that has no flexible version, noKey for a key
// that does not exist.
const (
	notFlexible int16 = 1<<15 - 1
	noKey       int16 = -1
)

func firstFlexible() []int16 {
	first := make([]int16, kmsg.MaxKey+1)
	for key := range first {
		first[key] = noKey
		req := kmsg.RequestForKey(int16(key))
		if req == nil {
			continue
		}
		first[key] = notFlexible
		for v := req.MaxVersion(); v >= 0; v-- {
			if req.SetVersion(v); req.IsFlexible() {
				first[key] = v
			}
		}
	}
	return first
}

// KnownKey says whether an API has the key.
func KnownKey(key int16) bool {
	return key >= 0 && int(key) < len(flexible) && flexible[key] != noKey || key == KeyFenceReplica
}

// IsFlexible says whether the API's messages of this version have tagged fields,
// in header and body alike (KIP-482). Versions that are not known yet count as
// the newest known one.
func IsFlexible(key, version int16) bool {
	return key == KeyFenceReplica || KnownKey(key) && version >= flexible[key] && flexible[key] != notFlexible
}

// hasResponseTags says whether the response's header has tagged fields. That of
// ApiVersions never has, so that a client of any age can read it.
func hasResponseTags(key, version int16) bool {
	return key != KeyAPIVersions && IsFlexible(key, version)
}
