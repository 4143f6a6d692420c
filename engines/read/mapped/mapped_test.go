package mapped

import (
	"bytes"
	"errors"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

func start(t *testing.T, size, segmentBytes int64) (*reader, vfs.File) {
	t.Helper()
	f, err := vfs.OS{}.Create(filepath.Join(t.TempDir(), "segment"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // The test is over.
	if _, err := f.WriteAt(bytes.Repeat([]byte{7}, int(size)), 0); err != nil {
		t.Fatal(err)
	}
	r, err := Spec().Open(f, engines.ReadOptions{SegmentBytes: segmentBytes})
	if err != nil {
		t.Fatal(err)
	}
	return r.(*reader), f
}

// Within a segment the mapping grows where it stands; past it there is another,
// and a chunk on the former one stays good.
func TestMappingGrows(t *testing.T) {
	const page = 4096
	r, f := start(t, page, 4*page)
	first, err := r.Chunk(0, page)
	if err != nil {
		t.Fatal(err)
	}
	before := r.view.now.Load().mapping
	grow := func(to int64) {
		t.Helper()
		if _, err := f.WriteAt(bytes.Repeat([]byte{7}, int(to)), 0); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, to)
		if n, err := r.ReadAt(got, 0); n != int(to) || err != nil || bytes.Count(got, []byte{7}) != int(to) {
			t.Fatalf("ReadAt of %d grown bytes: got %d, %v", to, n, err)
		}
	}
	grow(page + 1)
	grow(4 * page)
	if r.view.now.Load().mapping != before {
		t.Error("the mapping moved within the segment")
	}
	grow(9 * page)
	if r.view.now.Load().mapping == before {
		t.Error("the mapping did not move past the segment")
	}
	var got bytes.Buffer
	if _, err := first.WriteTo(&got); err != nil || got.Len() != page {
		t.Errorf("chunk on the former mapping: got %d bytes, %v", got.Len(), err)
	}
	first.Release()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestChunkPastTheEndIsRefused(t *testing.T) {
	r, _ := start(t, 1000, 1<<20)
	if _, err := r.Chunk(500, 501); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v, want an unexpected EOF", err)
	}
	if err := r.Close(); err != nil { // Would wait for ever had the refused chunk been counted.
		t.Error(err)
	}
}

// The kernel meets the lost page on the way to a socket, and says EFAULT.
func TestLostPageOnTheWayToASocket(t *testing.T) {
	r, f := start(t, 1<<20, 1<<20)
	c, err := r.Chunk(8192, 1<<19)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // One connection is wanted.
	conn, err := net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() // The test is over.
	if n, err := c.WriteTo(conn); n != 0 || !errors.Is(err, syscall.EFAULT) {
		t.Errorf("got %d, %v, want nothing sent and EFAULT", n, err)
	}
	c.Release()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestNeedsADescriptor(t *testing.T) {
	f, err := vfs.NewMem().Create("/segment")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Spec().Open(f, engines.ReadOptions{}); !errors.Is(err, vfs.ErrNoDescriptor) {
		t.Errorf("Open: got %v, want ErrNoDescriptor", err)
	}
}
