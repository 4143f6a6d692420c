package vfs

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"syscall"
)

// ReadFile returns the whole content of a file.
func ReadFile(fsys FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := readAll(f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return data, err
}

func readAll(f File) ([]byte, error) {
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if err == io.EOF {
		err = nil // The file shrank since, or was empty: what is there is the answer.
	}
	return data[:n], err
}

// IsFull reports whether err says that there is no room: on the disk, in the owner's
// share of it, or for one more open file in the process or the machine. What did not
// fit may fit later.
func IsFull(err error) bool {
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, full) {
			return true
		}
	}
	return false
}

// WriteFileAtomic gives the file name the content data so that after a crash at
// any point either the former content or the new one is found, whole: it writes
// name.tmp, syncs, renames and syncs the directory. On an error the former
// content is in place, unless the last step failed: then either may be.
func WriteFileAtomic(fsys FS, name string, data []byte) error {
	tmp := name + ".tmp"
	err := writeSynced(fsys, tmp, data)
	if err == nil {
		err = fsys.Rename(tmp, name)
	}
	if err != nil {
		_ = fsys.Remove(tmp) // A leftover is harmless: the next write starts over.
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := fsys.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func writeSynced(fsys FS, name string, data []byte) error {
	f, err := fsys.OpenOrCreate(name)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(data, 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
