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
	conn, _ := connection(t)
	if n, err := c.WriteTo(conn); n != 0 || !errors.Is(err, syscall.EFAULT) {
		t.Errorf("got %d, %v, want nothing sent and EFAULT", n, err)
	}
	c.Release()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// What is copied out of a page that was cut is no longer there: it does not turn into
// the zeros that the page has behind the end of the file.
func TestCutPageIsNoZeros(t *testing.T) {
	r, f := start(t, 1000, 1<<20)
	c, err := r.Chunk(100, 900)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(500); err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if n, err := c.WriteTo(&got); n != 0 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("sent %d, %v, want nothing and an unexpected EOF", n, err)
	}
	c.Release()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// The bytes of a chunk go out together with what surrounds them; a lost page ends
// that with EFAULT, too.
func TestBytesWithTheirSurroundings(t *testing.T) {
	r, f := start(t, 1<<20, 1<<20)
	server, client := connection(t)
	c, err := r.Chunk(8192, 3000)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := (&net.Buffers{[]byte("head"), c.(engines.MemoryChunk).Bytes(), []byte("tail")}).WriteTo(server); n != 3008 || err != nil {
		t.Fatalf("got %d, %v, want 3008 sent", n, err)
	}
	got := make([]byte, 3008)
	if _, err := io.ReadFull(client, got); err != nil {
		t.Fatal(err)
	}
	if want := "head" + string(bytes.Repeat([]byte{7}, 3000)) + "tail"; string(got) != want {
		t.Error("other bytes arrived than those of the range and its surroundings")
	}
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	if n, err := (&net.Buffers{[]byte("head"), c.(engines.MemoryChunk).Bytes()}).WriteTo(server); n > 4 || !errors.Is(err, syscall.EFAULT) {
		t.Errorf("got %d, %v, want at most the head sent and EFAULT", n, err)
	}
	c.Release()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// connection returns both ends of a TCP connection for the test.
func connection(t *testing.T) (server, client net.Conn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // One connection is wanted.
	if client, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr)); err != nil {
		t.Fatal(err)
	}
	if server, err = l.AcceptTCP(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Close() // The test is over.
		_ = client.Close()
	})
	return server, client
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
