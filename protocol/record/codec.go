package record

import "fmt"

// Codec is how the records of a batch are compressed.
type Codec int8

// The codecs, with their numbers on the wire.
const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4
)

var codecNames = [...]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd"}

// Valid says whether c is one of the codecs above.
func (c Codec) Valid() bool { return c >= None && c <= Zstd }

// String is the name as compression.type spells it.
func (c Codec) String() string {
	if !c.Valid() {
		return fmt.Sprintf("codec(%d)", int8(c))
	}
	return codecNames[c]
}

// ParseCodec is the inverse of String. It also takes "uncompressed", which is
// what the topic's compression.type calls None.
func ParseCodec(name string) (Codec, error) {
	if name == "uncompressed" {
		return None, nil
	}
	for c, n := range codecNames {
		if n == name {
			return Codec(c), nil
		}
	}
	return None, fmt.Errorf("codec %q: %w", name, ErrUnsupportedCodec)
}

// DefaultLevel asks for a codec's own default level.
const DefaultLevel = -1 << 31

// Levels returns the range of levels that Kafka's compression.<codec>.level
// takes and the codec's default (KIP-390); ok is false for codecs without
// levels.
func (c Codec) Levels() (lowest, highest, byDefault int, ok bool) {
	switch c {
	case Gzip:
		return 1, 9, 6, true
	case LZ4:
		return 1, 17, 9, true
	case Zstd:
		return -131072, 22, 3, true
	default:
		return 0, 0, 0, false
	}
}
