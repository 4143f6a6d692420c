package vfs

import "os"

// Trial runs do on a new, empty file in dir, which it then closes and removes.
// An engine asks with it whether the file system does what the engine needs.
// Each trial has a file of its own, as several may run at once.
func Trial(dir string, do func(File) error) error {
	own, err := os.CreateTemp(dir, ".trial-*")
	if err != nil {
		return err
	}
	name := own.Name()
	_ = own.Close() // Nothing was written to it.
	f, err := OS{}.Open(name)
	if err == nil {
		err = do(f)
		_ = f.Close() // The trial is over either way.
	}
	_ = os.Remove(name) // As above.
	return err
}
