package group

import "time"

// The messages of the next generation of the protocol (KIP-848): members say which
// topics they read, and the coordinator assigns.

// The member epochs with a meaning of their own.
const (
	// JoinEpoch joins, or joins anew without any partitions.
	JoinEpoch int32 = 0
	// LeaveEpoch leaves.
	LeaveEpoch int32 = -1
	// StaticLeaveEpoch is a static member that stops and will be back.
	StaticLeaveEpoch int32 = -2
)

// ConsumerHeartbeatRequest is answered by a ConsumerHeartbeatReply. What a client may
// leave out because it has not changed is nil.
type ConsumerHeartbeatRequest struct {
	Group string
	// Member is chosen by the client (version 1); where it is empty on joining,
	// FreshID becomes it.
	Member, FreshID string
	Epoch           int32
	InstanceID      string
	RackID          string
	ClientID        string
	ClientHost      string
	// RebalanceTimeout is how long the member may take to give partitions back; 0
	// where it has not changed.
	RebalanceTimeout time.Duration
	Topics           []string
	// Regex subscribes to the topics whose whole name it matches, beside Topics; "" is
	// none. It is in the syntax of RE2.
	Regex    *string
	Assignor *string
	// Owned are the partitions that the member has now.
	Owned *[]TopicPartitions
	// Metadata is what the broker knows of topics now.
	Metadata Metadata
}

// ConsumerHeartbeatReply is the answer to a ConsumerHeartbeatRequest.
type ConsumerHeartbeatReply struct {
	Member            string
	Epoch             int32
	HeartbeatInterval time.Duration
	// Assignment is nil where the member has it already.
	Assignment *[]TopicPartitions
}

// TopicPartitions are partitions of one topic, in rising order.
type TopicPartitions struct {
	TopicID    [16]byte
	Partitions []int32
}

// Metadata tells which topics there are. It is a snapshot: while an operation runs it
// must not change.
type Metadata interface {
	// Version changes whenever a topic does.
	Version() int64
	// Topic finds a topic by its name.
	Topic(name string) (id [16]byte, partitions int32, ok bool)
	// Names are the topics that a regular expression may mean. The slice is not to be
	// changed.
	Names() []string
}

// ConsumerDescription is the body of ConsumerDescribe's reply, which has
// ErrGroupNotFound for a group of another kind or none.
type ConsumerDescription struct {
	Group, State, Assignor string
	// Epoch counts changes of members and topics; AssignmentEpoch is the one that the
	// target assignment was made for.
	Epoch, AssignmentEpoch int32
	Members                []ConsumerMemberDescription
}

// ConsumerMemberDescription is a member of a ConsumerDescription.
type ConsumerMemberDescription struct {
	Member, InstanceID, RackID, ClientID, ClientHost string
	Epoch                                            int32
	Topics                                           []string
	Regex                                            string
	// Assignment is what it may have now, Target what it shall have in the end.
	Assignment, Target []TopicPartitions
}
