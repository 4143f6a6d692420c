package controller

import (
	"errors"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// Errors of the requests below; the API layer maps them to protocol codes.
var (
	// ErrElectionNotNeeded: the preferred leader leads, or, for an unclean
	// election, somebody does.
	ErrElectionNotNeeded = errors.New("election is not needed")
	// ErrPreferredLeaderNotAvailable: the first replica is not live, not in sync, or
	// the strategy lets nobody choose.
	ErrPreferredLeaderNotAvailable = errors.New("the preferred leader is not available")
	// ErrEligibleLeadersNotAvailable: no replica is live.
	ErrEligibleLeadersNotAvailable = errors.New("no eligible leader is available")
	// ErrUnknownPartition: the topic or the partition does not exist.
	ErrUnknownPartition = errors.New("unknown topic or partition")
	// ErrNoReassignment: there is none to cancel.
	ErrNoReassignment = errors.New("no reassignment is in progress")
	// ErrReassignmentInProgress: the topic cannot be deleted or grown meanwhile.
	ErrReassignmentInProgress = errors.New("a reassignment is in progress")
)

// Proposal is one partition of an AlterPartition request.
type Proposal struct {
	// Topic is looked at where TopicID is zero.
	Topic          string
	TopicID        znode.TopicID
	Partition      int32
	LeaderEpoch    int32
	PartitionEpoch int32
	ISR            []replication.Member
	Recovering     bool
}

// Outcome answers one Proposal.
type Outcome struct {
	// Err is nil where the proposal, or one like it, stands; ErrUnknownPartition,
	// ErrStaleState, ErrIneligibleReplica, ErrUnknownOutcome or ErrNotApplied else.
	Err error
	// State is the partition's state as it stands, for all but unknown ones.
	State PartitionState
}

// Outcomes of a Proposal.
var (
	// ErrStaleState: the state is another by now (INVALID_UPDATE_VERSION,
	// FENCED_LEADER_EPOCH, NEW_LEADER_ELECTED); replication.StaleState.
	ErrStaleState = errors.New("the proposal was made from an older state")
	// ErrIneligibleReplica: who is to join is not live under the broker epoch that
	// the leader knows (KIP-903); replication.NotApplied.
	ErrIneligibleReplica = errors.New("a new member is not eligible")
	// ErrUnknownOutcome: the leader knows more than this controller, or the state is
	// about to change: it asks again; replication.UnknownOutcome.
	ErrUnknownOutcome = errors.New("the outcome is not known yet")
	// ErrNotApplied: refused without looking (OPERATION_NOT_ATTEMPTED);
	// replication.NotApplied.
	ErrNotApplied = errors.New("the proposal was not tried")
)

// ElectionType is that of ElectLeaders.
type ElectionType int8

// The election types.
const (
	// Preferred moves leadership to the first replica.
	Preferred ElectionType = 0
	// Unclean lets any live replica lead a partition that nobody leads.
	Unclean ElectionType = 1
)

// ElectionResult is the outcome for one partition, nil if it was elected.
type ElectionResult struct {
	TopicPartition
	Err error
}

// Reassignment asks for other replicas of a partition; nil Replicas cancel the
// one under way.
type Reassignment struct {
	TopicPartition
	Replicas []int32
}

// Ongoing is a reassignment under way. Replicas are old and new ones together.
type Ongoing struct {
	TopicPartition
	Replicas, Adding, Removing []int32
}
