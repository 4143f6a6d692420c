package api

import (
	"testing"

	"tidemark/broker/replica"
	"tidemark/protocol/wire"
)

// Every error of a replica has a code of its own: what is not in the table is told
// as something else.
func TestErrorsOfReplicasHaveCodes(t *testing.T) {
	for err, want := range map[error]wire.ErrorCode{
		replica.ErrStorage:                      wire.KafkaStorageError,
		replica.ErrNotLeader:                    wire.NotLeaderOrFollower,
		replica.ErrUnknownPartition:             wire.UnknownTopicOrPartition,
		replica.ErrFencedEpoch:                  wire.FencedLeaderEpoch,
		replica.ErrUnknownEpoch:                 wire.UnknownLeaderEpoch,
		replica.ErrNotEnoughReplicas:            wire.NotEnoughReplicas,
		replica.ErrNotEnoughReplicasAfterAppend: wire.NotEnoughReplicasAfterAppend,
		replica.ErrOffsetNotAvailable:           wire.OffsetNotAvailable,
		replica.ErrStaleBrokerEpoch:             wire.StaleBrokerEpoch,
		replica.ErrUnknownReplica:               wire.UnknownTopicOrPartition,
	} {
		if got := partitionCode(err); got != want {
			t.Errorf("%v: code %d, want %d", err, got, want)
		}
		if code := codeOf(err, wire.UnknownServerError); code == wire.UnknownServerError {
			t.Errorf("%v is not in the table", err)
		}
	}
}
