package powercut

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"tidemark/internal/vfs"
)

const (
	// pageSize is the unit in which a kernel writes a file back.
	pageSize = 4096
	// sectorSize is the unit a disk writes whole or not at all.
	sectorSize = 512
)

// undoName is the name of a copy of durable bytes that were overwritten or cut
// off: the bytes of a node between from and to, at their positions.
type undoName struct {
	node     nodeID
	gen      uint32
	number   int
	from, to int64
}

// String is the file's name.
func (u undoName) String() string {
	return fmt.Sprintf("%d-%d-%d-%d-%d", u.node, u.gen, u.number, u.from, u.to)
}

func parseUndoName(name string) (u undoName, ok bool) {
	n, err := fmt.Sscanf(name, "%d-%d-%d-%d-%d", &u.node, &u.gen, &u.number, &u.from, &u.to)
	return u, err == nil && n == 5 && u.String() == name && 0 <= u.from && u.from <= u.to
}

// undoAll lists all copies by node, the oldest first.
func undoAll(dir string) (map[nodeID][]undoName, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	all := map[nodeID][]undoName{}
	for _, e := range entries {
		if u, ok := parseUndoName(e.Name()); ok {
			all[u.node] = append(all[u.node], u)
		}
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b undoName) int {
			return cmp.Or(cmp.Compare(a.gen, b.gen), cmp.Compare(a.number, b.number))
		})
	}
	return all, nil
}

// copyBlock is how much is read at a time.
const copyBlock = 1 << 20

// eachData calls do with the bytes of f between two positions, a block after the
// other, leaving out holes and what lies behind the end of the file.
func eachData(f vfs.File, from, to int64, do func(at int64, data []byte) error) error {
	size, err := f.Size()
	if err != nil {
		return err
	}
	to = min(to, size)
	buf := make([]byte, max(0, min(copyBlock, to-from)))
	for from < to {
		start, end, err := nextData(f, from, to)
		if err != nil || start >= to {
			return err
		}
		for at := start; at < end; {
			n, err := f.ReadAt(buf[:min(int64(len(buf)), end-at)], at)
			if n == 0 && err == io.EOF {
				return nil // It shrank: nothing is there.
			}
			if err != nil && err != io.EOF {
				return err
			}
			if err := do(at, buf[:n]); err != nil {
				return err
			}
			at += int64(n)
		}
		from = end
	}
	return nil
}

// nextData finds the next stretch between two positions that is no hole, by the
// file system's word; start is to where there is none.
func nextData(f vfs.File, from, to int64) (start, end int64, err error) {
	fd, ok := f.Descriptor()
	if !ok {
		return from, to, nil
	}
	start, err = unix.Seek(fd, from, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return to, to, nil
	}
	if err != nil {
		return from, to, nil // A file system that does not tell has no holes.
	}
	if end, err = unix.Seek(fd, start, unix.SEEK_HOLE); err != nil {
		return start, to, nil
	}
	return min(start, to), min(end, to), nil
}
