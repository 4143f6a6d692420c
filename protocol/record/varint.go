package record

import "math/bits"

// Varints are little endian groups of seven bits, zigzag encoded, of at most 5
// bytes for 32 bits and 10 for 64 (Kafka's ByteUtils). The decoders return the
// number of bytes read; 0 says that p ends inside the varint, and a negative
// number that it is longer than it may be.

const (
	maxVarint32 = 5
	maxVarint64 = 10
)

func unzigzag32(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }
func unzigzag64(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
func zigzag32(v int32) uint32   { return uint32(v<<1) ^ uint32(v>>31) }
func zigzag64(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }

func uvarint32(p []byte) (uint32, int) {
	var u uint32
	for i := 0; i < len(p); i++ {
		c := p[i]
		if i == maxVarint32-1 {
			if c > 0x0f {
				return 0, -1
			}
			return u | uint32(c)<<28, maxVarint32
		}
		u |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, i + 1
		}
	}
	return 0, 0
}

func uvarint64(p []byte) (uint64, int) {
	var u uint64
	for i := 0; i < len(p); i++ {
		c := p[i]
		if i == maxVarint64-1 {
			if c > 1 {
				return 0, -1
			}
			return u | uint64(c)<<63, maxVarint64
		}
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, i + 1
		}
	}
	return 0, 0
}

func appendVarint32(dst []byte, v int32) []byte { return appendUvarint64(dst, uint64(zigzag32(v))) }
func appendVarint64(dst []byte, v int64) []byte { return appendUvarint64(dst, zigzag64(v)) }

func appendUvarint64(dst []byte, u uint64) []byte {
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}

func sizeUvarint64(u uint64) int { return (bits.Len64(u|1) + 6) / 7 }
func sizeVarint32(v int32) int   { return sizeUvarint64(uint64(zigzag32(v))) }
func sizeVarint64(v int64) int   { return sizeUvarint64(zigzag64(v)) }
