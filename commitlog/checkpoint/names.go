// Package checkpoint reads and writes the small files around the segments, in
// Kafka's formats: the offset checkpoints of a log directory, meta.properties,
// the clean-shutdown marker and a partition's partition.metadata. Every write is
// atomic and durable on return (write, sync, rename, sync the directory); a file
// that cannot be understood is a *FormatError, never a half-read answer. The
// formats are drawn in docs/formats/checkpoints.md.
//
// The package has no state; its functions are safe for concurrent use on
// different files.
package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"

	"tidemark/internal/vfs"
)

// The names of the files, all in the log directory but for PartitionMetadataFile,
// which lies in the directory of its partition.
const (
	// RecoveryPointFile holds, per partition, the offset before which all is synced.
	RecoveryPointFile = "recovery-point-offset-checkpoint"
	// HighWatermarkFile holds the high watermarks.
	HighWatermarkFile = "replication-offset-checkpoint"
	// LogStartFile holds the log start offsets that differ from the base of the
	// first segment.
	LogStartFile = "log-start-offset-checkpoint"
	// CleanerFile holds the first dirty offsets of compacted logs.
	CleanerFile = "cleaner-offset-checkpoint"
	// MetaPropertiesFile says whose directory it is.
	MetaPropertiesFile = "meta.properties"
	// CleanShutdownFile is there while nobody has the directory open and the
	// last who had closed it in order.
	CleanShutdownFile = ".kafka_cleanshutdown"
	// LockFile is held by the process that has the directory open.
	LockFile = ".lock"
	// PartitionMetadataFile holds the topic id.
	PartitionMetadataFile = "partition.metadata"
)

// FormatError says that a file is not what its name promises.
type FormatError struct {
	// Path is the file; Line counts from 1, 0 where the whole is meant.
	Path string
	Line int
	// Reason is what is wrong.
	Reason string
	// Newer says that a later program wrote it.
	Newer bool
}

// Error names file, line and reason.
func (e *FormatError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
}

// read returns the content of path; found is false where there is no such file.
func read(fsys vfs.FS, path string) (data []byte, found bool, err error) {
	data, err = vfs.ReadFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, err
}
