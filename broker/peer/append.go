package peer

import "encoding/binary"

// appendString writes a compact string.
func appendString(to []byte, s string) []byte {
	return append(appendLength(to, len(s)), s...)
}

// appendLength writes the length of a compact string or array.
func appendLength(to []byte, n int) []byte { return binary.AppendUvarint(to, uint64(n)+1) }

func appendInt16(to []byte, v int16) []byte { return binary.BigEndian.AppendUint16(to, uint16(v)) }
func appendInt32(to []byte, v int32) []byte { return binary.BigEndian.AppendUint32(to, uint32(v)) }
func appendInt64(to []byte, v int64) []byte { return binary.BigEndian.AppendUint64(to, uint64(v)) }
