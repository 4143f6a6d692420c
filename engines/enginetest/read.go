package enginetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

var readClauses = []clause[readBench]{
	{Clause{"read-at", "the log finds batch bounds with ReadAt"}, checkReadAt},
	{Clause{"chunk", "a chunk is exactly the bytes that were asked for"}, checkChunk},
	{Clause{"chunk-to-socket", "most chunks go to a TCP connection, by a path of their own"}, checkChunkToSocket},
	{Clause{"concurrent-chunks", "fetches of one segment run side by side; a shared file position gives them each other's bytes"}, checkConcurrentChunks},
	{Clause{"resume", "a client takes a chunk in pieces, and an error may leave some unsent"}, checkResume},
	{Clause{"deadline", "a client that stops reading must not hold a goroutine for ever, nor lose or repeat a byte when it reads on"}, checkDeadline},
	{Clause{"closed-peer", "clients go away in the middle of an answer"}, checkClosedPeer},
	{Clause{"growth", "the active segment grows under its reader"}, checkGrowth},
	{Clause{"survives-removal", "retention deletes segments that are being sent"}, checkSurvivesRemoval},
	{Clause{"truncated-under", "a file that lost its end must fail the read, not the process, and never pass as zeros"}, checkTruncatedUnder},
	{Clause{"close-waits", "the log closes the file after the reader: a chunk still out would send from a closed or a foreign descriptor"}, checkCloseWaits},
	{Clause{"closed", "a fetch that lost the race with a deletion is an error"}, checkClosed},
}

// readBench is what a clause of the read contract works with.
type readBench struct {
	spec engines.ReadSpec
	dir  string
}

// source is a file full of a pattern under a Reader.
type source struct {
	pattern
	file   engines.File
	reader engines.Reader
}

// with runs do on a file of size bytes and closes reader and file, whatever came.
func (b readBench) with(size int64, do func(s *source) error) error {
	f, err := vfs.OS{}.Create(filepath.Join(b.dir, "segment"))
	if err != nil {
		return err
	}
	s := &source{pattern: 100, file: f}
	if err := s.grow(0, size); err != nil {
		return errors.Join(err, f.Close())
	}
	if s.reader, err = b.spec.Open(f, engines.ReadOptions{SegmentBytes: smallSegment}); err != nil {
		return errors.Join(fmt.Errorf("open: %w", err), f.Close())
	}
	return errors.Join(do(s), s.reader.Close(), f.Close())
}

func (s *source) grow(from, to int64) error {
	_, err := s.file.WriteAt(s.bytes(from, to-from), from)
	return err
}

// chunkTo sends n bytes from position to w in one call and checks the counts.
func (s *source) chunkTo(w io.Writer, position, n int64) error {
	c, err := s.reader.Chunk(position, n)
	if err != nil {
		return fmt.Errorf("chunk(%d, %d): %w", position, n, err)
	}
	defer c.Release()
	if got := c.Len(); got != n {
		return fmt.Errorf("len of Chunk(%d, %d) is %d", position, n, got)
	}
	sent, err := c.WriteTo(w)
	if err != nil || sent != n || c.Len() != 0 {
		return fmt.Errorf("WriteTo of Chunk(%d, %d) returned %d, %w and left %d; want all sent", position, n, sent, err, c.Len())
	}
	return nil
}

// ranges are positions and lengths on and off every round number.
var ranges = [][2]int64{{0, 1}, {0, 61}, {61, 4096}, {4095, 2}, {4096, 4096}, {100_000, 0}, {12_345, 65_536}, {65_535, 65_537}, {1, 1_000_000}, {0, 1 << 21}, {1<<21 - 1, 1}}

func checkReadAt(b readBench) error {
	return b.with(1<<21, func(s *source) error {
		for _, r := range ranges {
			p := make([]byte, r[1])
			if n, err := s.reader.ReadAt(p, r[0]); n != len(p) || err != nil && err != io.EOF {
				return fmt.Errorf("ReadAt of %d bytes at %d returned %d, %w", r[1], r[0], n, err)
			}
			if err := s.verify(p, r[0]); err != nil {
				return err
			}
		}
		p := make([]byte, 100)
		if n, err := s.reader.ReadAt(p, 1<<21-10); n > 10 || err == nil {
			return fmt.Errorf("ReadAt over the end of the file returned %d, nil; want an error", n)
		}
		return nil
	})
}

func checkChunk(b readBench) error {
	return b.with(1<<21, func(s *source) error {
		for _, r := range ranges {
			var got bytes.Buffer
			if err := s.chunkTo(&got, r[0], r[1]); err != nil {
				return err
			}
			if err := s.verify(got.Bytes(), r[0]); err != nil {
				return fmt.Errorf("chunk(%d, %d): %w", r[0], r[1], err)
			}
		}
		return nil
	})
}

