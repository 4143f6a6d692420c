package vfs

// Ended is a File that wants to know how far its content goes. The length of a
// file does not tell where space was preallocated, and what lies behind the end
// is nobody's: a record of what is durable must not count it.
type Ended interface {
	File
	// SetEnd says that the content, durable or not, ends at end. It is called
	// after each append and before anyone is told of it, so that a Sync which
	// begins later covers at least that. Truncate lowers the end by itself.
	SetEnd(end int64)
}

// EndedOf returns f as an Ended; nil where f does not care, which costs who
// appends one comparison.
func EndedOf(f File) Ended {
	e, _ := f.(Ended)
	return e
}
