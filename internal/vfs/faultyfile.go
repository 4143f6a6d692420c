package vfs

// faultyFile is a file of a Faulty.
type faultyFile struct {
	File
	fs *Faulty
}

// ReadAt implements File.
func (f *faultyFile) ReadAt(p []byte, at int64) (int, error) {
	if _, err := f.fs.check(OpRead, f.Name()); err != nil {
		return 0, err
	}
	return f.File.ReadAt(p, at)
}

// WriteAt implements File; a planned failure may write the first bytes.
func (f *faultyFile) WriteAt(p []byte, at int64) (int, error) {
	short, err := f.fs.check(OpWrite, f.Name())
	if err == nil {
		return f.File.WriteAt(p, at)
	}
	n, writeErr := f.File.WriteAt(p[:min(short, len(p))], at)
	if writeErr != nil {
		return n, writeErr
	}
	return n, err
}

// Size implements File.
func (f *faultyFile) Size() (int64, error) {
	if _, err := f.fs.check(OpSize, f.Name()); err != nil {
		return 0, err
	}
	return f.File.Size()
}

// Truncate implements File.
func (f *faultyFile) Truncate(size int64) error {
	if _, err := f.fs.check(OpTruncate, f.Name()); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

// Sync implements File.
func (f *faultyFile) Sync() error {
	if _, err := f.fs.check(OpSync, f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// SetEnd implements Ended for a file that does; it does not fail.
func (f *faultyFile) SetEnd(end int64) {
	if ended := EndedOf(f.File); ended != nil {
		ended.SetEnd(end)
	}
}

// Descriptor implements File.
func (f *faultyFile) Descriptor() (int, bool) {
	if !f.fs.Descriptors {
		return 0, false
	}
	return f.File.Descriptor()
}

// Close implements File. The file is closed in any case.
func (f *faultyFile) Close() error {
	_, err := f.fs.check(OpClose, f.Name())
	if closeErr := f.File.Close(); err == nil {
		err = closeErr
	}
	return err
}
