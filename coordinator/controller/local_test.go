package controller

import (
	"context"
	"errors"
	"sync"

	"tidemark/coordinator/znode"
)

// localPeers is the one broker of a cluster of one.
type localPeers struct {
	sink *sink
	mu   sync.Mutex // one call of the sink at a time
}

func (l *localPeers) SetBrokers([]znode.Broker) {}

func (l *localPeers) LeaderAndISR(_ context.Context, _ int32, r LeaderAndISR) (LeaderAndISRAnswer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(r.Partitions) == 0 {
		return LeaderAndISRAnswer{}, nil
	}
	return LeaderAndISRAnswer{Partitions: make([]PartitionAnswer, len(r.Partitions))}, l.sink.ApplyPartitions(r.Partitions)
}

func (l *localPeers) StopReplica(_ context.Context, _ int32, r StopReplica) ([]error, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var partitions []TopicPartition
	for _, p := range r.Partitions {
		partitions = append(partitions, p.TopicPartition)
	}
	return make([]error, len(partitions)), l.sink.StopPartitions(partitions, true)
}

func (l *localPeers) UpdateMetadata(_ context.Context, _ int32, r UpdateMetadata) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sink.BrokersChanged(r.Live)
	return nil
}

func (l *localPeers) FenceReplica(context.Context, int32, FenceReplica) (FenceAnswer, error) {
	return FenceAnswer{}, errors.New("a cluster of one fences nobody")
}

func (l *localPeers) Committed(context.Context, int32, Committed) (bool, error) { return true, nil }
