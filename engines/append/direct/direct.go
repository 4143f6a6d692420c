// Package direct is the append engine that writes past the page cache, with
// O_DIRECT: what Append returned for has left the process and the cache and is in
// the hands of the device. It competes with nobody for memory, and a log that
// grows without end costs the same for every append; what a consumer reads comes
// from the disk.
//
// The device takes whole blocks at positions that are multiples of a block. The
// engine therefore copies appends into aligned memory and keeps the bytes of the
// last, unfinished block: the next append writes that block again, its first part
// unchanged, so that a write torn by a power cut leaves the former bytes as they
// were. What pads the block are zeros.
//
// Blocks are reserved ahead in steps and count in the file's length meanwhile, so
// that an append changes no more of the file's metadata than that its blocks are
// written. The kernel drops the cached pages under each write, before it and
// after it: readers that go through the page cache, by a mapping too, find the
// new bytes.
//
// O_DIRECT is a property of an open file, not of a descriptor's user: the engine
// opens the file a second time, for itself. Truncation, reservation and Sync go
// through the log's File.
package direct

import (
	"fmt"

	"tidemark/engines"
	"tidemark/internal/invariant"
	"tidemark/internal/vfs"
)

// Spec names the engine.
func Spec() engines.AppendSpec {
	// Some file systems refuse O_DIRECT (overlays, tmpfs before Linux 6.6), some
	// reserve no blocks.
	return engines.AppendSpec{
		Name:      "direct",
		Doc:       "write whole blocks past the page cache with O_DIRECT, the unfinished last one again each time",
		Available: func(dir string) error { return vfs.TrialAppend(dir, open) },
		Open:      open,
	}
}

// appender implements engines.Appender. All but Flush is confined to one
// goroutine at a time.
type appender struct {
	file         engines.File
	device       device
	segmentBytes int64
	size         int64
	// tail is the last block as it must stand in the file; its first
	// size%device.block bytes count.
	tail []byte
	// reserved is the length of the file.
	reserved int64
	// torn says that bytes behind size may be other than zero.
	torn   bool
	syncer *vfs.Syncer
}

func open(f engines.File, size int64, o engines.AppendOptions) (engines.Appender, error) {
	a := &appender{file: f, segmentBytes: o.SegmentBytes, size: size, syncer: vfs.NewSyncer(f)}
	if err := a.open(); err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name(), err)
	}
	return a, nil
}

func (a *appender) open() error {
	length, err := a.file.Size()
	if err != nil {
		return err
	}
	if a.size < 0 || a.size > length {
		return fmt.Errorf("%d valid bytes claimed, %d are there", a.size, length)
	}
	if a.device, err = openDevice(a.file); err != nil {
		return err
	}
	a.tail = make([]byte, a.device.block)
	if err = a.loadTail(a.size); err == nil && length > a.size {
		err = a.trim()
	}
	if err != nil {
		_ = a.device.close() // Nothing was written through it.
		return err
	}
	a.reserved = a.size
	return nil
}

// Append implements engines.Appender.
func (a *appender) Append(bufs [][]byte) (int64, error) {
	if err := a.syncer.Err(); err != nil {
		return 0, err
	}
	if a.torn {
		if err := a.trim(); err != nil {
			return 0, err
		}
	}
	position, end := a.size, a.size
	for _, buf := range bufs {
		end += int64(len(buf))
	}
	if end == position {
		return position, nil
	}
	err := a.reserve(end)
	if err == nil {
		err = a.write(bufs, end)
	}
	if err != nil {
		// What did get there must go: recovery would take whole batches of
		// it for appended ones. If it will not go now, the next call tries.
		a.torn = true
		_ = a.trim()
		return 0, fmt.Errorf("append to %s: %w", a.file.Name(), err)
	}
	a.size = end
	return position, nil
}

// write puts bufs, which reach end, behind size, a stage at a time, and takes over
// the new tail once all of it is there.
func (a *appender) write(bufs [][]byte, end int64) error {
	at := a.device.floor(a.size)
	s := takeStage(a.device.ceil(end)-at, a.device.block)
	defer s.giveBack()
	n := copy(s.mem, a.tail[:a.size-at])
	for _, buf := range bufs {
		for len(buf) > 0 {
			if n == len(s.mem) {
				if err := a.device.write(s.mem, at); err != nil {
					return err
				}
				at, n = at+int64(n), 0
			}
			step := copy(s.mem[n:], buf)
			n, buf = n+step, buf[step:]
		}
	}
	padded := a.device.ceil(int64(n))
	clear(s.mem[n:padded])
	if err := a.device.write(s.mem[:padded], at); err != nil {
		return err
	}
	copy(a.tail, s.mem[a.device.floor(int64(n)):padded])
	return nil
}

// loadTail reads the part of the block at size that lies before it.
func (a *appender) loadTail(size int64) error {
	from := a.device.floor(size)
	if from == size {
		return nil
	}
	if n, err := a.file.ReadAt(a.tail[:size-from], from); int64(n) < size-from {
		return fmt.Errorf("read the last block: %w", err)
	}
	return nil
}

// Flush implements engines.Appender. The bytes are the device's already, and
// fdatasync(2) makes it keep them; it also writes which blocks are the file's.
func (a *appender) Flush() error { return a.syncer.Sync() }

// Truncate implements engines.Appender. The reserved space goes too: what follows
// the end must read as zeros, not as the dropped batches.
func (a *appender) Truncate(size int64) error {
	invariant.Check(0 <= size && size <= a.size, "truncate %s to %d, its end is %d", a.file.Name(), size, a.size)
	former, tail := a.size, a.tail
	a.size = size
	var err error
	if a.device.floor(size) != a.device.floor(former) {
		a.tail = make([]byte, a.device.block)
		err = a.loadTail(size)
	}
	if err == nil {
		err = a.trim()
	}
	if err != nil {
		a.size, a.tail = former, tail
		return fmt.Errorf("truncate %s: %w", a.file.Name(), err)
	}
	return nil
}

// Size implements engines.Appender.
func (a *appender) Size() int64 { return a.size }

// Close implements engines.Appender. After an error it may be called again.
func (a *appender) Close() error {
	if a.reserved > a.size || a.torn {
		if err := a.trim(); err != nil {
			return err
		}
	}
	if err := a.device.close(); err != nil {
		return fmt.Errorf("close %s: %w", a.file.Name(), err)
	}
	return nil
}
