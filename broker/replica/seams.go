package replica

import (
	"errors"

	"tidemark/replication"
)

// ISR has in-sync sets written, by the controller or straight to ZooKeeper.
type ISR interface {
	// Propose has the proposal written if the state is still the one that it was
	// made from, then calls done once, from another goroutine, whatever happened,
	// unless a later proposal of the partition took its place, or the writer is closed.
	// It is called under locks and never blocks.
	Propose(p Proposal, done func(Outcome))
}

// Proposal is an in-sync set that a leader wants written.
type Proposal struct {
	ID
	TopicID [16]byte
	// LeaderEpoch and PartitionEpoch are of the state that it was made from.
	LeaderEpoch, PartitionEpoch int32
	// Members is shared and read-only.
	Members []replication.Member
	Why     replication.Why
}

// Outcome is what became of a proposal.
type Outcome struct {
	// Refusal is 0 where the proposal stands, or stood already.
	Refusal replication.Refusal
	// The state as it is written now; it counts where Refusal is 0. Leader is who
	// leads in it.
	Leader, LeaderEpoch, PartitionEpoch int32
	ISR, ELR                            []replication.Member
}

// Results say why replicas do not serve, in the order of the states; nil too for a
// state that is old, or of a partition that is not for this broker.
type Results []error

// Err joins the errors.
func (r Results) Err() error {
	return errors.Join(r...)
}

// Stopping is one partition of StopReplica.
type Stopping struct {
	ID
	// LeaderEpoch is the one that the controller knows; a lower one than the
	// replica's is ignored. AnyEpoch and below are not checked.
	LeaderEpoch int32
	// Delete: the log goes too.
	Delete bool
}

// FenceRequest is the controller's FenceReplica of one partition.
type FenceRequest struct {
	ID
	TopicID                      [16]byte
	LeaderEpoch, ControllerEpoch int32
}

// FenceAnswer is the replica's answer.
type FenceAnswer struct {
	// Err is set where there is no replica to ask.
	Err error
	// Failure is FencedLeaderEpoch where a later epoch was promised to.
	Failure replication.Failure
	// LeaderEpoch is the epoch promised to.
	LeaderEpoch int32
	// LastEpoch and LogEndOffset are how far the log is, Dir where it lies.
	LastEpoch    int32
	LogEndOffset int64
	Dir          replication.DirID
}
