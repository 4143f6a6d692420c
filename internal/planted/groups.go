package planted

// The flaws of the group coordinator, by the letter under which the list of faults
// knows them.
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

// Groups lists them in that order.
var Groups = []Flaw{NoSyncTimer, CommitWithoutGeneration, AssignBeforeRevocation}
