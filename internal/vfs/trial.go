package vfs

import "os"

// Trial runs do on a new, empty file in dir, which it then closes. An engine asks
// with it whether the file system does what the engine needs. Each trial has a file
// of its own, as several may run at once, and the file has no name any more when do
// gets it: a process that is killed meanwhile leaves nothing behind.
func Trial(dir string, do func(File) error) error {
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
	err = do(f)
	_ = f.Close() // The trial is over either way.
	return err
}
