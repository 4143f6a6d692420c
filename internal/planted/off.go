//go:build !planted

package planted

// Enabled reports whether this build can be made bad.
const Enabled = false

// Is reports whether the flaw is planted: never in this build.
func Is(Flaw) bool { return false }
