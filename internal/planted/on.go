//go:build planted

package planted

// Enabled reports whether this build can be made bad.
const Enabled = true

var current Flaw

// Plant makes the process bad by one flaw; "" makes it sound again. It is not
// safe while machines step.
func Plant(f Flaw) { current = f }

// Is reports whether the flaw is planted.
func Is(f Flaw) bool { return current == f }
