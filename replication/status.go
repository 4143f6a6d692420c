package replication

import "time"

// Role is what a replica does.
type Role uint8

// The roles.
const (
	// Idle: not told yet, or stopped.
	Idle Role = iota
	Follower
	Leader
)

// String is the role in a word.
func (r Role) String() string {
	switch r {
	case Follower:
		return "follower"
	case Leader:
		return "leader"
	}
	return "idle"
}

// Status is a machine's state for people, metrics and checkers.
type Status struct {
	Role Role
	// Leader is who leads as far as this replica knows.
	Leader         int32
	LeaderEpoch    int32
	PartitionEpoch int32
	// FencedEpoch is the highest leader epoch the replica promised to, or had
	// records of when it started; it takes nothing from a leader of a lower one.
	FencedEpoch int32
	// EpochStart is the log end when this leader took office; NoOffset on others.
	// While the high watermark is below it, the latest offset is not available.
	EpochStart int64

	LogStartOffset int64
	LogEndOffset   int64
	Synced         int64
	HighWatermark  int64
	// AckedAll and AckedLeader are up to where producers were answered.
	AckedAll, AckedLeader int64

	// ISR is the committed set, Maximal what counts while a proposal is under
	// way.
	ISR, Maximal []Member
	Pending      bool
	// MinISR is the smaller of min.insync.replicas and the number of replicas.
	MinISR int
	// Admits is true where a producer with acks=all may append. It changes only
	// with BecomeLeader, BecomeFollower, Stopped, Fence, ConfigChanged and
	// ISRCommitted.
	Admits bool
	// Followers are the other assigned replicas as the leader sees them.
	Followers []FollowerStatus
	// Waiting says why the high watermark stands; it is empty where it is the
	// log end.
	Waiting string
}

// FollowerStatus is a follower as its leader sees it.
type FollowerStatus struct {
	Broker      int32
	BrokerEpoch int64
	// LogEndOffset is its last fetch offset; NoOffset before its first fetch in
	// this leader epoch.
	LogEndOffset int64
	// Lag is how many records it is behind the leader; NoOffset if unknown.
	Lag int64
	// LastCaughtUp is when it last had everything.
	LastCaughtUp time.Duration
	InSync       bool
}
