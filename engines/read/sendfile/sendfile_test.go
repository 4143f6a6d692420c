package sendfile

import (
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// A file that lost its end sends what is left and then an error; sendfile(2)
// itself just returns 0, for ever.
func TestFileShorterThanTheChunk(t *testing.T) {
	f, err := vfs.OS{}.Create(filepath.Join(t.TempDir(), "segment"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // The test's own file.
	if err := f.Truncate(10_000); err != nil {
		t.Fatal(err)
	}
	r, err := Spec().Open(f, engines.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Chunk(1000, 9000)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(3000); err != nil {
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
	n, err := c.WriteTo(conn)
	if n != 2000 || c.Len() != 7000 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %d, %v with %d left, want 2000 sent, 7000 left and an unexpected EOF", n, err, c.Len())
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
