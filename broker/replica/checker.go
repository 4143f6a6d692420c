package replica

import (
	"fmt"

	"tidemark/engines"
	"tidemark/protocol/record"
)

// checker compares the checksums of the batches that are written to it. They may come in
// any pieces; an error names the first that is no batch, and the position of it.
type checker struct {
	head     [record.HeaderSize]byte
	have     int    // bytes of head
	left     int64  // bytes of the batch behind its header
	sum      uint32 // over what of it was there
	position int64  // of the batch
	next     int64  // the offset after the last whole batch
}

// check reads the batches of a chunk. It returns the offset after those that are sound,
// and the position in the chunk where they end.
func check(chunk engines.Chunk) (next, position int64, err error) {
	c := checker{next: -1}
	for chunk.Len() > 0 && err == nil {
		_, err = chunk.WriteTo(&c)
	}
	return c.next, c.position, err
}

// Write implements io.Writer.
func (c *checker) Write(b []byte) (n int, err error) {
	for n < len(b) {
		rest := b[n:]
		if c.have < len(c.head) {
			took := copy(c.head[c.have:], rest)
			c.have += took
			n += took
			if c.have < len(c.head) {
				break
			}
			if err := c.begin(); err != nil {
				return n, err
			}
		} else {
			took := min(int64(len(rest)), c.left)
			c.sum = record.UpdateChecksum(c.sum, rest[:took])
			c.left -= took
			n += int(took)
		}
		if c.left == 0 {
			if err := c.end(); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// begin takes in a header.
func (c *checker) begin() error {
	h := record.Batch(c.head[:])
	size := record.ClaimedSize(c.head[:])
	if h.Magic() != record.Magic2 || size < record.HeaderSize {
		return fmt.Errorf("magic %d, %d bytes: %w", h.Magic(), size, record.ErrCorrupt)
	}
	c.left = size - record.HeaderSize
	c.sum = record.UpdateChecksum(0, c.head[record.ChecksumFrom:])
	return nil
}

// end compares a batch's checksum.
func (c *checker) end() error {
	h := record.Batch(c.head[:])
	if h.CRC() != c.sum {
		return fmt.Errorf("offset %d: checksum %08x, computed %08x: %w", h.BaseOffset(), h.CRC(), c.sum, record.ErrCorrupt)
	}
	c.position += record.ClaimedSize(c.head[:])
	c.have, c.next = 0, h.NextOffset()
	return nil
}
