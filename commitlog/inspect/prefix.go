package inspect

import (
	"fmt"
	"os"

	"tidemark/protocol/record"
)

// Prefix is the first bytes of a segment file, those a power cut cannot take.
type Prefix struct {
	// Base is the segment's base offset, Path where its file lies.
	Base int64
	Path string
	// Bytes is how many there are.
	Bytes int64
	// Whole says that they are all that was ever appended.
	Whole bool
}

// EndOffset is the offset after the last batch that lies wholly in the prefixes,
// which ascend by base; what follows a segment that is not whole does not count.
// Without prefixes it is 0.
func EndOffset(segments []Prefix) (int64, error) {
	for i, s := range segments {
		if s.Whole && i+1 < len(segments) {
			continue
		}
		return s.endOffset()
	}
	return 0, nil
}

func (s Prefix) endOffset() (int64, error) {
	file, err := os.Open(s.Path)
	if err != nil {
		return 0, err
	}
	defer file.Close() // Only read from.
	end := s.Base
	var head [record.HeaderSize]byte
	for at := int64(0); at+int64(len(head)) <= s.Bytes; {
		if _, err := file.ReadAt(head[:], at); err != nil {
			return 0, fmt.Errorf("read %s: %w", s.Path, err)
		}
		b := record.Batch(head[:])
		size := record.ClaimedSize(head[:])
		if size < record.HeaderSize || b.BaseOffset() < end || at+size > s.Bytes {
			break // Space that was reserved, or the beginning of a batch.
		}
		at, end = at+size, b.NextOffset()
	}
	return end, nil
}