// stutter is a writer that takes a few bytes at a time and fails in between.
type stutter struct {
	got  bytes.Buffer
	room int
}

var errNoRoom = errors.New("no room")

// Write implements io.Writer.
func (w *stutter) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.got.Write(p[:n])
	if w.room -= n; n < len(p) {
		return n, errNoRoom
	}
	return n, nil
}

func checkResume(b readBench) error {
	return b.with(1<<20, func(s *source) error {
		const position, size = 999, 300_000
		c, err := s.reader.Chunk(position, size)
		if err != nil {
			return err
		}
		defer c.Release()
		w := &stutter{}
		for calls := 0; c.Len() > 0; calls++ {
			w.room = 12_345
			before := c.Len()
			n, err := c.WriteTo(w)
			if c.Len() != before-n {
				return fmt.Errorf("WriteTo returned %d and took Len from %d to %d", n, before, c.Len())
			}
			if err == nil && c.Len() > 0 || err != nil && !errors.Is(err, errNoRoom) {
				return fmt.Errorf("WriteTo with %d bytes left returned %w, want the writer's error", c.Len(), err)
			}
			if calls > size {
				return fmt.Errorf("%d calls of WriteTo did not send the chunk", calls)
			}
		}
		return s.verify(w.got.Bytes(), position)
	})
}

func checkGrowth(b readBench) error {
	return b.with(0, func(s *source) error {
		var end int64
		for _, step := range []int64{1, 100, 4096, 3999, 70_000, smallSegment, 5 << 20} {
			if err := s.grow(end, end+step); err != nil {
				return err
			}
			var got bytes.Buffer
			if err := s.chunkTo(&got, end, step); err != nil {
				return err
			}
			if err := s.verify(got.Bytes(), end); err != nil {
				return err
			}
			end += step
		}
		var all bytes.Buffer
		return errors.Join(s.chunkTo(&all, 0, end), s.verify(all.Bytes(), 0))
	})
}

func checkSurvivesRemoval(b readBench) error {
	return b.with(1<<20, func(s *source) error {
		c, err := s.reader.Chunk(0, 1<<20)
		if err != nil {
			return err
		}
		defer c.Release()
		if err := os.Remove(s.file.Name()); err != nil {
			return err
		}
		var got bytes.Buffer
		if _, err := c.WriteTo(&got); err != nil {
			return err
		}
		return s.verify(got.Bytes(), 0)
	})
}

func checkTruncatedUnder(b readBench) error {
	return b.with(1<<20, func(s *source) error {
		c, err := s.reader.Chunk(0, 1<<20)
		if err != nil {
			return err
		}
		defer c.Release()
		var first stutter
		first.room = 4096
		if _, err := c.WriteTo(&first); !errors.Is(err, errNoRoom) {
			return fmt.Errorf("WriteTo into 4096 bytes of room returned %w", err)
		}
		if err := s.file.Truncate(8192); err != nil {
			return err
		}
		var rest bytes.Buffer
		if n, err := c.WriteTo(&rest); err == nil || n > 4096 {
			return fmt.Errorf("WriteTo over the lost end returned %d, %v; want an error after at most 4096 bytes", n, err)
		}
		if err := s.verify(rest.Bytes(), 4096); err != nil {
			return err
		}
		if n, err := s.reader.ReadAt(make([]byte, 100), 500_000); n > 0 || err == nil {
			return fmt.Errorf("ReadAt behind the lost end returned %d, %v; want an error", n, err)
		}
		return nil
	})
}

// patience is how long an engine is watched for something that must not happen.
const patience = 20 * time.Millisecond

func checkCloseWaits(b readBench) error {
	return b.with(1<<20, func(s *source) error {
		c, err := s.reader.Chunk(0, 1<<20)
		if err != nil {
			return err
		}
		var released atomic.Bool
		early := make(chan bool, 1)
		go func() {
			_ = s.reader.Close() // Its error is the last Close's to tell.
			early <- !released.Load()
		}()
		select {
		case <-early:
			c.Release()
			return fmt.Errorf("close returned with a chunk still out")
		case <-time.After(patience):
		}
		var got bytes.Buffer
		_, err = c.WriteTo(&got)
		released.Store(true)
		c.Release()
		if <-early {
			return fmt.Errorf("close returned with a chunk still out")
		}
		return errors.Join(err, s.verify(got.Bytes(), 0))
	})
}

func checkClosed(b readBench) error {
	return b.with(1<<20, func(s *source) error {
		if err := s.chunkTo(io.Discard, 0, 1<<20); err != nil {
			return err
		}
		if err := s.reader.Close(); err != nil {
			return fmt.Errorf("close: %w", err)
		}
		if c, err := s.reader.Chunk(0, 1); err == nil {
			c.Release()
			return fmt.Errorf("chunk after Close succeeded")
		}
		return nil
	})
}
