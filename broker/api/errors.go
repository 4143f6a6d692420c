package api

import (
	"context"
	"errors"

	"tidemark/broker/replica"
	"tidemark/commitlog"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/coordinator/znode"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// What handlers themselves find wrong.
var (
	errInvalidConfig    = errors.New("invalid configuration")
	errInvalidRequest   = errors.New("invalid request")
	errInvalidTopic     = errors.New("topic name is not allowed")
	errUnknownTopic     = errors.New("unknown topic")
	errUnknownTopicID   = errors.New("unknown topic id")
	errInvalidAcks      = errors.New("acks must be -1, 0 or 1")
	errTimedOut         = errors.New("the batch was appended, but not confirmed in time")
	errDeletionDisabled = errors.New("delete.topic.enable is false")
)

// codes maps errors to protocol codes; the first match wins, so the narrower
// comes first.
var codes = []struct {
	err  error
	code wire.ErrorCode
}{
	{replica.ErrStorage, wire.KafkaStorageError},
	{commitlog.ErrFailed, wire.KafkaStorageError},
	{replica.ErrNotLeader, wire.NotLeaderOrFollower},
	{replica.ErrUnknownPartition, wire.UnknownTopicOrPartition},
	{replica.ErrFencedEpoch, wire.FencedLeaderEpoch},
	{replica.ErrUnknownEpoch, wire.UnknownLeaderEpoch},
	{replica.ErrNotEnoughReplicas, wire.NotEnoughReplicas},
	{replica.ErrNotEnoughReplicasAfterAppend, wire.NotEnoughReplicasAfterAppend},
	{replica.ErrOffsetNotAvailable, wire.OffsetNotAvailable},
	{replica.ErrStaleBrokerEpoch, wire.StaleBrokerEpoch},
	{replica.ErrUnknownReplica, wire.UnknownTopicOrPartition},
	{commitlog.ErrOffsetOutOfRange, wire.OffsetOutOfRange},
	{commitlog.ErrRecordListTooLarge, wire.RecordListTooLarge},
	{commitlog.ErrOutOfOrderSequence, wire.OutOfOrderSequenceNumber},
	{commitlog.ErrInvalidProducerEpoch, wire.InvalidProducerEpoch},
	{commitlog.ErrInvalidTxnState, wire.InvalidTxnState},
	{commitlog.ErrCoordinatorFenced, wire.TransactionCoordinatorFenced},
	// The partition is being closed or moved: the client asks who leads now.
	{commitlog.ErrClosed, wire.NotLeaderOrFollower},
	{record.ErrTooLarge, wire.MessageTooLarge},
	{record.ErrInvalidTimestamp, wire.InvalidTimestamp},
	{record.ErrUnsupportedCodec, wire.UnsupportedCompressionType},
	{record.ErrInvalidRecord, wire.InvalidRecord},
	{record.ErrCorrupt, wire.CorruptMessage},
	{record.ErrShort, wire.CorruptMessage},

	{errInvalidTopic, wire.InvalidTopicException},
	{errUnknownTopicID, wire.UnknownTopicID},
	{errInvalidAcks, wire.InvalidRequiredAcks},
	{errTimedOut, wire.RequestTimedOut},

	{errInvalidConfig, wire.InvalidConfig},
	{errInvalidRequest, wire.InvalidRequest},
	{errUnknownTopic, wire.UnknownTopicOrPartition},
	{errDeletionDisabled, wire.TopicDeletionDisabled},
	{controller.ErrNotController, wire.NotController},
	{controller.ErrTopicExists, wire.TopicAlreadyExists},
	{controller.ErrUnknownTopicID, wire.UnknownTopicID},
	{controller.ErrUnknownTopic, wire.UnknownTopicOrPartition},
	{controller.ErrInvalidTopic, wire.InvalidTopicException},
	{controller.ErrInvalidReplicationFactor, wire.InvalidReplicationFactor},
	{controller.ErrInvalidPartitions, wire.InvalidPartitions},
	{controller.ErrInvalidAssignment, wire.InvalidReplicaAssignment},
	{controller.ErrClosed, wire.NotController},
	{controller.ErrStaleBrokerEpoch, wire.StaleBrokerEpoch},
	{controller.ErrElectionNotNeeded, wire.ElectionNotNeeded},
	{controller.ErrPreferredLeaderNotAvailable, wire.PreferredLeaderNotAvailable},
	{controller.ErrEligibleLeadersNotAvailable, wire.EligibleLeadersNotAvailable},
	{controller.ErrUnknownPartition, wire.UnknownTopicOrPartition},
	{controller.ErrNoReassignment, wire.NoReassignmentInProgress},
	{controller.ErrReassignmentInProgress, wire.ReassignmentInProgress},
	{znode.ErrFenced, wire.NotController},
	{shard.ErrNotCoordinator, wire.NotCoordinator},
	{shard.ErrLoadInProgress, wire.CoordinatorLoadInProgress},
	{shard.ErrOverloaded, wire.CoordinatorNotAvailable},
	{shard.ErrCommitTimeout, wire.RequestTimedOut},
	{group.ErrInvalidGroupID, wire.InvalidGroupID},
	{group.ErrUnknownMember, wire.UnknownMemberID},
	{group.ErrIllegalGeneration, wire.IllegalGeneration},
	{group.ErrRebalanceInProgress, wire.RebalanceInProgress},
	{group.ErrInconsistentProtocol, wire.InconsistentGroupProtocol},
	{group.ErrInvalidSessionTimeout, wire.InvalidSessionTimeout},
	{group.ErrMemberIDRequired, wire.MemberIDRequired},
	{group.ErrGroupMaxSize, wire.GroupMaxSizeReached},
	{group.ErrFencedInstance, wire.FencedInstanceID},
	{group.ErrNonEmptyGroup, wire.NonEmptyGroup},
	{group.ErrGroupNotFound, wire.GroupIDNotFound},
	{group.ErrSubscribed, wire.GroupSubscribedToTopic},
	{group.ErrMetadataTooLarge, wire.OffsetMetadataTooLarge},
	{group.ErrUnstableOffset, wire.UnstableOffsetCommit},
	{group.ErrInvalidRequest, wire.InvalidRequest},
	{group.ErrFencedMemberEpoch, wire.FencedMemberEpoch},
	{group.ErrUnreleasedInstance, wire.UnreleasedInstanceID},
	{group.ErrUnsupportedAssignor, wire.UnsupportedAssignor},
	{group.ErrPlainOffsets, wire.UnsupportedForMessageFormat},
	{group.ErrInvalidRegex, wire.InvalidRegularExpression},
	{group.ErrStaleMemberEpoch, wire.StaleMemberEpoch},
	{txn.ErrConcurrent, wire.ConcurrentTransactions},
	{txn.ErrFenced, wire.ProducerFenced},
	{txn.ErrUnknownMapping, wire.InvalidProducerIDMapping},
	{txn.ErrInvalidState, wire.InvalidTxnState},
	{txn.ErrInvalidTimeout, wire.InvalidTransactionTimeout},
	{txn.ErrAbortable, wire.TransactionAbortable},
	{txn.ErrNotFound, wire.TransactionalIDNotFound},
	{context.DeadlineExceeded, wire.RequestTimedOut},
	{context.Canceled, wire.RequestTimedOut},
}

// codeOf maps an error; fallback stands for one that has no code of its own.
func codeOf(err error, fallback wire.ErrorCode) wire.ErrorCode {
	if err == nil {
		return wire.None
	}
	for i := range codes {
		if errors.Is(err, codes[i].err) {
			return codes[i].code
		}
	}
	return fallback
}

// partitionCode maps an error of a partition. What is not foreseen is answered
// as something that clients retry: UNKNOWN_SERVER_ERROR makes a Java producer
// raise its epoch and write the batch again.
func partitionCode(err error) wire.ErrorCode { return codeOf(err, wire.NotLeaderOrFollower) }

// adminCode maps an error of a topic or configuration operation.
func adminCode(err error) wire.ErrorCode { return codeOf(err, wire.UnknownServerError) }

// groupCode maps an error of a coordinator as Kafka's
// CoordinatorOperationExceptionHelper does: a client of a group knows no partition
// of ours, so what became of the log is told as what became of the coordinator.
func groupCode(err error) wire.ErrorCode {
	switch code := codeOf(err, wire.UnknownServerError); code {
	case wire.UnknownTopicOrPartition, wire.NotEnoughReplicas, wire.NotEnoughReplicasAfterAppend, wire.RequestTimedOut:
		return wire.CoordinatorNotAvailable
	case wire.NotLeaderOrFollower, wire.KafkaStorageError, wire.FencedLeaderEpoch, wire.UnknownLeaderEpoch:
		return wire.NotCoordinator
	case wire.MessageTooLarge, wire.RecordListTooLarge:
		return wire.UnknownServerError
	default:
		return code
	}
}

// message is an error's text for a response; nil for none.
func message(err error) *string {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &text
}
