package sim

// Reach is a state worth reaching: a run that never gets there proves nothing
// about it.
type Reach uint8

// What is counted.
const (
	ReachTruncated Reach = iota
	ReachTruncatedBelowHW
	ReachDiverged
	ReachISROne
	ReachUncleanElection
	ReachELRElection
	ReachNoLeader
	ReachFetchFenced
	ReachFetchUnknownEpoch
	ReachFetchStaleBroker
	ReachFenceForgotten
	ReachHWBelowTrue
	ReachStaleVersionRefused
	ReachZombieControllerRefused
	ReachStaleControllerRefused
	ReachIneligibleRefused
	ReachSessionExpired
	ReachExpiredOnReconnect
	ReachUnknownOutcome
	ReachProposalUnknown
	ReachControllerElected
	ReachControllerResigned
	ReachPreferredMove
	ReachCleanShutdown
	ReachUnsyncedLost
	ReachFsyncFailed
	ReachConnectionReset
	ReachLeaseLapsed
	ReachNotEnoughReplicas
	ReachNotEnoughAfterAppend
	ReachProduceTimedOut
	ReachOffsetNotAvailable
	ReachZombieAppend
	ReachReelectedSame
	reaches
)

var reachNames = [reaches]string{
	"follower truncated", "truncated below its own high watermark", "diverging epoch answered", "ISR of one", "unclean election",
	"election from ELR", "no leader", "fetch fenced (older epoch)", "fetch of a newer epoch", "fetch of an earlier broker life",
	"fence forgotten in a power cut", "high watermark below the true one at an election",
	"state write refused by version", "zombie controller's write refused", "zombie controller's request refused",
	"ineligible replica refused", "session expired", "expiry learnt on reconnect", "unknown outcome in ZooKeeper",
	"proposal without an answer", "controller elected", "controller resigned", "leader moved on request", "clean shutdown",
	"unsynced records lost", "fsync failed", "connection reset under load", "ack withheld: lease lapsed", "not enough replicas",
	"not enough replicas after append", "produce timed out", "offset not available", "append of a deposed leader", "leader elected again",
}

// String is what is counted, in words.
func (r Reach) String() string { return reachNames[r] }

// Reaches are all that is counted, in the order of printing.
func Reaches() []Reach {
	out := make([]Reach, reaches)
	for i := range out {
		out[i] = Reach(i)
	}
	return out
}

// Counts is how often each was reached.
type Counts [reaches]int
