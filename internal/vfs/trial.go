package vfs

import (
	"os"

	"tidemark/engines"
)

// TrialAppend opens an append engine on a new, empty file in dir and appends one byte:
// an engine asks with it whether the file system does what the engine needs. Each trial
// has a file of its own, as several may run at once, and the file has no name any more
// when the engine gets it: a process that is killed meanwhile leaves nothing behind.
func TrialAppend(dir string, open func(File, int64, engines.AppendOptions) (engines.Appender, error)) error {
	own, err := os.CreateTemp(dir, ".trial-*")
	if err != nil {
		return err
	}
	name := own.Name()
	_ = own.Close() // Nothing was written to it.
	f, err := OS{}.Open(name)
	_ = os.Remove(name) // One that stays is empty.
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // The trial is over either way.
	a, err := open(f, 0, engines.AppendOptions{SegmentBytes: 1})
	if err != nil {
		return err
	}
	_, err = a.Append([][]byte{{1}})
	if closeErr := a.Close(); err == nil {
		err = closeErr
	}
	return err
}
