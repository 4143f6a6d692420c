// Package buffered is the append engine that calls write(2): the bytes go into
// the page cache, where every reader finds them, and to the disk when the kernel
// or a Flush says so. It needs nothing of the file, so it also runs on files in
// memory. Kafka appends this way (FileChannel.write in FileRecords.append).
//
// Once a file has grown, it is longer than what was appended, by less than
// zeroStep bytes of zeros: the pages in which small appends are to lie.
package buffered

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// maxVector is how many buffers go into one pwritev(2); up to eight need no
// memory from the heap in x/sys.
const maxVector = 8

// The blocks reserved ahead of the end are as many as the file has, once it has
// minAhead bytes, and at most maxAhead bytes.
const (
	minAhead = 1 << 20
	maxAhead = 16 << 20
)

// Spec names the engine.
func Spec() engines.AppendSpec {
	return engines.AppendSpec{
		Name:      "buffered",
		Doc:       "write(2) into the page cache at an explicit position, as Kafka does",
		Available: func(string) error { return nil },
		Open:      open,
	}
}

// appender implements engines.Appender. All but Flush is confined to one
// goroutine at a time.
type appender struct {
	file engines.File
	// fd is the descriptor for pwritev(2); without one, vectored is false.
	fd       int
	vectored bool
	size     int64
	// torn says that the file may hold bytes behind size, left by an append
	// that failed.
	torn bool
	// ahead is the end of the blocks reserved on the disk, zeroed the end of the
	// zeros written behind size, if there are any.
	ahead, zeroed int64
	// exact says that nothing is to be written behind size.
	exact        bool
	segmentBytes int64
	syncer       *vfs.Syncer
	// vector is the part of bufs on its way to the kernel.
	vector [maxVector][]byte
}

func open(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	length, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name(), err)
	}
	if size < 0 || size > length {
		return nil, fmt.Errorf("open %s: %d valid bytes claimed, %d are there", f.Name(), size, length)
	}
	a := &appender{file: f, size: size, torn: length > size, ahead: size, exact: o.NoPrefault, segmentBytes: o.SegmentBytes, syncer: vfs.NewSyncer(f)}
	a.fd, a.vectored = f.Descriptor()
	if err := a.dropTail(); err != nil {
		return nil, err
	}
	return a, nil
}

// Append implements engines.Appender.
func (a *appender) Append(bufs [][]byte) (int64, error) {
	if err := a.syncer.Err(); err != nil {
		return 0, err
	}
	if err := a.dropTail(); err != nil {
		return 0, err
	}
	a.reserve()
	a.makePresent(bufs)
	end, err := a.write(bufs)
	if err != nil {
		// What did get there must go: recovery would take whole batches of
		// it for appended ones. If it will not go now, the next call tries.
		a.torn = true
		_ = a.dropTail()
		return 0, fmt.Errorf("append to %s: %w", a.file.Name(), err)
	}
	position := a.size
	a.size = end
	return position, nil
}

// reserve asks for blocks ahead of the end, as many as the file has, within
// bounds: writes into reserved blocks cost a tenth less processor time, and the
// file is one piece on the disk. Larger steps and a longer file gain no more, so
// its length stays what was written. Where the file system refuses, the writes
// that follow do without.
func (a *appender) reserve() {
	if a.size < a.ahead || a.size < minAhead || !a.vectored {
		return
	}
	to := min(a.size+min(a.size, maxAhead), a.segmentBytes)
	if to > a.size {
		_ = vfs.Preallocate(a.file, a.size, to) // Only a help.
	}
	a.ahead = max(to, a.size+minAhead)
}

// write puts bufs behind size and returns the new end.
func (a *appender) write(bufs [][]byte) (end int64, err error) {
	end = a.size
	if !a.vectored || len(bufs) == 1 {
		for _, buf := range bufs {
			n, err := a.file.WriteAt(buf, end)
			if end += int64(n); err != nil {
				return end, err
			}
		}
		return end, nil
	}
	for len(bufs) > 0 {
		n := copy(a.vector[:], bufs)
		bufs = bufs[n:]
		end, err = a.writeVector(a.vector[:n], end)
		clear(a.vector[:n])
		if err != nil {
			return end, err
		}
	}
	return end, nil
}

// writeVector writes all of vec, which it consumes.
func (a *appender) writeVector(vec [][]byte, at int64) (end int64, err error) {
	for {
		for len(vec) > 0 && len(vec[0]) == 0 {
			vec = vec[1:]
		}
		if len(vec) == 0 {
			return at, nil
		}
		n, err := unix.Pwritev(a.fd, vec, at)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return at, err
		case n == 0:
			return at, io.ErrShortWrite
		}
		at += int64(n)
		for n > 0 {
			step := min(n, len(vec[0]))
			vec[0] = vec[0][step:]
			n -= step
			if len(vec[0]) == 0 {
				vec = vec[1:]
			}
		}
	}
}

// dropTail removes what a failed append, or a former life of the file, left
// behind size.
func (a *appender) dropTail() error {
	if !a.torn {
		return nil
	}
	if err := a.file.Truncate(a.size); err != nil {
		return fmt.Errorf("drop the tail of %s: %w", a.file.Name(), err)
	}
	a.torn, a.ahead, a.zeroed = false, a.size, a.size
	return nil
}

// Flush implements engines.Appender.
func (a *appender) Flush() error { return a.syncer.Sync() }

// Truncate implements engines.Appender.
func (a *appender) Truncate(size int64) error {
	invariant.Check(0 <= size && size <= a.size, "truncate %s to %d, its end is %d", a.file.Name(), size, a.size)
	if err := a.file.Truncate(size); err != nil {
		return fmt.Errorf("truncate %s: %w", a.file.Name(), err)
	}
	a.size, a.ahead, a.zeroed, a.torn = size, size, size, false
	return nil
}

// Size implements engines.Appender.
func (a *appender) Size() int64 { return a.size }

// Close implements engines.Appender.
func (a *appender) Close() error {
	// A truncation to the length the file has gives back the blocks behind it.
	a.torn = a.torn || a.ahead > a.size || a.zeroed > a.size
	return a.dropTail()
}
