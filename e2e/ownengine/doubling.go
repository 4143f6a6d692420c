package main

import (
	"errors"
	"sync/atomic"

	"tidemark/engines"
)

// doubling is an append engine that collects each append in one buffer, writes
// it with a single WriteAt and grows the file by doubling ahead of the end.
func doubling() engines.AppendSpec {
	return engines.AppendSpec{
		Name:      "doubling",
		Doc:       "one WriteAt an append into a file that doubles ahead of its end",
		Available: func(string) error { return nil },
		Open: func(f engines.File, size int64, _ engines.AppendOptions) (engines.Appender, error) {
			length, err := f.Size()
			if err != nil {
				return nil, err
			}
			if size > length {
				return nil, errors.New("fewer bytes are there than are said to be valid")
			}
			if err := f.Truncate(size); err != nil {
				return nil, err
			}
			return &appender{file: f, end: size, length: size}, nil
		},
	}
}

// appender is confined to the log's lock, but for Flush and what it shares.
type appender struct {
	file   engines.File
	joined []byte
	end    int64                 // of the appended bytes
	length int64                 // of the file, at least end
	failed atomic.Pointer[error] // the first failed flush, which is final
}

func (a *appender) Append(bufs [][]byte) (int64, error) {
	if failed := a.failed.Load(); failed != nil {
		return 0, *failed
	}
	a.joined = a.joined[:0]
	for _, b := range bufs {
		a.joined = append(a.joined, b...)
	}
	need := a.end + int64(len(a.joined))
	if need > a.length {
		if err := a.file.Truncate(2 * need); err != nil {
			return 0, err
		}
		a.length = 2 * need
	}
	if _, err := a.file.WriteAt(a.joined, a.end); err != nil {
		return 0, err
	}
	position := a.end
	a.end = need
	return position, nil
}

func (a *appender) Flush() error {
	if failed := a.failed.Load(); failed != nil {
		return *failed
	}
	err := a.file.Sync()
	if err != nil {
		a.failed.Store(&err)
	}
	return err
}

func (a *appender) Truncate(size int64) error {
	if size > a.end {
		return errors.New("truncate beyond the end")
	}
	if err := a.file.Truncate(size); err != nil {
		return err
	}
	a.end, a.length = size, size
	return nil
}

func (a *appender) Size() int64 { return a.end }

func (a *appender) Close() error { return a.file.Truncate(a.end) }
