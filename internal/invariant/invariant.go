// Package invariant holds assertions that stay on in every build. A broken
// invariant is a programmer's error, never a disk's, a network's or a client's:
// those return errors.
package invariant

import "fmt"

// Check panics with the formatted message when ok is false.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}
