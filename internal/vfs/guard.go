package vfs

import (
	"runtime/debug"
	"unsafe"
)

// Guard runs do, which touches mem, the memory of a mapping of the file path
// from position on, and turns a fault on one of its pages into a *FaultError. Any
// other panic goes on. What do holds when it faults must be its caller's to
// release.
func Guard(path string, position int64, mem []byte, do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = faultError(r, path, position, mem)
		}
	}()
	return do()
}

// faultError is the error for a panic that a page of mem caused; any other panic
// goes on.
func faultError(r any, path string, position int64, mem []byte) error {
	fault, ok := r.(interface{ Addr() uintptr })
	start := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if !ok || fault.Addr() < start || fault.Addr() >= start+uintptr(len(mem)) {
		panic(r)
	}
	return &FaultError{Path: path, Position: position + int64(fault.Addr()-start)}
}
