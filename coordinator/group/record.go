package group

// Record is a record of __consumer_offsets: *GroupRecord, *OffsetRecord, or for
// KIP-848 *ConsumerGroupRecord, *ConsumerMemberRecord, *TargetEpochRecord,
// *TargetRecord, *CurrentRecord. Records are immutable once made: state and log share them.
type Record interface{ record() }

// GroupRecord is a classic group at one generation (GroupMetadataKey and
// GroupMetadataValue).
type GroupRecord struct {
	Group string
	// Tombstone says that the group is gone; all below is empty then.
	Tombstone              bool
	ProtocolType, Protocol string
	Leader                 string
	Generation             int32
	// TimestampMs is when the group came into its state (currentStateTimestamp).
	TimestampMs int64
	// Members is empty for an Empty group.
	Members []MemberRecord
}

// MemberRecord is a member of a GroupRecord, with the metadata it gave for the
// group's protocol.
type MemberRecord struct {
	Member, InstanceID, ClientID, ClientHost string
	RebalanceTimeoutMs, SessionTimeoutMs     int32
	Subscription, Assignment                 []byte
}

// OffsetRecord is a committed offset (OffsetCommitKey and OffsetCommitValue).
type OffsetRecord struct {
	Group string
	TopicPartition
	// Tombstone says that the offset is gone; all below is empty then.
	Tombstone   bool
	TopicID     [16]byte
	Offset      int64
	LeaderEpoch int32
	Metadata    string
	// CommitTimestampMs is when it was committed, ExpireTimestampMs when it was
	// asked to expire, -1 for the group's rule.
	CommitTimestampMs, ExpireTimestampMs int64
}

func (*GroupRecord) record()  {}
func (*OffsetRecord) record() {}
