package replication

// EffectKind says what should happen.
type EffectKind uint8

// The effects. Beside each the fields of Effect that it uses.
const (
	// Fetch: ask the leader Broker for records from Offset on, with LeaderEpoch
	// and RecordEpoch (the last fetched epoch). It stands until the next Fetch or
	// DropFetch; the shell repeats it after errors and timeouts as it sees fit.
	Fetch EffectKind = iota + 1
	// DropFetch: the replica fetches no more until the next Fetch, and what is
	// on its way is thrown away.
	DropFetch
	// Accept: append the records of the FetchResponse at the log end, then tell
	// Appended.
	Accept
	// Truncate: cut the log so that it ends at Offset (Why), then tell
	// Truncated.
	Truncate
	// Restart: drop the whole log and begin at Offset (Why), then tell Truncated.
	Restart
	// SetHighWatermark: it moved from From to Offset; consumers may read up to
	// it.
	SetHighWatermark
	// AckLeader: producers with acks=1 may be answered up to Offset.
	AckLeader
	// AckAll: producers with acks=all may be answered up to Offset.
	AckAll
	// FailWaiters: every producer that still waits below Offset is answered with
	// Failure: whatever its acks with NotLeader, acks=all only with
	// NotEnoughReplicasAfterAppend.
	FailWaiters
	// ProposeISR: have Members written as the ISR, if leader epoch and partition
	// epoch are still LeaderEpoch and PartitionEpoch (Why), even where they are the
	// ISR already: the state gets a new partition epoch. Then tell ISRCommitted or
	// ISRRefused.
	ProposeISR
	// AppendControl: append one control batch of LeaderEpoch, then tell Appended.
	AppendControl
	// Sync: bring the log to stable storage up to Offset, then tell Flushed.
	Sync
	// AnswerFetch: the fetch of Broker is answered with Failure, or with what
	// lies from Offset on; HighWatermark, LogStart, LogEnd, DivergingEpoch and
	// DivergingEnd go with it. News is true where the follower must not be kept
	// waiting for records: it does not know the high watermark, or diverges.
	AnswerFetch
	// WriteFence: LeaderEpoch is the fenced epoch from now on and must be in its
	// checkpoint before the next effect is carried out, on stable storage where
	// Synced.
	WriteFence
	// AnswerFence: the controller's FenceReplica of LeaderEpoch is answered with
	// Failure, or with RecordEpoch (the last epoch of the log), Offset (the log
	// end) and Dir.
	AnswerFence
	// StepDown: the replica no longer leads; appends are refused from now on.
	StepDown
	// MoveLogStart: the leader's log starts at Offset; drop what is older, then
	// tell LogStartMoved.
	MoveLogStart
)

// Effect is one thing that a machine wants done.
type Effect struct {
	Kind EffectKind

	Broker         int32
	LeaderEpoch    int32
	PartitionEpoch int32
	RecordEpoch    int32
	DivergingEpoch int32

	From, Offset  int64
	HighWatermark int64
	LogStart      int64
	LogEnd        int64
	DivergingEnd  int64

	News    bool
	Synced  bool
	Failure Failure
	Why     Why
	Dir     DirID
	Members []Member
}

// Why is the reason of a truncation or a proposal.
type Why uint8

// The reasons.
const (
	// Diverged: the leader's log ends the epoch earlier (KIP-101).
	Diverged Why = iota + 1
	// OverHighWatermark: replica.truncation=hw drops what is not known committed.
	OverHighWatermark
	// LeaderEndsEarlier: the leader's log is shorter and there are no epochs to
	// compare.
	LeaderEndsEarlier
	// LeaderStartsLater: the leader no longer has what comes next.
	LeaderStartsLater
	// Lagging: members have not caught up for replica.lag.time.max.ms.
	Lagging
	// CaughtUp: a replica reached the high watermark and the leader's epoch.
	CaughtUp
	// Copied: a replica on a log directory that is not the recorded one holds a
	// full copy.
	Copied
	// Settling: an earlier proposal may still be applied; whatever stands next ends
	// the doubt.
	Settling
)

// String says the reason in words.
func (w Why) String() string {
	switch w {
	case Diverged:
		return "diverged"
	case OverHighWatermark:
		return "over its high watermark"
	case LeaderEndsEarlier:
		return "the leader ends earlier"
	case LeaderStartsLater:
		return "the leader starts later"
	case Lagging:
		return "lagging"
	case CaughtUp:
		return "caught up"
	case Copied:
		return "full copy"
	case Settling:
		return "settling an earlier one"
	}
	return "no reason"
}
