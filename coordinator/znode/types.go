package znode

import (
	"encoding/base64"
	"fmt"
	"time"

	"tidemark/replication"
)

// BrokerID is a broker's number, Kafka's broker.id.
type BrokerID = int32

// TopicID is a topic's identity, which a topic of the same name created later
// does not share. The zero value means "none" (a topic written by Kafka < 2.8).
type TopicID [16]byte

// String is the form in znodes and in Kafka's tools: URL-safe base64, unpadded.
func (id TopicID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// IsZero reports whether the id stands for none.
func (id TopicID) IsZero() bool { return id == TopicID{} }

// ParseTopicID reads the form that String writes.
func ParseTopicID(s string) (TopicID, error) {
	var id TopicID
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("topic id %q: want 22 characters of URL-safe base64", s)
	}
	copy(id[:], raw)
	return id, nil
}

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is Kafka's form, topic-partition.
func (tp TopicPartition) String() string { return fmt.Sprintf("%s-%d", tp.Topic, tp.Partition) }

// Broker is the content of /brokers/ids/N.
type Broker struct {
	ID BrokerID
	// Host and Port are the plaintext endpoint's, or empty and −1 (Kafka's
	// rule for old readers).
	Host string
	Port int32
	// Endpoints are listener addresses, NAME://host:port.
	Endpoints []string
	// SecurityProtocols maps a listener's name to its protocol.
	SecurityProtocols map[string]string
	// Rack is empty when none is set.
	Rack string
	// Timestamp is when the broker registered.
	Timestamp time.Time
	// CleanEpoch is the registration that the broker says it left cleanly, or
	// survived without a restart (KIP-966); NoBrokerEpoch if it cannot say so.
	// Zero is written as that.
	CleanEpoch int64
	// LogDirs are the ids of its log directories that work.
	LogDirs []replication.DirID
	// Epoch is the node's czxid; set on reading, ignored on writing.
	Epoch int64
}

// Topic is the content of /brokers/topics/T.
type Topic struct {
	Name string
	ID   TopicID
	// Partitions maps a partition to its assigned replicas, preferred first.
	Partitions map[int32][]BrokerID
	// Adding and Removing hold the replicas of a reassignment under way.
	Adding, Removing map[int32][]BrokerID
	// Target holds the replicas that a reassignment leads to, in order, where it
	// goes one replica at a time; a key of our own.
	Target map[int32][]BrokerID
	// Version is the node's version; −1 on writing means "any".
	Version int32

	unknown map[string]rawJSON
}

// NoLeader stands in the place of a leader while no replica may lead, as in
// Kafka's LeaderAndIsr.
const NoLeader BrokerID = -1

// PartitionState is the content of /brokers/topics/T/partitions/P/state.
type PartitionState struct {
	Leader      BrokerID
	LeaderEpoch int32
	// ISR and ELR are the in-sync replicas and the eligible leaders (KIP-966). What
	// Kafka's isr lacks, the broker epoch and the log directory of a member, stands
	// beside it in keys of our own.
	ISR, ELR        []replication.Member
	ControllerEpoch int32
	// Recovering is set while the leader restores itself after an unclean
	// election (leader_recovery_state 1, KIP-704).
	Recovering bool
	// Version is the node's version, Kafka's partition epoch; set on reading.
	Version int32

	unknown map[string]rawJSON
}

// BrokersOf are the brokers of a set.
func BrokersOf(set []replication.Member) []BrokerID {
	ids := make([]BrokerID, len(set))
	for i := range set {
		ids[i] = set[i].Broker
	}
	return ids
}

// Members are brokers of which nothing more is known.
func Members(brokers ...BrokerID) []replication.Member {
	set := make([]replication.Member, len(brokers))
	for i, b := range brokers {
		set[i] = replication.Member{Broker: b, BrokerEpoch: replication.NoBrokerEpoch}
	}
	return set
}

// Controller is the content of /controller.
type Controller struct {
	BrokerID  BrokerID
	Timestamp time.Time
	// Owner is the session that holds the node; set on reading.
	Owner int64
}

// Fence ties a controller's writes to its election: each is a multi that checks
// the version of /controller_epoch, so a deposed controller cannot write.
type Fence struct {
	// Epoch is the controller epoch.
	Epoch int32
	// Version is the version of /controller_epoch at that epoch.
	Version int32
}

// ProducerIDBlock is the content of /latest_producer_id_block.
type ProducerIDBlock struct {
	Broker BrokerID
	// First and Last bound the block, both inclusive.
	First, Last int64
}

// EntityType is a kind of thing that has dynamic configuration; its value is the
// folder below /config.
type EntityType string

// The entity types of Kafka's ZooKeeper layout.
const (
	Topics  EntityType = "topics"
	Brokers EntityType = "brokers"
	Clients EntityType = "clients"
	Users   EntityType = "users"
	IPs     EntityType = "ips"
)

// DefaultEntity names the default of an entity type, /config/brokers/<default>.
const DefaultEntity = "<default>"

// Change is one entry of /config/changes.
type Change struct {
	// Sequence orders changes; it is the number in the node's name.
	Sequence int64
	Entity   EntityType
	// Name is the entity's name; for users' clients it holds the rest of the
	// path, as in "alice/clients/app".
	Name string
}
