package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// appendBench is what a clause of the append contract works with.
type appendBench struct {
	spec engines.AppendSpec
	dir  string
}

// segment is a file under an Appender and what it must contain.
type segment struct {
	spec     engines.AppendSpec
	options  engines.AppendOptions
	file     engines.File
	appender engines.Appender
	want     []byte
}

// smallSegment keeps files of a clause small where their size is not the point.
const smallSegment = 1 << 20

// create opens a new file under the engine.
func (b appendBench) create(name string, segmentBytes int64) (*segment, error) {
	f, err := vfs.OS{}.Create(filepath.Join(b.dir, name))
	if err != nil {
		return nil, err
	}
	s := &segment{spec: b.spec, options: engines.AppendOptions{SegmentBytes: segmentBytes}, file: f}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// with runs do on a new segment and closes it, whatever came.
func (b appendBench) with(segmentBytes int64, do func(s *segment) error) error {
	s, err := b.create("segment", segmentBytes)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.close())
}

// open starts the engine behind the wanted bytes.
func (s *segment) open() error {
	a, err := s.spec.Open(s.file, int64(len(s.want)), s.options)
	if err != nil {
		return fmt.Errorf("open at %d: %w", len(s.want), err)
	}
	s.appender = a
	if got := a.Size(); got != int64(len(s.want)) {
		return fmt.Errorf("size after Open is %d, want %d", got, len(s.want))
	}
	return nil
}

// append appends bufs and notes them as wanted.
func (s *segment) append(bufs ...[]byte) error {
	end := int64(len(s.want))
	position, err := s.appender.Append(bufs)
	if err != nil {
		return fmt.Errorf("append at %d: %w", end, err)
	}
	for _, buf := range bufs {
		s.want = append(s.want, buf...)
	}
	if position != end {
		return fmt.Errorf("append returned position %d, want %d", position, end)
	}
	if got := s.appender.Size(); got != int64(len(s.want)) {
		return fmt.Errorf("size after Append is %d, want %d", got, len(s.want))
	}
	return nil
}

// check compares the file, as another process would see it, with the wanted
// bytes; what follows them must read as zeros.
func (s *segment) check() error {
	got, err := os.ReadFile(s.file.Name())
	if err != nil {
		return err
	}
	if len(got) < len(s.want) {
		return fmt.Errorf("the file has %d bytes, %d were appended", len(got), len(s.want))
	}
	tail := got[len(s.want):]
	if err := compare(got[:len(s.want)], s.want, 0); err != nil {
		return err
	}
	if at := firstNonZero(tail); at >= 0 {
		return fmt.Errorf("byte %#02x at %d, behind the end %d; want zeros there", tail[at], len(s.want)+at, len(s.want))
	}
	return nil
}

// zeros are compared with a block at a time: reserved space is long.
var zeros [64 << 10]byte

// firstNonZero is the index of the first byte other than zero, -1 if there is none.
func firstNonZero(p []byte) int {
	for at := 0; at < len(p); at += len(zeros) {
		block := p[at:min(at+len(zeros), len(p))]
		if !bytes.Equal(block, zeros[:len(block)]) {
			return at + len(block) - len(bytes.TrimLeft(block, "\x00"))
		}
	}
	return -1
}

// stop closes the appender, if there is one, and not the file.
func (s *segment) stop() error {
	if s.appender == nil {
		return nil
	}
	err := s.appender.Close()
	s.appender = nil
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func (s *segment) close() error { return errors.Join(s.stop(), s.file.Close()) }

// breakDevice puts a device on which writing, allocating, truncating and syncing
// fail in place of the file, under the same descriptor, until repair is called.
func (s *segment) breakDevice() (repair func() error, err error) {
	fd, ok := s.file.Descriptor()
	if !ok {
		return nil, vfs.ErrNoDescriptor
	}
	spare, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	full, err := unix.Open("/dev/full", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Dup3(full, fd, unix.O_CLOEXEC), unix.Close(full))
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(spare))
	}
	return func() error {
		return errors.Join(unix.Dup3(spare, fd, unix.O_CLOEXEC), unix.Close(spare))
	}, nil
}
