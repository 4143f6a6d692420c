package replication

import (
	"time"

	"tidemark/commitlog/epoch"
)

// EventKind says what happened.
type EventKind uint8

// The events. Beside each the fields of Event that it uses; every event has Now.
const (
	// Tick: time passed. The caller ticks a few times within LagTimeMax.
	Tick EventKind = iota
	// Restarted: the replica's log was opened; the machine's first event unless
	// the log is new. Offset (log end), Synced (what of it is certainly on
	// stable storage), LogStart, HighWatermark (the checkpoint; NoOffset if
	// there was none), Epochs, FencedEpoch, BrokerEpoch and Dir.
	Restarted
	// ConfigChanged: Config. Self stays.
	ConfigChanged
	// BecomeLeader: LeaderAndIsr names this replica. ControllerEpoch,
	// LeaderEpoch, PartitionEpoch, ISR, ELR, Replicas.
	BecomeLeader
	// BecomeFollower: LeaderAndIsr names another, or nobody (NoBroker). Broker
	// (the leader) and the fields of BecomeLeader.
	BecomeFollower
	// Stopped: the replica was stopped (StopReplica) or its log went offline. Only
	// Restarted brings it back.
	Stopped
	// Appended: a batch, or batches of one leader epoch, were written at the log
	// end. Offset (the new log end), RecordEpoch (the leader epoch of the
	// batches).
	Appended
	// Flushed: everything below Offset is on stable storage.
	Flushed
	// FollowerFetched: a replica's fetch came in. Broker, BrokerEpoch, Dir,
	// LeaderEpoch (the one the follower knows; NoEpoch is not checked), Offset
	// (the fetch offset), RecordEpoch (its last fetched epoch; NoEpoch is not
	// checked).
	FollowerFetched
	// FetchResponse: the leader answered. LeaderEpoch and Offset (as they were
	// in the request), Failure, HighWatermark, LogStart, DivergingEpoch and
	// DivergingEnd (NoEpoch where the logs agree), Records (whether there are
	// any). With OffsetOutOfRange LogStart and LogEnd say what the leader has.
	FetchResponse
	// ISRCommitted: the partition's state as it stands in ZooKeeper: the outcome
	// of a proposal, or read back. LeaderEpoch, PartitionEpoch, ISR, ELR.
	ISRCommitted
	// ISRRefused: a proposal came to nothing. LeaderEpoch, PartitionEpoch (the
	// expected one of the proposal), Refusal.
	ISRRefused
	// Truncated: a Truncate or Restart was carried out. Offset (the log end now;
	// less than asked for where a batch reached over it), LogStart.
	Truncated
	// LogStartMoved: retention or DeleteRecords. Offset (the new log start).
	LogStartMoved
	// Fence: the controller's FenceReplica. LeaderEpoch, ControllerEpoch.
	Fence
)

// Event is one thing that happened to a replica: one line of a trace.
type Event struct {
	Kind EventKind
	// Now is the time of the event since an origin of the caller's choice. It
	// never goes back.
	Now time.Duration

	Broker          int32
	BrokerEpoch     int64
	Dir             DirID
	ControllerEpoch int32
	LeaderEpoch     int32
	PartitionEpoch  int32
	RecordEpoch     int32
	FencedEpoch     int32
	DivergingEpoch  int32

	Offset        int64
	Synced        int64
	HighWatermark int64
	LogStart      int64
	LogEnd        int64
	DivergingEnd  int64

	Records bool
	Failure Failure
	Refusal Refusal

	ISR, ELR, Replicas []Member
	Epochs             []epoch.Entry
	Config             Config
}

// Refusal says what became of a refused proposal.
type Refusal uint8

// The refusals.
const (
	// NotApplied: the controller knows the state the proposal was made from and
	// did not change it (INELIGIBLE_REPLICA, OPERATION_NOT_ATTEMPTED). The
	// committed set is what it was.
	NotApplied Refusal = iota + 1
	// StaleState: somebody else changed the state (INVALID_UPDATE_VERSION,
	// NEW_LEADER_ELECTED). What it is now comes as BecomeLeader, BecomeFollower
	// or ISRCommitted; until then the larger set counts.
	StaleState
	// UnknownOutcome: no answer. The proposal may have been applied; it is made
	// again on the next Tick, unchanged. An answer to an earlier sending is not
	// told once it was made again.
	UnknownOutcome
)

// Failure is why a fetch, a fence or a producer is refused. The shell maps it to
// Kafka's error codes.
type Failure uint8

// The failures.
const (
	NoFailure Failure = iota
	// NotLeader: NOT_LEADER_OR_FOLLOWER.
	NotLeader
	// FencedLeaderEpoch: the asker's leader epoch is older.
	FencedLeaderEpoch
	// UnknownLeaderEpoch: the asker's leader epoch is newer.
	UnknownLeaderEpoch
	// OffsetOutOfRange: the offset is not between log start and log end.
	OffsetOutOfRange
	// StaleBrokerEpoch: the fetch was sent by an earlier life of the broker.
	StaleBrokerEpoch
	// UnknownReplica: the broker is not assigned (UNKNOWN_TOPIC_OR_PARTITION to
	// Kafka's followers).
	UnknownReplica
	// NotEnoughReplicas: refused before the append.
	NotEnoughReplicas
	// NotEnoughReplicasAfterAppend: appended, and the set shrank below
	// min.insync.replicas before it was acknowledged.
	NotEnoughReplicasAfterAppend
)
