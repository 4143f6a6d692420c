//go:build !linux

package hugepage

func collapse(address, length uintptr) error { return nil }
