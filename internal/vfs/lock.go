package vfs

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// LockedError says that somebody else holds a lock file.
type LockedError struct {
	// Path is the lock file.
	Path string
	// Owner is what the holder wrote into it, such as "pid 4711 (tidemark)";
	// empty when the holder had not written yet.
	Owner string
}

// Error implements error.
func (e *LockedError) Error() string {
	owner := e.Owner
	if owner == "" {
		owner = "another process"
	}
	return fmt.Sprintf("%s is locked by %s", e.Path, owner)
}

// Lock implements FS with flock(2). The kernel drops the lock with the process,
// so a file left behind by a crash does not hold anybody up.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, filePerm)
	if err != nil {
		return nil, err
	}
	if err := takeLock(f); err != nil {
		_ = f.Close() // Nothing was written through it.
		return nil, err
	}
	return f, nil
}

// takeLock locks f and writes our name into it.
func takeLock(f *os.File) error {
	err := retryInterrupted(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		owner, _ := io.ReadAll(io.LimitReader(f, 256)) // The owner's name is a courtesy.
		return &LockedError{Path: f.Name(), Owner: strings.TrimSpace(string(owner))}
	}
	if err != nil {
		return &os.PathError{Op: "flock", Path: f.Name(), Err: err}
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(LockOwner()+"\n"), 0)
	return err
}

// LockOwner is what this process writes into the lock files it takes.
func LockOwner() string {
	return fmt.Sprintf("pid %d (%s)", os.Getpid(), filepath.Base(os.Args[0]))
}
