package pread

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"tidemark/engines"
	"tidemark/internal/vfs"
)

// A read that fails leaves the rest to be sent, and the next call sends it.
func TestReadErrorLeavesTheRest(t *testing.T) {
	fsys := vfs.NewFaulty(vfs.NewMem())
	f, err := fsys.Create("/segment")
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789"), 60_000)
	if _, err := f.WriteAt(content, 0); err != nil {
		t.Fatal(err)
	}
	r, err := Spec().Open(f, engines.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Chunk(5, 500_000)
	if err != nil {
		t.Fatal(err)
	}
	fsys.Inject(vfs.Fault{Op: vfs.OpRead, Nth: 2, Err: syscall.EIO})
	var got bytes.Buffer
	n, err := c.WriteTo(&got)
	if !errors.Is(err, syscall.EIO) || n == 0 || c.Len() != 500_000-n {
		t.Errorf("got %d, %v with %d left, want EIO after the first piece", n, err, c.Len())
	}
	if _, err := c.WriteTo(&got); err != nil || c.Len() != 0 {
		t.Errorf("next call: %v with %d left", err, c.Len())
	}
	if !bytes.Equal(got.Bytes(), content[5:500_005]) {
		t.Error("the two calls sent other bytes than the chunk's")
	}
	c.Release()
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
