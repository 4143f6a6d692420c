// Package engines is the contract for how bytes reach a segment file and how
// they leave it. A write method is an Appender, a read method a Reader; both are
// named by a Spec, listed in a Catalog and chosen per topic. The package has no
// code of its own beyond the catalog: package enginetest holds the contract as
// clauses that run against any engine, a stranger's included.
//
// An engine never interprets the bytes it moves. Offsets, batches, checksums and
// recovery belong to the log above it; a sealed segment is byte-identical
// whichever engine wrote it.
package engines

import "io"

// File is an open segment file as an engine sees it.
type File interface {
	io.ReaderAt
	io.WriterAt
	// Name is the path the file was opened with, for messages.
	Name() string
	// Size is the length of the file in bytes, preallocated space included.
	Size() (int64, error)
	// Truncate sets the length of the file.
	Truncate(size int64) error
	// Sync puts every byte written so far on stable storage (fdatasync). An
	// error is final: the kernel may have dropped the dirty pages.
	Sync() error
	// Descriptor returns the operating system's descriptor, valid until Close;
	// ok is false for a file that has none (in memory).
	Descriptor() (fd int, ok bool)
	Close() error
}

// Appender is the write side of one segment file. The log serializes all calls.
type Appender interface {
	// Append writes bufs back to back at the end and returns the position of
	// the first byte. On return the bytes are visible to every Reader of the
	// file; they need not be durable. bufs are the caller's again on return.
	// After an error the end is where it was before the call.
	Append(bufs [][]byte) (position int64, err error)
	// Flush returns once every byte appended before the call is on stable
	// storage. An error is final: every later Flush and Append fails too.
	// Flush alone may run while Append is called.
	Flush() error
	// Truncate drops every byte from size on; size is at most Size().
	Truncate(size int64) error
	// Size is the end of the appended bytes, preallocated space excluded.
	Size() int64
	// Close trims preallocated space, so that the file is Size() long, and
	// releases what the Appender holds. The File stays open: it is the log's.
	Close() error
}

// InPlaceAppender is an Appender that can lend the memory behind the end of the
// file, so that bytes are received where they will stay in place of being copied
// there. It is an extension: a log that does not ask for it, or is refused, uses
// Append.
//
// Between Reserve and the Publish or Abandon that ends the loan, no method but
// Flush and Size is called. What is in the memory meanwhile counts for nothing:
// it is behind the end, for every Reader as for a recovery.
type InPlaceAppender interface {
	Appender
	// Reserve lends n bytes, at least one, of zeros at the end. It is refused,
	// with nil and no error, where they are not in one piece or would have to be
	// fetched first; an error is what Append would have returned.
	//
	// The memory is of a file: a page of it may be lost to a stranger's
	// truncation or a broken disk. A system call that writes into it says
	// EFAULT; Go code that touches it must expect a fault (debug.SetPanicOnFault).
	Reserve(n int64) (memory []byte, err error)
	// Publish makes the lent memory, which the caller has filled, the end of the
	// file, with all that Append promises, and returns the position of its first
	// byte. After an error nothing was appended and the loan has ended.
	Publish() (position int64, err error)
	// Abandon ends the loan; the memory reads as zeros again.
	Abandon()
}

// Reader is the read side of one segment file. Calls may run concurrently with
// each other and with one Appender. The log asks only for bytes that the
// Appender has published.
type Reader interface {
	io.ReaderAt
	// Chunk returns n bytes from position on their way to a client. They stay
	// readable until Release, even after the log deleted the segment.
	Chunk(position, n int64) (Chunk, error)
	// Close waits for the last Chunk's Release and lets go of mappings.
	Close() error
}

// PageHolder is a Reader whose mapping keeps pages of the file in the page cache.
type PageHolder interface {
	Reader
	// LetGo lets the pages between two positions be dropped; a later read
	// brings them back. It may run while chunks of them are out.
	LetGo(from, to int64)
}

// Chunk is a range of a segment on its way to a client. It is confined to one
// goroutine at a time.
type Chunk interface {
	// WriteTo writes the bytes that are still unsent to w and may be called
	// again after an error that left some unsent.
	io.WriterTo
	// Len is the number of bytes still unsent.
	Len() int64
	// Release ends the use of the chunk; exactly one call.
	Release()
}

// FallbackChunk is a Chunk of an engine that cannot serve every writer its own
// way and copies for the others (TLS, a buffer in memory). Who reports which
// engine moved the bytes asks it.
type FallbackChunk interface {
	Chunk
	// FallbackBytes is how many of the bytes sent so far were copied through a
	// buffer of the process instead.
	FallbackBytes() int64
}

// MemoryChunk is a Chunk whose unsent bytes are in memory, so that one writev(2)
// may take them together with what surrounds them, in place of WriteTo. Only the
// kernel may read them: a page that a mapping has lost is an error to writev(2)
// and a crash to anyone else.
type MemoryChunk interface {
	Chunk
	// Bytes are the unsent bytes, readable until Release. Sending them leaves
	// Len as it is.
	Bytes() []byte
}

// AppendSpec names a write method.
type AppendSpec struct {
	// Name is the value of storage.append.engine.
	Name string
	// Doc is one sentence for lists, reference pages and reports.
	Doc string
	// Available says why the engine cannot run on files in dir; nil if it can.
	Available func(dir string) error
	// Open starts appending to f behind its first size bytes, which are valid;
	// anything after them is dropped; a file with fewer is an error.
	Open func(f File, size int64, o AppendOptions) (Appender, error)
}

// AppendOptions is what a write method may use to plan ahead.
type AppendOptions struct {
	// SegmentBytes is the size at which the log rolls; a single larger append
	// into an empty segment is allowed.
	SegmentBytes int64
	// NoPrefault leaves pages to the first use of each, in place of making them
	// present ahead of it.
	NoPrefault bool
}

// ReadSpec names a read method.
type ReadSpec struct {
	// Name is the value of storage.read.engine.
	Name string
	// Doc is one sentence for lists, reference pages and reports.
	Doc string
	// Available says why the engine cannot run on files in dir; nil if it can.
	Available func(dir string) error
	// Open starts reading f.
	Open func(f File, o ReadOptions) (Reader, error)
}

// ReadOptions is what a read method may use to plan ahead.
type ReadOptions struct {
	// SegmentBytes is the size at which the log rolls.
	SegmentBytes int64
}
