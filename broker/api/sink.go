package api

import (
	"log/slog"
	"net"
	"strconv"
	"strings"

	"tidemark/broker/groups"
	"tidemark/broker/metadata"
	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
)

// Sink takes the controller's decisions over into the replicas, the metadata
// view and the configuration: what LeaderAndIsr, StopReplica and UpdateMetadata
// requests do between brokers. It is confined to the controller's goroutine.
type Sink struct {
	id       int32
	configs  *Configs
	replicas *replica.Manager
	groups   *groups.Coordinator
	metadata *metadata.Cache
	logger   *slog.Logger
}

// NewSink returns the given broker's sink.
func NewSink(brokerID int32, configs *Configs, replicas *replica.Manager, groups *groups.Coordinator, view *metadata.Cache, logger *slog.Logger) *Sink {
	return &Sink{id: brokerID, configs: configs, replicas: replicas, groups: groups, metadata: view, logger: logger.With("broker", brokerID)}
}

var _ controller.LocalSink = (*Sink)(nil)

// ApplyPartitions first makes the replicas serve, then the coordinators that live on
// them, and then tells clients.
func (k *Sink) ApplyPartitions(states []controller.PartitionState) error {
	mine := make([]replica.State, 0, len(states))
	view := make([]metadata.Update, 0, len(states))
	for _, s := range states {
		mine = append(mine, replica.State{
			Topic: s.Topic, TopicID: s.TopicID, Index: s.Partition,
			Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch,
			Replicas: s.Replicas, ISR: s.ISR,
		})
		view = append(view, metadata.Update{Topic: s.Topic, ID: s.TopicID, Partition: metadata.Partition{
			Index: s.Partition, Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, Replicas: s.Replicas, ISR: s.InSync(),
		}})
	}
	err := k.replicas.Apply(mine).Err()
	for _, s := range states {
		if s.Topic == groups.Topic {
			k.groups.Led(s.Partition, s.Leader, s.LeaderEpoch)
		}
	}
	k.metadata.Apply(metadata.Change{Controller: k.id, Partitions: view})
	return err
}

// StopPartitions first hides the topics and then lets go of the replicas.
func (k *Sink) StopPartitions(partitions []controller.TopicPartition, remove bool) error {
	ids := make([]replica.ID, 0, len(partitions))
	count := make(map[string]int)
	for _, p := range partitions {
		ids = append(ids, replica.ID{Topic: p.Topic, Partition: p.Partition})
		count[p.Topic]++
		if p.Topic == groups.Topic {
			k.groups.Stopped(p.Partition)
		}
	}
	if remove {
		k.forget(count)
	}
	return k.replicas.Stop(ids, remove)
}

// forget drops the topics of which all partitions are removed: they are deleted.
func (k *Sink) forget(removed map[string]int) {
	view := k.metadata.View()
	var names []string
	var gone []metadata.Removal
	for name, count := range removed {
		if t := view.Topic(name); t != nil && count >= len(t.Partitions) {
			names = append(names, name)
			gone = append(gone, metadata.Removal{Topic: name, ID: t.ID})
			k.configs.SetTopic(name, nil)
		}
	}
	k.metadata.Apply(metadata.Change{Controller: k.id, Removed: gone})
	k.groups.TopicsDeleted(names)
}

// ConfigChanged puts a topic's or a broker's dynamic configuration into force.
func (k *Sink) ConfigChanged(entity znode.EntityType, name string, config map[string]string) {
	var err error
	switch entity {
	case znode.Topics:
		if _, err = k.configs.Broker().Topic(config); err != nil {
			break // written by somebody else; what was in force stays
		}
		k.configs.SetTopic(name, config)
		err = k.replicas.Reconfigure(name)
	case znode.Brokers:
		var mine bool
		if mine, err = k.configs.SetBroker(name, config); err == nil && mine {
			err = k.replicas.ReconfigureAll()
		}
	}
	if err != nil {
		k.logger.Error("configuration change has no effect", "entity", entity, "name", name, "error", err)
	}
}

// BrokersChanged replaces the live brokers.
func (k *Sink) BrokersChanged(brokers []znode.Broker) {
	view := make([]metadata.Broker, 0, len(brokers))
	for _, b := range brokers {
		host, port := address(b)
		view = append(view, metadata.Broker{ID: b.ID, Host: host, Port: port, Rack: b.Rack})
	}
	k.metadata.Apply(metadata.Change{Controller: k.id, Brokers: view})
}

// address is where clients reach a broker: its plaintext listener, or the first
// of its endpoints.
func address(b znode.Broker) (host string, port int32) {
	if b.Host != "" && b.Port >= 0 || len(b.Endpoints) == 0 {
		return b.Host, b.Port
	}
	_, hostPort, _ := strings.Cut(b.Endpoints[0], "://")
	host, text, err := net.SplitHostPort(hostPort)
	if err != nil {
		return b.Host, b.Port
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return b.Host, b.Port
	}
	return host, int32(n)
}
