package planted

// The flaws of transactions and idempotence, by the letter under which the list of
// faults knows them.
const (
	// DedupNotRebuilt: a follower remembers nothing of producers, so as the next
	// leader it takes a retry for something new.
	DedupNotRebuilt Flaw = "M10"
	// HandOutTwice: a decision that somebody carries out already is given to whoever
	// asks next.
	HandOutTwice Flaw = "T1"
	// LateEnd: EndTxn of an earlier epoch ends the present transaction (KAFKA-17754).
	LateEnd Flaw = "T2"
	// InitLeavesOpen: InitProducerId returns with the earlier producer's transaction
	// open.
	InitLeavesOpen Flaw = "T3"
)

// Transactions lists those of the coordinator in that order.
var Transactions = []Flaw{HandOutTwice, LateEnd, InitLeavesOpen}
