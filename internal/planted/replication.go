package planted

// The flaws of replication, by the letter under which the list of faults knows them.
const (
	// TruncateToHighWatermark: a follower drops what lies over its own high
	// watermark (before KIP-101).
	TruncateToHighWatermark Flaw = "M1"
	// FetchWithoutEpoch: fetches carry neither the leader epoch nor the last
	// fetched epoch (before KIP-320).
	FetchWithoutEpoch Flaw = "M2"
	// SameLeaderNoTruncation: a new epoch of the leader one follows already
	// compares nothing.
	SameLeaderNoTruncation Flaw = "M3"
	// CommittedSetOnly: the high watermark looks at the committed ISR while a
	// larger one is proposed (before KIP-497).
	CommittedSetOnly Flaw = "M4"
	// JoinBelowEpochStart: a replica joins the ISR at the high watermark though
	// the leader's epoch began above it.
	JoinBelowEpochStart Flaw = "M5"
	// NoControllerEpoch: controllers of older epochs are obeyed.
	NoControllerEpoch Flaw = "M6"
	// JoinWithoutBrokerEpoch: fetches of a broker's earlier life count for its
	// present one (before KIP-903).
	JoinWithoutBrokerEpoch Flaw = "M7"
	// AckBeforeAppend: what was sent to a follower counts as appended there.
	AckBeforeAppend Flaw = "M8"
	// HighWatermarkBeforeTruncation: a follower takes the leader's high watermark
	// over before it cuts off what diverges.
	HighWatermarkBeforeTruncation Flaw = "M13"
	// FenceNotSynced: the fenced epoch is promised before it is on stable
	// storage.
	FenceNotSynced Flaw = "M14"
	// SilentDegrade: the sync strategy stops waiting for a slow member without
	// saying so.
	SilentDegrade Flaw = "M15"
	// NoControlBatch: a quorum leader counts entries of older epochs at once.
	NoControlBatch Flaw = "Q1"
	// CommitToEpochStart: a quorum leader lets the high watermark move up to its
	// epoch's start before the control batch is held.
	CommitToEpochStart Flaw = "Q2"
)

// Replication lists them in that order.
var Replication = []Flaw{
	TruncateToHighWatermark, FetchWithoutEpoch, SameLeaderNoTruncation, CommittedSetOnly, JoinBelowEpochStart,
	NoControllerEpoch, JoinWithoutBrokerEpoch, AckBeforeAppend, HighWatermarkBeforeTruncation, FenceNotSynced,
	SilentDegrade, NoControlBatch, CommitToEpochStart,
}
