package peer

import (
	"tidemark/protocol/wire"
	"tidemark/replication"
)

// failures are Kafka's words for what a machine refuses.
var failures = [...]wire.ErrorCode{
	replication.NoFailure:                    wire.None,
	replication.NotLeader:                    wire.NotLeaderOrFollower,
	replication.FencedLeaderEpoch:            wire.FencedLeaderEpoch,
	replication.UnknownLeaderEpoch:           wire.UnknownLeaderEpoch,
	replication.OffsetOutOfRange:             wire.OffsetOutOfRange,
	replication.StaleBrokerEpoch:             wire.StaleBrokerEpoch,
	replication.UnknownReplica:               wire.UnknownTopicOrPartition,
	replication.NotEnoughReplicas:            wire.NotEnoughReplicas,
	replication.NotEnoughReplicasAfterAppend: wire.NotEnoughReplicasAfterAppend,
}

// Code is the error code of a failure.
func Code(f replication.Failure) wire.ErrorCode { return failures[f] }

// Failure is the failure that an error code stands for; of any other code there
// is none.
func Failure(code wire.ErrorCode) (f replication.Failure, ok bool) {
	for f, c := range failures {
		if c == code {
			return replication.Failure(f), true
		}
	}
	return replication.NoFailure, false
}
