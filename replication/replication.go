// Package replication decides when a record of a partition is safe: the high
// watermark, the acknowledgement, the in-sync set, truncation, and who leads.
//
// It is pure. A Machine is one replica of one partition, leader or follower; it
// is told what happened (Event) and says what should happen (Effect). It has no
// clock, goroutine, I/O, randomness or map whose order could matter, so the
// broker drives it with real events, the simulator with made-up ones and a
// golden test with a text file. What a Machine was told is all it knows: the
// same events give the same effects.
//
// The commit rules are packages below this one, one strategy each: async,
// allsync, isr and quorum; catalog lists them. They share everything that is not
// the commit rule (Replica), so that two runs that differ in strategy differ in
// nothing else. A stranger's strategy is one more Spec.
//
// In Kafka this is Partition, Replica, the in-memory part of UnifiedLog's high
// watermark, ReplicaFetcherThread and the elections of the controller; KIP-101,
// 279, 320, 392, 497, 679, 903 and 966 are followed.
package replication

import (
	"encoding/hex"
	"time"
)

// Machine is one replica of a partition. It is confined to its caller, who
// serialises Step and Status.
type Machine interface {
	// Step takes what happened and appends to effects what should be done about
	// it, in that order; the slice is the caller's and nothing in it is kept.
	// Slices inside the event become the machine's, slices inside effects are
	// never changed by it.
	Step(ev Event, effects []Effect) []Effect
	// Status is the state as people and metrics want it.
	Status() Status
}

// Spec is a replication strategy.
type Spec struct {
	// Name is the value of the topic config replication.strategy.
	Name string
	// Doc says in a line when a record counts as safe.
	Doc string
	// New makes the machine of a replica. It knows an empty log; Restarted tells
	// it what survived.
	New func(Config) Machine
	// Promise says what the strategy keeps, and so what checkers hold it to.
	Promise Promise
	// Elect chooses a leader. It is pure and deterministic; the controller calls
	// it again whenever a candidate's state changed or an answer came in.
	Elect func(Candidates, Config) Decision
}

// Promise is what a strategy keeps of what it acknowledged to acks=all.
type Promise uint8

// The promises. A strategy that names none is held to Kafka's.
const (
	// InSync: it is on every member of the ISR, and of the ELR where there is one.
	InSync Promise = iota
	// LeaderOnly: it was on the leader, once.
	LeaderOnly
	// WholeSet: it is on every member of the set, which only sessions change. The
	// ELR field is kept always.
	WholeSet
	// Majority: it is on a majority of the assigned replicas; the ISR field says
	// who votes.
	Majority
)

// Truncation is how a follower finds out what of its tail to drop.
type Truncation uint8

// The two ways, named as in the broker config replica.truncation.
const (
	// ByEpoch compares leader epochs with the leader (KIP-101, 279, 320).
	ByEpoch Truncation = iota
	// ByHighWatermark drops what lies over the replica's own high watermark, the
	// original scheme. It loses acknowledged records and lets logs diverge.
	ByHighWatermark
)

// String is the config's value.
func (t Truncation) String() string {
	if t == ByHighWatermark {
		return "hw"
	}
	return "epoch"
}

// Config is what a machine or an election is configured with. It is a value and
// can be compared.
type Config struct {
	// Self is the broker of this replica; elections leave it.
	Self int32
	// BrokerEpoch is its registration (the czxid of its znode); −1 if unknown.
	BrokerEpoch int64
	// Dir is the id of the log directory the replica lies in.
	Dir DirID
	// MinISR is min.insync.replicas; what counts is the smaller of it and the
	// number of replicas.
	MinISR int
	// LagTimeMax is replica.lag.time.max.ms.
	LagTimeMax time.Duration
	// SyncedAcks is true where storage.flush is batch or group (or
	// flush.messages is 1): what is not synced does not count, neither the
	// leader's own log nor a follower's fetch offset.
	SyncedAcks bool
	// Truncation is replica.truncation.
	Truncation Truncation
	// ELR is eligible.leader.replicas (KIP-966).
	ELR bool
	// UncleanElection is unclean.leader.election.enable.
	UncleanElection bool
}

// DirID is the id of a log directory (directory.id in meta.properties). The zero
// value means unknown and equals no directory's.
type DirID [16]byte

// String is the id in hexadecimal without leading zeros.
func (d DirID) String() string {
	for i, b := range d {
		if b != 0 {
			return hex.EncodeToString(d[i:])
		}
	}
	return "none"
}

// NoBroker stands for no broker: the leader of a partition that nobody leads.
const NoBroker int32 = -1

// NoEpoch stands for no epoch, or one that is not known.
const NoEpoch int32 = -1

// NoBrokerEpoch stands for a broker epoch that is not known. The controller
// does not check it.
const NoBrokerEpoch int64 = -1

// NoOffset stands for an offset that is not known.
const NoOffset int64 = -1

// Member is a replica in a set: the ISR, the eligible leaders, the assignment.
type Member struct {
	Broker int32
	// BrokerEpoch is the registration the membership belongs to (KIP-903): a
	// broker that came back with another one is not the member.
	BrokerEpoch int64
	// Dir is the log directory the membership belongs to. Only quorum looks at
	// it.
	Dir DirID
}

// Contains reports whether the broker is in the set, whatever its epoch.
func Contains(set []Member, broker int32) bool { return Find(set, broker) >= 0 }

// Find is the index of the broker in the set, −1 if it is not there.
func Find(set []Member, broker int32) int {
	for i := range set {
		if set[i].Broker == broker {
			return i
		}
	}
	return -1
}
