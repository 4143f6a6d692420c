package powercut

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"unsafe"

	"tidemark/internal/vfs"
)

// cells is a file of 8-byte cells, mapped: a store is one instruction and
// survives the process. Integers are of the machine's byte order, little endian
// where Tidemark runs; the record does not travel.
//
// The address of a cell does not change. Growing is the caller's to serialize.
type cells struct {
	file    vfs.File
	mapping *vfs.Mapping
	mapped  int64
}

const (
	cellSize = 8
	// cellStep is how much of the file is allocated and mapped at a time.
	cellStep = 1 << 20
	// cellReserve is the address space of a table: 128 Mi cells.
	cellReserve = 1 << 30
)

func createCells(path string) (*cells, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	f, err := vfs.OS{}.Create(path)
	if err != nil {
		return nil, err
	}
	m, err := vfs.Reserve(f, 0, cellReserve)
	if err != nil {
		_ = f.Close() // The first error tells more.
		return nil, err
	}
	return &cells{file: f, mapping: m}, nil
}

// at returns cell i, which exists from then on.
func (c *cells) at(i int64) (*atomic.Uint64, error) {
	for (i+1)*cellSize > c.mapped {
		to := c.mapped + cellStep
		if to > cellReserve {
			return nil, fmt.Errorf("%s is full", c.file.Name())
		}
		// Allocated, so that a store meets no full disk.
		if err := vfs.Allocate(c.file, c.mapped, to); err != nil {
			return nil, err
		}
		if err := c.mapping.Extend(c.file, c.mapped, to, true); err != nil {
			return nil, err
		}
		c.mapped = to
	}
	return (*atomic.Uint64)(unsafe.Pointer(&c.mapping.Bytes(i*cellSize, cellSize)[0])), nil
}

func (c *cells) close() error {
	return errors.Join(c.mapping.Unmap(), c.file.Close())
}

// readCells returns a table's cells; what is cut off reads as zeros.
func readCells(dir, name string) ([]uint64, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	out := make([]uint64, len(data)/cellSize)
	for i := range out {
		out[i] = binary.NativeEndian.Uint64(data[i*cellSize:])
	}
	return out, nil
}

// row is what the table of files says of one file: two cells.
type row struct {
	// durable is how many bytes from the start are durable.
	durable int64
	// liveFrom is the first generation of undo copies that still counts: those
	// before it were taken before a sync that made their ranges durable.
	liveFrom uint32
	// end is where the appended bytes end; −1 where nobody said, so that the
	// length of the file tells.
	end int64
}

// The durable cell holds both of its values, so that one store replaces them
// together: 40 bits of length, 24 of generation.
const (
	lengthBits = 40
	maxLength  = 1<<lengthBits - 1
	maxGen     = 1<<(64-lengthBits) - 1
)

func packDurable(length int64, liveFrom uint32) uint64 {
	return uint64(liveFrom&maxGen)<<lengthBits | uint64(min(length, maxLength))
}

// The end cell is one more than the end, so that a cell never written says that
// nobody did.
func packEnd(end int64) uint64 { return uint64(end + 1) }

// rowOf reads a file's row.
func rowOf(table []uint64, id nodeID) row {
	i := 2 * int(id)
	if i+1 >= len(table) {
		return row{end: -1}
	}
	return row{
		durable:  int64(table[i] & maxLength),
		liveFrom: uint32(table[i] >> lengthBits),
		end:      int64(table[i+1]) - 1,
	}
}
