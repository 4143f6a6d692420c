//go:build !tidemark_bad_fsync

package vfs

// syncErrorsCount is what the build tag tidemark_bad_fsync turns off.
const syncErrorsCount = true
