package record

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (b Batch) checksum() uint32 { return crc32.Checksum(b[atAttributes:], castagnoli) }

func (b Batch) updateCRC() { binary.BigEndian.PutUint32(b[atCRC:], b.checksum()) }

// CheckCRC compares the checksum with the bytes; a difference is ErrCorrupt.
func (b Batch) CheckCRC() error {
	if want, got := b.CRC(), b.checksum(); got != want {
		return fmt.Errorf("batch checksum is %08x, its bytes give %08x: %w", want, got, ErrCorrupt)
	}
	return nil
}

// SetBaseOffset gives the records their offsets. The checksum does not cover it.
func (b Batch) SetBaseOffset(offset int64) {
	binary.BigEndian.PutUint64(b[atBaseOffset:], uint64(offset))
}

// SetLeaderEpoch writes the epoch of the appending leader. The checksum does
// not cover it.
func (b Batch) SetLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[atLeaderEpoch:], uint32(epoch))
}

// SetLogAppendTime stamps the batch with the broker's clock in milliseconds and
// writes the checksum again.
func (b Batch) SetLogAppendTime(ms int64) {
	b[atAttributes+1] |= bitLogAppendTime
	b.SetMaxTimestamp(ms)
}

// SetMaxTimestamp writes the largest timestamp in milliseconds and the checksum
// again.
func (b Batch) SetMaxTimestamp(ms int64) {
	binary.BigEndian.PutUint64(b[atMaxTimestamp:], uint64(ms))
	b.updateCRC()
}
