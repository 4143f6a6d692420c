package group

// TopicPartition is a partition of a topic whose offset is committed.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// CommitRequest is answered by a CommitReply.
type CommitRequest struct {
	Group string
	// Generation is the member's; negative for a consumer that is not a member. It
	// is the member epoch in a group of KIP-848.
	Generation         int32
	Member, InstanceID string
	// RetentionMs is the expiry that versions 2 to 4 could ask for, negative for the
	// group's own rule.
	RetentionMs int64
	Offsets     []Commit
}

// Commit is one offset to keep.
type Commit struct {
	TopicPartition
	// TopicID is kept beside the name where it is known (KIP-848).
	TopicID [16]byte
	Offset  int64
	// LeaderEpoch is that of the last record consumed, -1 where unknown.
	LeaderEpoch int32
	Metadata    string
}

// CommitReply has an error for each offset of the request, in its order.
type CommitReply struct{ Errs []error }

// TxnCommitRequest is answered by a CommitReply. Its offsets count once the
// producer's transaction is committed (TxnOffsetCommit, KIP-98 and KIP-447).
type TxnCommitRequest struct {
	CommitRequest
	ProducerID    int64
	ProducerEpoch int16
	// Verified is what StartVerification gave before the coordinator was asked.
	Verified *Verification
}

// OffsetsRequest is answered by an OffsetsReply (OffsetFetch of one group).
type OffsetsRequest struct {
	Group string
	// Member and MemberEpoch are checked where Member is not empty (version 9 on).
	Member      string
	MemberEpoch int32
	// RequireStable asks for ErrUnstableOffset where a transaction that is not
	// decided has an offset (KIP-447).
	RequireStable bool
	// All asks for every offset of the group; Partitions is then not looked at.
	All        bool
	Partitions []TopicPartition
}

// OffsetsReply has the offsets in the order of the request; all of a group in order
// of topic and partition.
type OffsetsReply struct{ Offsets []Committed }

// Committed is an offset of an OffsetsReply. Without one, or with Err, Offset and
// LeaderEpoch are -1.
type Committed struct {
	TopicPartition
	TopicID     [16]byte
	Offset      int64
	LeaderEpoch int32
	Metadata    string
	Err         error
}

// DeleteOffsetsRequest is answered by a CommitReply (OffsetDelete, KIP-496).
type DeleteOffsetsRequest struct {
	Group      string
	Partitions []TopicPartition
}
