// Package planted holds the known-bad builds of the group coordinator: one flaw
// each, planted where a careless hand would leave it, so that the tests can prove
// that they would find it. They exist only under the build tag planted; in every
// other build Is is false at compile time and the flaw's code is gone.
package planted

// Flaw is a known-bad build.
type Flaw string

// The flaws, by the letter under which the list of faults knows them.
const (
	// NoSyncTimer: members that never sync are waited for without end (before
	// KAFKA-12890).
	NoSyncTimer Flaw = "M11"
	// CommitWithoutGeneration: whoever knows a member id may commit, from whatever
	// generation.
	CommitWithoutGeneration Flaw = "M12"
	// AssignBeforeRevocation: a consumer is given a partition that another has not
	// given back (KIP-848 without its waiting).
	AssignBeforeRevocation Flaw = "C1"
)

// All are the flaws in the order of the list.
var All = []Flaw{NoSyncTimer, CommitWithoutGeneration, AssignBeforeRevocation}
