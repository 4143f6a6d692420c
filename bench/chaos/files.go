package chaos

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Log is what the files of a partition hold.
type Log struct {
	// Batches and Bytes are how many, End the offset behind the last.
	Batches, Bytes, End int64
	// Starts are the offsets at which leader epochs begin.
	Starts []EpochStart
}

// EpochStart is a leader epoch and the offset of its first batch.
type EpochStart struct {
	Epoch  int32
	Offset int64
}

// StartAfter is where the first epoch above one begins; the end where there is none.
func (l Log) StartAfter(epoch int32) int64 {
	for _, s := range l.Starts {
		if s.Epoch > epoch {
			return s.Offset
		}
	}
	return l.End
}

// CompareLogs reads the logs in the folders of one partition side by side: each must
// be sound, and all must hold equal bytes at every offset. It returns what they hold.
// How batches are spread over segments is each broker's own affair.
func CompareLogs(dirs ...string) (log Log, err error) {
	walkers := make([]*walker, len(dirs))
	for i, dir := range dirs {
		if walkers[i], err = walk(dir); err != nil {
			return Log{}, err
		}
	}
	defer func() {
		for _, w := range walkers {
			w.close()
		}
	}()
	for {
		var first []byte
		for i, w := range walkers {
			batch, err := w.next()
			switch {
			case err != nil:
				return Log{}, err
			case i == 0:
				first = batch
			case !bytes.Equal(first, batch):
				return Log{}, fmt.Errorf("the logs differ at offset %d: %s has %s, %s has %s", log.End, dirs[0], describe(first), dirs[i], describe(batch))
			}
		}
		if first == nil {
			return log, nil
		}
		if err := log.add(first); err != nil {
			return Log{}, fmt.Errorf("%s: %w", dirs[0], err)
		}
	}
}

// The places in a batch that are looked at.
const (
	atLength, atEpoch, atCRC, atAttributes, atLastDelta, headerBytes = 8, 12, 17, 21, 23, 61
	beforeEpoch                                                      = 12
)

var big = binary.BigEndian

func (l *Log) add(batch []byte) error {
	base, epoch := int64(big.Uint64(batch)), int32(big.Uint32(batch[atEpoch:]))
	if base < l.End || l.Batches == 0 && base != 0 {
		return fmt.Errorf("a batch of offset %d where %d is due", base, l.End)
	}
	n := len(l.Starts)
	if n > 0 && epoch < l.Starts[n-1].Epoch {
		return fmt.Errorf("epoch %d at offset %d after epoch %d", epoch, base, l.Starts[n-1].Epoch)
	}
	if n == 0 || epoch > l.Starts[n-1].Epoch {
		l.Starts = append(l.Starts, EpochStart{epoch, base})
	}
	l.Batches++
	l.Bytes += int64(len(batch))
	l.End = base + int64(int32(big.Uint32(batch[atLastDelta:]))) + 1
	return nil
}

func describe(batch []byte) string {
	if batch == nil {
		return "no more"
	}
	return fmt.Sprintf("a batch of offset %d, epoch %d, %d bytes, checksum %08x", big.Uint64(batch), big.Uint32(batch[atEpoch:]), len(batch), big.Uint32(batch[atCRC:]))
}

// walker goes through the batches of a folder's segments.
type walker struct {
	left  []string
	file  *os.File
	in    *bufio.Reader
	batch []byte
}

func walk(dir string) (*walker, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	w := &walker{}
	for _, e := range entries { // in the order of their names, which are offsets
		if strings.HasSuffix(e.Name(), ".log") {
			w.left = append(w.left, filepath.Join(dir, e.Name()))
		}
	}
	return w, nil
}

// next is the next batch, valid until the next call; nil at the end.
func (w *walker) next() ([]byte, error) {
	for {
		if w.file == nil {
			if len(w.left) == 0 {
				return nil, nil
			}
			f, err := os.Open(w.left[0])
			if err != nil {
				return nil, fmt.Errorf("log: %w", err)
			}
			w.left, w.file, w.in = w.left[1:], f, bufio.NewReaderSize(f, 1<<20)
		}
		batch, err := w.read()
		if err != nil || batch != nil {
			return batch, err
		}
		w.close()
	}
}

// read is the next batch of the file, nil behind the last one: what engines put there
// ahead of records is zeros.
func (w *walker) read() ([]byte, error) {
	head, err := w.in.Peek(beforeEpoch)
	if errors.Is(err, io.EOF) && len(bytes.Trim(head, "\x00")) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.file.Name(), err)
	}
	base, size := big.Uint64(head), int64(big.Uint32(head[atLength:]))+beforeEpoch
	if size == beforeEpoch && base == 0 {
		return nil, nil
	}
	if size < headerBytes || size > 64<<20 {
		return nil, fmt.Errorf("%s: a batch of %d bytes at offset %d", w.file.Name(), size, base)
	}
	w.batch = slices.Grow(w.batch[:0], int(size))[:size]
	if _, err := io.ReadFull(w.in, w.batch); err != nil {
		return nil, fmt.Errorf("%s: batch at offset %d: %w", w.file.Name(), base, err)
	}
	if crc32.Checksum(w.batch[atAttributes:], castagnoli) != big.Uint32(w.batch[atCRC:]) {
		return nil, fmt.Errorf("%s: the batch at offset %d has a wrong checksum", w.file.Name(), base)
	}
	return w.batch, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (w *walker) close() {
	if w.file != nil {
		_ = w.file.Close() // only read
		w.file = nil
	}
}
