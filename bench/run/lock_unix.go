//go:build unix

package run

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"syscall"
)

// lock makes sure that one bench runs on this machine at a time: two would
// measure each other.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, fmt.Errorf("lock of the bench: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(f) // for the message only
		_ = f.Close()              // nothing was written
		return nil, fmt.Errorf("another bench is running on this machine (process %s holds %s): two would measure each other", bytes.TrimSpace(holder), path)
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%-10d", os.Getpid()), 0)
	if err != nil {
		_ = f.Close() // the write's error is told
		return nil, fmt.Errorf("lock of the bench: %w", err)
	}
	return func() { _ = f.Close() }, nil // closing releases
}
