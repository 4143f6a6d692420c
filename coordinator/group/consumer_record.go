package group

// MemberState is how far a member is on its way to its target assignment.
type MemberState int8

// The states of a member, as the log has them.
const (
	// MemberStable has what it shall have, at its epoch.
	MemberStable MemberState = iota
	// MemberRevoking was told to give partitions back and has not yet.
	MemberRevoking
	// MemberWaiting waits for partitions that others have not given back.
	MemberWaiting
)

// ConsumerGroupRecord is a group of KIP-848 (ConsumerGroupMetadataKey and Value).
type ConsumerGroupRecord struct {
	Group     string
	Tombstone bool
	Epoch     int32
	// MetadataHash is of the topics that the group reads, as they were.
	MetadataHash int64
}

// ConsumerMemberRecord is what a member said of itself
// (ConsumerGroupMemberMetadataKey and Value).
type ConsumerMemberRecord struct {
	Group, Member                            string
	Tombstone                                bool
	InstanceID, RackID, ClientID, ClientHost string
	RebalanceTimeoutMs                       int32
	// Topics are in order.
	Topics []string
	// Regex is "" for none.
	Regex    string
	Assignor string
}

// TargetEpochRecord says for which group epoch the target assignment is
// (ConsumerGroupTargetAssignmentMetadataKey and Value).
type TargetEpochRecord struct {
	Group     string
	Tombstone bool
	Epoch     int32
}

// TargetRecord is what a member shall have (ConsumerGroupTargetAssignmentMemberKey
// and Value).
type TargetRecord struct {
	Group, Member string
	Tombstone     bool
	Partitions    []TopicPartitions
}

// CurrentRecord is what a member may have now (ConsumerGroupCurrentMemberAssignmentKey
// and Value).
type CurrentRecord struct {
	Group, Member        string
	Tombstone            bool
	Epoch, PreviousEpoch int32
	State                MemberState
	// Assigned it may read; Revoking it must give back, and nobody else has them
	// before it did.
	Assigned, Revoking []TopicPartitions
}

func (*ConsumerGroupRecord) record()  {}
func (*ConsumerMemberRecord) record() {}
func (*TargetEpochRecord) record()    {}
func (*TargetRecord) record()         {}
func (*CurrentRecord) record()        {}
