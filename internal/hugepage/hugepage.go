// Package hugepage puts huge pages under memory that is copied in bulk. An address in
// a page of 4 KiB costs a virtual machine up to 24 accesses of memory once the
// processor no longer has its translation, as after each MiB that was copied.
package hugepage

import (
	"runtime"
	"unsafe"
)

const size = 2 << 20

// Under asks the kernel for huge pages under b and what lies beside it in them. The
// bytes stay what they are. It takes as long as a copy of them, so it is for memory
// that lives on, and it is only a help: where the kernel refuses nothing changes.
func Under(b []byte) { _ = under(b) }

func under(b []byte) error {
	if len(b) < size/2 {
		return nil
	}
	// Numbers, not pointers: what lies beside b may be no object, and the collector
	// ends a process that points there. Arenas of the heap are multiples of huge pages,
	// so the whole range is the heap's.
	first := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	from := first / size * size
	to := (first + uintptr(len(b)) + size - 1) / size * size
	defer runtime.KeepAlive(b)
	return collapse(from, to-from)
}
