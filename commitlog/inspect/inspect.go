// Package inspect prints and checks the files of a log.
package inspect

import "io"

// Options says what Dump prints.
type Options struct {
	// Deep decompresses and checks every record.
	Deep bool
	// Records prints each record.
	Records bool
	// JSON prints one JSON object per line instead of text.
	JSON bool
}

// Dump prints the file or directory at path and checks it; problems counts what
// it found wrong, err is a failure to read or write.
func Dump(w io.Writer, path string, o Options) (problems int, err error) { return 0, nil }
