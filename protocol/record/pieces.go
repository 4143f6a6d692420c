package record

import (
	"encoding/binary"
	"hash/crc32"
)

// This is for readers of batches in pieces, as they lie on a disk, where nothing about
// them has been checked.

const (
	// LogOverhead is what a batch's length field does not count: itself and the base
	// offset before it. So many bytes tell a batch's size (Kafka's Records.LOG_OVERHEAD).
	LogOverhead = 12
	// ChecksumFrom is the position in a batch of the first byte its checksum covers; it
	// covers all that follow.
	ChecksumFrom = atAttributes
)

// ClaimedSize is the size in bytes that a batch claims to have, header included. head is
// at least its first LogOverhead bytes. No value is impossible, not even a negative one.
func ClaimedSize(head []byte) int64 {
	return int64(int32(binary.BigEndian.Uint32(head[atLength:]))) + LogOverhead
}

// UpdateChecksum continues a batch's checksum with the next bytes that it covers. The
// checksum of none is 0.
func UpdateChecksum(sum uint32, piece []byte) uint32 {
	return crc32.Update(sum, castagnoli, piece)
}
