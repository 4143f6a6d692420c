package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/replication"
)

// PartitionState is a partition as the controller tells it. Its slices belong to
// whoever made it.
type PartitionState struct {
	Topic   string
	TopicID [16]byte
	Index   int32
	// ControllerEpoch is that of the controller that wrote the state.
	ControllerEpoch int32
	// Leader is −1 for none and, in UpdateMetadata, −2 for a topic that is deleted
	// (Kafka's LeaderAndIsr.LeaderDuringDelete).
	Leader, LeaderEpoch int32
	// PartitionEpoch is the version of the partition's state in the metadata
	// store.
	PartitionEpoch int32
	// ISR, ELR and Replicas have the broker epochs and log directories that are
	// known; ELR is empty where eligible leaders are not kept.
	ISR, ELR, Replicas []replication.Member
	// Adding and Removing are of a reassignment; only LeaderAndISR tells them.
	Adding, Removing []int32
	// Offline are replicas that do not live; only UpdateMetadata tells them.
	Offline []int32
	// IsNew is true of a partition that never had a leader before; only
	// LeaderAndISR tells it.
	IsNew bool
	// Recovering is true while the leader, elected uncleanly, has not recovered;
	// only LeaderAndISR tells it.
	Recovering bool
}

// Broker is where a live broker listens.
type Broker struct {
	ID   int32
	Host string
	Port int32
	// Rack is empty where the broker has none; only UpdateMetadata tells it.
	Rack string
}

// TopicPartition names a partition.
type TopicPartition struct {
	Topic string
	Index int32
}

// recovery is LeaderRecoveryState on the wire.
func recovery(recovering bool) int8 {
	if recovering {
		return 1
	}
	return 0
}

// learnSets fills in what both messages about partitions have in tagged fields.
func (s *PartitionState) learnSets(tags *kmsg.Tags, isr, replicas []int32) (err error) {
	if s.ISR, err = joinMembers(tags, tagISR, isr); err != nil {
		return err
	}
	if s.Replicas, err = joinMembers(tags, tagReplicas, replicas); err != nil {
		return err
	}
	s.ELR, err = getELR(tags)
	return err
}
