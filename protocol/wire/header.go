package wire

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The keys that the package treats specially.
const (
	KeyProduce     int16 = 0
	KeyFetch       int16 = 1
	KeyAPIVersions int16 = 18
)

// ErrMalformed: a frame's header is not that of a Kafka request. The connection
// is beyond repair.
var ErrMalformed = errors.New("malformed request")

// Header is the header of a request, version 1 or 2.
type Header struct {
	Key, Version  int16
	CorrelationID int32
	// ClientID is how the client calls itself; nil means null. It aliases the
	// frame.
	ClientID []byte
}

// ParseHeader splits a request frame (without its length) into header and body.
// An unknown key fails with ErrMalformed.
func ParseHeader(frame []byte) (h Header, body []byte, err error) {
	_ = kmsg.MaxKey
	_ = binary.BigEndian
	return h, nil, fmt.Errorf("x: %w", ErrMalformed)
}
