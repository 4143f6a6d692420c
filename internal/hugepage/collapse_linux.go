package hugepage

import "golang.org/x/sys/unix"

func collapse(address, length uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, address, length, unix.MADV_COLLAPSE)
}
