package enginetest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// benchSegment is the size of the segments that benchmarks fill and read.
const benchSegment = 256 << 20

// benchSizes are the sizes of appends and chunks.
var benchSizes = []struct {
	name  string
	bytes int64
}{{"16KiB", 16 << 10}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}}

// BenchmarkAppend measures appends of several sizes into segments that are
// created, filled, closed and removed, all of it included, without a flush. Beside
// the time of one append it reports the processor time per gigabyte, other
// goroutines of the engine included.
func BenchmarkAppend(b *testing.B, spec engines.AppendSpec) { benchmarkAppends(b, spec, false) }

// BenchmarkAppendFlush is BenchmarkAppend with a flush after each append.
func BenchmarkAppendFlush(b *testing.B, spec engines.AppendSpec) { benchmarkAppends(b, spec, true) }

func benchmarkAppends(b *testing.B, spec engines.AppendSpec, flush bool) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			if err := spec.Available(b.TempDir()); err != nil {
				b.Skipf("not available here: %v", err)
			}
			bench, bufs := appendBench{spec: spec, dir: b.TempDir()}, [][]byte{pattern(60).bytes(0, size.bytes)}
			b.SetBytes(size.bytes)
			b.ReportAllocs()
			before := processorSeconds()
			if err := bench.fill(b, bufs, flush); err != nil {
				b.Fatal(err)
			}
			reportProcessor(b, before, size.bytes)
		})
	}
}

// fill is the measured loop.
func (bench appendBench) fill(b *testing.B, bufs [][]byte, flush bool) error {
	s, err := bench.create("segment", benchSegment)
	if err != nil {
		return err
	}
	for b.Loop() {
		if s.appender.Size() >= benchSegment {
			if s, err = s.roll(bench); err != nil {
				return err
			}
		}
		if _, err := s.appender.Append(bufs); err != nil {
			return err
		}
		if flush {
			if err := s.appender.Flush(); err != nil {
				return err
			}
		}
	}
	return s.close()
}

// roll closes and removes the segment and opens a new one.
func (s *segment) roll(bench appendBench) (*segment, error) {
	if err := errors.Join(s.close(), os.Remove(s.file.Name())); err != nil {
		return nil, err
	}
	return bench.create("segment", benchSegment)
}

// BenchmarkRead measures chunks of several sizes over loopback, read in order
// from a segment in the page cache, by a reader opened anew for every pass. The
// peer discards what arrives within the kernel, so that the sending side is what
// is measured.
func BenchmarkRead(b *testing.B, spec engines.ReadSpec) {
	f, err := benchFile(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close() // Only read.
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			server, client, err := dial()
			if err != nil {
				b.Fatal(err)
			}
			discarded := make(chan error, 1)
			go func() { discarded <- discard(client) }()
			b.SetBytes(size.bytes)
			b.ReportAllocs()
			before := processorSeconds()
			sendAll(b, spec, f, server, size.bytes)
			reportProcessor(b, before, size.bytes)
			if err := errors.Join(server.Close(), <-discarded, client.Close()); err != nil {
				b.Error(err)
			}
		})
	}
}

// benchFile is a full segment in the page cache.
func benchFile(dir string) (engines.File, error) {
	f, err := vfs.OS{}.Create(filepath.Join(dir, "segment"))
	if err != nil {
		return nil, err
	}
	p := pattern(61).bytes(0, 1<<20)
	for at := int64(0); at < benchSegment; at += int64(len(p)) {
		if _, err := f.WriteAt(p, at); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// sendAll is the measured loop.
func sendAll(b *testing.B, spec engines.ReadSpec, f engines.File, conn *net.TCPConn, n int64) {
	b.Helper()
	options := engines.ReadOptions{SegmentBytes: benchSegment}
	r, err := spec.Open(f, options)
	if err != nil {
		b.Fatal(err)
	}
	position := int64(0)
	for b.Loop() {
		if position+n > benchSegment {
			if err := r.Close(); err != nil {
				b.Fatal(err)
			}
			if r, err = spec.Open(f, options); err != nil {
				b.Fatal(err)
			}
			position = 0
		}
		c, err := r.Chunk(position, n)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := c.WriteTo(conn); err != nil {
			b.Fatal(err)
		}
		c.Release()
		position += n
	}
	if err := r.Close(); err != nil {
		b.Error(err)
	}
}

// discard reads to the end of the stream without copying it out of the kernel.
func discard(conn *net.TCPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		for {
			// Without a buffer to fill, and without x/sys, which makes an
			// address for every call.
			n, _, errno := unix.Syscall6(unix.SYS_RECVFROM, fd, 0, 1<<20, unix.MSG_TRUNC, 0, 0)
			switch {
			case errno == unix.EAGAIN:
				return false
			case errno == unix.EINTR:
			case errno != 0:
				failed = fmt.Errorf("recvfrom: %w", errno)
				return true
			case n == 0:
				return true
			}
		}
	})
	return errors.Join(err, failed)
}

// processorSeconds is the processor time this process has used.
func processorSeconds() float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

// reportProcessor adds the processor time per gigabyte since before, the peer's
// included.
func reportProcessor(b *testing.B, before float64, size int64) {
	b.ReportMetric((processorSeconds()-before)/(float64(b.N)*float64(size)/1e9), "cpu-s/GB")
}
