package broker

import (
	"context"
	"errors"

	"tidemark/broker/api"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
)

// localSink makes orders of what a controller of one broker says.
type localSink struct {
	*api.Orders
	b    *Broker
	live []znode.Broker
}

func (l *localSink) header() controller.Header {
	return controller.Header{Controller: l.b.o.Config.BrokerID, BrokerEpoch: l.b.presence.brokerEpoch()}
}

// ApplyPartitions implements controller.LocalSink.
func (l *localSink) ApplyPartitions(states []controller.PartitionState) error {
	answer, err := l.LeaderAndISR(context.Background(), controller.LeaderAndISR{Header: l.header(), Partitions: states, Live: l.live})
	for _, p := range answer.Partitions {
		err = errors.Join(err, p.Err)
	}
	return errors.Join(err, l.UpdateMetadata(context.Background(), controller.UpdateMetadata{Header: l.header(), Partitions: states, Live: l.live}))
}

// StopPartitions implements controller.LocalSink.
func (l *localSink) StopPartitions(partitions []controller.TopicPartition, remove bool) error {
	stop := controller.StopReplica{Header: l.header()}
	gone := controller.UpdateMetadata{Header: l.header(), Live: l.live}
	for _, p := range partitions {
		t := l.b.view.View().Topic(p.Topic)
		if t == nil {
			continue
		}
		stop.Partitions = append(stop.Partitions, controller.StopPartition{TopicPartition: p, TopicID: t.ID, LeaderEpoch: controller.EpochDuringDelete, Delete: remove})
		gone.Partitions = append(gone.Partitions, controller.PartitionState{TopicPartition: p, TopicID: t.ID, Leader: controller.DeletedLeader})
	}
	err := l.UpdateMetadata(context.Background(), gone)
	each, stopped := l.StopReplica(context.Background(), stop)
	return errors.Join(append(each, err, stopped)...)
}

// BrokersChanged implements controller.LocalSink.
func (l *localSink) BrokersChanged(live []znode.Broker) {
	l.live = live
	_ = l.UpdateMetadata(context.Background(), controller.UpdateMetadata{Header: l.header(), Live: live})
}
