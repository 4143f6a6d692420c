package hugepage

import "golang.org/x/sys/unix"

func collapse(address, length uintptr) error {
	if _, _, errno := unix.Syscall(unix.SYS_MADVISE, address, length, unix.MADV_COLLAPSE); errno != 0 {
		return errno
	}
	return nil
}
