// Package vfs makes the file system a parameter. OS is the machine's, Mem lives
// in memory and can lose what was never synced (CrashClone), Faulty wraps either
// and fails chosen calls. Beside them stand the two things an engine needs from
// the operating system and cannot have from engines.File: memory mappings that
// turn a fault into an error (Mapping), and allocation ahead of writes (Allocate).
//
// The package promises what POSIX does and no more: a write is visible at once
// and durable after Sync of its file; a created, renamed or removed name is
// durable after SyncDir of its directory. It keeps no state of its own, and it
// caches nothing.
package vfs

import (
	"io"
	"os"

	"tidemark/engines"
)

// File is an open file; engines declares it so that an engine outside this
// module can be handed one.
type File = engines.File

// FS is a file system. Implementations are safe for concurrent use. Errors carry
// the operation and the path and satisfy errors.Is with fs.ErrNotExist,
// fs.ErrExist and the syscall numbers.
type FS interface {
	// Create makes a new empty file, open for reading and writing; it fails
	// with fs.ErrExist where the name is taken.
	Create(name string) (File, error)
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// OpenOrCreate opens the file and makes an empty one if there is none.
	OpenOrCreate(name string) (File, error)
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// RemoveAll deletes dir and everything in it; nil if there is none.
	RemoveAll(dir string) error
	// Rename moves a file or a directory and replaces a file of the new name,
	// atomically for those who look.
	Rename(oldName, newName string) error
	// MkdirAll makes dir and its missing parents.
	MkdirAll(dir string) error
	// ReadDir lists dir, sorted by name.
	ReadDir(dir string) ([]os.DirEntry, error)
	// Stat describes a file or a directory.
	Stat(name string) (os.FileInfo, error)
	// SyncDir makes the names in dir durable. An error is final, as Sync's.
	SyncDir(dir string) error
	// Lock takes the lock file name for this process until Close; the file is
	// made if missing and stays. Where another holds it, the error is a
	// *LockedError.
	Lock(name string) (io.Closer, error)
	// Free is the number of bytes still available to this process on the
	// file system that holds dir.
	Free(dir string) (freeBytes int64, err error)
}
