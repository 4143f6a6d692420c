//go:build tidemark_bad_fsync

package vfs

// syncErrorsCount is false in a build that is bad on purpose: it goes on after a
// failed sync as if nothing had been. A test builds it and wants it caught.
const syncErrorsCount = false
