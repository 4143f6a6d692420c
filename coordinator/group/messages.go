package group

import "time"

// Requests and replies carry what every version of the API means; a field that a
// version lacks has its zero value. A reply's Body is a pointer to the reply type
// named beside the request. Byte slices of requests are kept and must not change.

// Protocol is one assignment protocol that a member can speak, such as "range",
// with its metadata.
type Protocol struct {
	Name     string
	Metadata []byte
}

// JoinRequest is answered by a JoinReply, now or when the rebalance completes.
type JoinRequest struct {
	Group string
	// Member is empty for one that has no id yet.
	Member string
	// InstanceID is a static member's name, empty for a dynamic member.
	InstanceID   string
	ClientID     string
	ClientHost   string
	ProtocolType string
	// Protocols are in the member's order of preference.
	Protocols      []Protocol
	SessionTimeout time.Duration
	// RebalanceTimeout is the session timeout where the version has none.
	RebalanceTimeout time.Duration
	// RequireKnownMember makes a dynamic member without an id come again with the
	// one it is given (version 4 on, KIP-394).
	RequireKnownMember bool
	// CanSkipAssignment says that the client knows SkipAssignment (version 9 on).
	CanSkipAssignment bool
	// FreshID is unique in the cluster; a new member is named ClientID-FreshID, or
	// InstanceID-FreshID.
	FreshID string
}

// JoinReply is the answer to a JoinRequest. It comes with ErrMemberIDRequired too,
// with Member set and nothing else.
type JoinReply struct {
	Generation             int32
	ProtocolType, Protocol string
	Leader, Member         string
	// SkipAssignment tells a static leader that came back to keep the assignment
	// (KIP-814).
	SkipAssignment bool
	// Members is given to the leader only.
	Members []JoinedMember
}

// JoinedMember is a member as the leader sees it.
type JoinedMember struct {
	Member, InstanceID string
	Metadata           []byte
}

// SyncRequest is answered by a SyncReply, once the leader's has come.
type SyncRequest struct {
	Group              string
	Generation         int32
	Member, InstanceID string
	// ProtocolType and Protocol are compared where not empty (version 5 on).
	ProtocolType, Protocol string
	// Assignments is the leader's; members left out get an empty one.
	Assignments []Assignment
}

// Assignment is what a leader gave a member.
type Assignment struct {
	Member string
	Bytes  []byte
}

// SyncReply is the answer to a SyncRequest.
type SyncReply struct {
	ProtocolType, Protocol string
	Assignment             []byte
}

// HeartbeatRequest is answered by an error or none; there is no body.
type HeartbeatRequest struct {
	Group              string
	Generation         int32
	Member, InstanceID string
}

// LeaveRequest is answered by a LeaveReply.
type LeaveRequest struct {
	Group   string
	Members []Leaver
}

// Leaver is a member that leaves, by id, by instance id (with an empty Member), or
// by both.
type Leaver struct{ Member, InstanceID string }

// LeaveReply has an error for each member of the request, in its order.
type LeaveReply struct{ Errs []error }

// Description is the body of Describe's reply. An unknown group is Dead, and so is
// one of KIP-848 (Consumer is set then): ConsumerDescribe has more to say of it.
type Description struct {
	Group, State, ProtocolType, Protocol string
	Generation                           int32
	Leader                               string
	Members                              []DescribedMember
	// Since is when the group came into its state.
	Since time.Time
	// Pending counts members that were given an id and did not come back yet.
	Pending int
	// Consumer says that the group is there and speaks the protocol of KIP-848.
	Consumer bool
}

// DescribedMember is a member of a Description. Metadata and Assignment are given
// in a Stable group only, as in Kafka.
type DescribedMember struct {
	Member, InstanceID, ClientID, ClientHost string
	Metadata, Assignment                     []byte
	// Joining and Syncing say that its request waits: the others, in a rebalance,
	// are those waited for.
	Joining, Syncing bool
	// Heard is when the coordinator last had a sign of it.
	Heard time.Time
}

// ListRequest is answered by a ListReply. Empty filters let all pass; names are
// compared without regard to case.
type ListRequest struct{ States, Types []string }

// ListReply has the groups of one shard in order of their ids.
type ListReply struct{ Groups []Listed }

// Listed is a group of a ListReply. Type is "classic" or "consumer".
type Listed struct{ Group, ProtocolType, State, Type string }

// DeleteRequest is answered by a DeleteReply. All its groups are the shard's.
type DeleteRequest struct{ Groups []string }

// DeleteReply has an error for each group of the request, in its order.
type DeleteReply struct{ Errs []error }
