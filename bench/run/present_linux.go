package run

import "golang.org/x/sys/unix"

// present touches so much memory and frees it: pages that were used last are given out
// first. It takes large pages where the kernel has them, as large writes do. Where it
// fails the host is asked during the run, as it is without.
func present(bytes int64) {
	if bytes == 0 {
		return
	}
	memory, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return
	}
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)       // small pages do, too
	_ = unix.Madvise(memory, unix.MADV_POPULATE_WRITE) // an old kernel has none
	_ = unix.Munmap(memory)                            // it is a mapping
}
