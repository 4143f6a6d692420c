// Package inspect prints and checks the files of a log, as Kafka's
// kafka-dump-log does: segments, indexes, producer snapshots, checkpoints. It
// only reads, from the machine's file system, and may look at the files of a
// running broker; what was written last may then look cut off.
package inspect

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/commitlog/epoch"
)

// Options says what Dump prints.
type Options struct {
	// Deep decompresses every batch and checks every record.
	Deep bool
	// Records prints each record; it implies Deep.
	Records bool
	// JSON prints one JSON object per line instead of text.
	JSON bool
}

// Dump prints the file at path, or every file it knows in the directory at path
// and in those below it, and checks them. problems counts what is wrong with
// them, each printed where it was found; err is a failure to read or to write.
// Files whose names are not a log's are passed over in a directory, and an error
// where path names one or a directory has no others.
func Dump(w io.Writer, path string, o Options) (problems int, err error) {
	out := bufio.NewWriter(w)
	d := &dumper{Options: o, printer: printer{w: out, json: o.JSON}}
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("dump: %w", err)
	}
	if info.IsDir() {
		if err = d.dir(path); err == nil && d.path == "" {
			err = fmt.Errorf("%s: no file of a log lies in it or below it", path)
		}
	} else if known, fileErr := d.file(path); fileErr != nil || !known {
		if err = fileErr; err == nil {
			err = fmt.Errorf("%s is not the name of a file of a log", path)
		}
	}
	if err == nil {
		err = d.err
	}
	if flushErr := out.Flush(); err == nil {
		err = flushErr
	}
	if err != nil {
		return d.problems, fmt.Errorf("dump: %w", err)
	}
	return d.problems, nil
}

// dumper is one run of Dump; it is confined to one goroutine.
type dumper struct {
	Options
	printer
}

// dir dumps what is in a directory, in the order of the names.
func (d *dumper) dir(path string) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		below := filepath.Join(path, e.Name())
		if e.IsDir() {
			err = d.dir(below)
		} else {
			_, err = d.file(below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file dumps one file by its name; known is false for a name it does not know.
func (d *dumper) file(path string) (known bool, err error) {
	if base, suffix, ok := commitlog.ParseFileName(filepath.Base(path)); ok {
		d.begin(path)
		switch suffix {
		case commitlog.LogSuffix:
			return true, d.segment(path, base)
		case commitlog.IndexSuffix:
			return true, d.offsets(path, base)
		case commitlog.TimeIndexSuffix:
			return true, d.times(path, base)
		case commitlog.TxnIndexSuffix:
			return true, d.transactions(path, base)
		default:
			return true, d.snapshot(path)
		}
	}
	dump, ok := map[string]func(path string, data []byte) error{
		epoch.File:                       d.epochs,
		checkpoint.RecoveryPointFile:     d.checkpoint,
		checkpoint.HighWatermarkFile:     d.checkpoint,
		checkpoint.LogStartFile:          d.checkpoint,
		checkpoint.CleanerFile:           d.checkpoint,
		checkpoint.MetaPropertiesFile:    d.meta,
		checkpoint.PartitionMetadataFile: d.partition,
		checkpoint.CleanShutdownFile:     d.cleanShutdown,
	}[filepath.Base(path)]
	if !ok {
		return false, nil
	}
	d.begin(path)
	data, err := os.ReadFile(path)
	if err != nil {
		return true, err
	}
	if err := dump(path, data); err != nil {
		d.problem("%v", err)
	}
	return true, nil
}
