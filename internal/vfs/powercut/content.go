package powercut

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"tidemark/internal/vfs"
)

// content rolls the bytes of one file.
type content struct {
	file vfs.File
	// seeds are the file's own; each page has dice from them.
	seeds [2]uint64
	torn  Torn
	keep  float64
	// written is how far behind durable the kernel had written back in order
	// when the power went: pages before it survive.
	written int64
	// durable is the length that is durable, size the length now, end where
	// the appended bytes end.
	durable, size, end int64
	// copies are the bytes that were durable and were overwritten since.
	copies []copyOf
	// length is the length the file gets.
	length int64

	kept int64
}

// copyOf is an open copy.
type copyOf struct {
	undoName
	file *os.File
}

// rewrite gives a file the bytes that survived.
func (c *cut) rewrite(path string, n *node, sameName bool) error {
	w := rowOf(c.rows, n.id)
	f, err := vfs.OS{}.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // A stranger removed it; place let it pass.
	}
	if err != nil {
		return err
	}
	defer f.Close() // Errors of writing come from WriteAt.
	x := content{file: f, torn: c.o.Torn, keep: c.keep, durable: w.durable, end: w.end}
	if x.size, err = f.Size(); err != nil {
		return err
	}
	if x.end < 0 {
		x.end = x.size
	}
	for _, u := range c.liveUndo(n.id, w) {
		src, err := os.Open(filepath.Join(c.path(undoDir), u.String()))
		if err != nil {
			return err
		}
		defer src.Close() // Only read from.
		x.copies = append(x.copies, copyOf{u, src})
	}
	if x.size == x.durable && len(x.copies) == 0 {
		if !sameName {
			c.report.Files = append(c.report.Files, FileReport{Path: path, Fate: "returned", DurableBytes: w.durable, SizeBefore: x.size, SizeAfter: x.size})
		}
		return nil
	}
	x.written, x.length = x.durable, x.durable
	if c.o.Seed != 0 {
		x.roll(c.dice(c.relative(path)))
	}
	if err := x.apply(); err != nil {
		return err
	}
	c.noteContent(path, sameName, &x)
	return nil
}

// relative is the path within its root, so that a seed says the same wherever
// the log directory lies.
func (c *cut) relative(path string) string {
	for _, root := range c.rootPaths() {
		if rel, err := filepath.Rel(root, path); err == nil && within(path, root) {
			return rel
		}
	}
	return path
}

// roll decides what holds for the whole file: its length, and how far the kernel
// had got with writing back in order.
func (x *content) roll(dice *rand.Rand) {
	x.seeds = [2]uint64{dice.Uint64(), dice.Uint64()}
	if unsynced := x.end - x.durable; unsynced > 0 && dice.IntN(2) == 0 {
		x.written += dice.Int64N(unsynced + 1)
	}
	switch low, high := min(x.durable, x.size), max(x.durable, x.size); dice.IntN(3) {
	case 0:
		x.length = x.size
	case 1:
		x.length = low + dice.Int64N(high-low+1)
	}
	if x.size > x.durable {
		x.length = max(x.length, x.written) // Written back includes the length.
	}
}

// apply rewrites the pages in question and sets the length.
func (x *content) apply() error {
	type stretch struct{ from, to int64 }
	stretches := []stretch{{x.durable / pageSize * pageSize, x.size}}
	for _, u := range x.copies {
		stretches = append(stretches, stretch{u.from / pageSize * pageSize, min(u.to, x.durable)})
	}
	slices.SortFunc(stretches, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	done := int64(0) // Pages before it are decided; the stretches may overlap.
	for _, s := range stretches {
		for from := max(s.from, done); from < s.to; from += pageSize {
			if len(x.copies) == 0 {
				// Holes read as zeros whether they survive or not.
				next, _, err := nextData(x.file, from, s.to)
				if err != nil {
					return err
				}
				if from = next / pageSize * pageSize; from >= s.to {
					break
				}
			}
			if err := x.page(from); err != nil {
				return err
			}
			done = from + pageSize
		}
	}
	return x.file.Truncate(x.length)
}

// page decides about one page and writes the outcome.
func (x *content) page(at int64) error {
	var now, former, outcome [pageSize]byte
	if err := readFull(x.file, now[:], at); err != nil {
		return err
	}
	if err := x.formerPage(former[:], now[:], at); err != nil {
		return err
	}
	dice := rand.New(rand.NewPCG(x.seeds[0]^uint64(at), x.seeds[1]))
	inOrder := x.durable < at+pageSize && at+pageSize <= x.written
	whole := inOrder || dice.Float64() < x.keep
	apart := !whole && x.torn == Sector && dice.IntN(2) == 0
	for s := 0; s < pageSize; s += sectorSize {
		survives := whole || apart && dice.IntN(2) == 0
		from := &former
		if survives {
			from = &now
			lo, hi := max(at+int64(s), x.durable), min(at+int64(s)+sectorSize, x.end, x.length)
			x.kept += max(0, hi-lo)
		}
		copy(outcome[s:s+sectorSize], from[s:])
	}
	if x.length <= at || bytes.Equal(outcome[:], now[:]) {
		return nil
	}
	_, err := x.file.WriteAt(outcome[:min(pageSize, x.length-at)], at)
	return err
}

// formerPage is a page as it was at the last sync: the copy made first after it
// where there is one, else what is there now, and zeros behind the durable end.
func (x *content) formerPage(former, now []byte, at int64) error {
	copy(former, now)
	if keep := x.durable - at; keep < pageSize {
		clear(former[max(0, keep):])
	}
	for _, c := range slices.Backward(x.copies) {
		lo, hi := max(at, c.from), min(at+pageSize, c.to, x.durable)
		if lo >= hi {
			continue
		}
		if err := readFull(c.file, former[lo-at:hi-at], lo); err != nil {
			return err
		}
	}
	return nil
}

// readFull fills p; what lies behind the end reads as zeros.
func readFull(f io.ReaderAt, p []byte, at int64) error {
	clear(p)
	_, err := io.ReadFull(io.NewSectionReader(f, at, int64(len(p))), p)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}
