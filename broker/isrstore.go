package broker

import (
	"context"
	"errors"
	"fmt"

	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// writeStates is isr.update=zookeeper: the leader writes its partition's state itself,
// at the version that it knows, and tells the controller afterwards (Kafka before 2.7).
// It answers as the controller would. The server of an ensemble that it reads from may
// not have yet what the controller told this broker: it catches up first, or the leader
// would be called outdated and wait for news that it has had.
func (b *Broker) writeStates(ctx context.Context, proposals []controller.Proposal) ([]controller.Outcome, error) {
	if err := b.client.CatchUp(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]controller.Outcome, len(proposals))
	var written []znode.TopicPartition
	for i := range proposals {
		var changed bool
		if outcomes[i], changed = b.writeState(ctx, &proposals[i]); changed {
			written = append(written, znode.TopicPartition{Topic: proposals[i].Topic, Partition: proposals[i].Partition})
		}
	}
	if len(written) == 0 {
		return outcomes, nil
	}
	if err := b.client.AnnounceISRChange(ctx, written); err != nil {
		b.o.Logger.Warn("the controller was not told of in-sync sets", "error", err)
	}
	return outcomes, nil
}

// nextELR are the eligible leaders beside a new in-sync set, where the strategy keeps any
// (sync does always): who left it while it is too small, and nobody else. One that stayed
// among them would be elected for records that it never got.
func (b *Broker) nextELR(tp znode.TopicPartition, before znode.PartitionState, isr []replication.Member) ([]replication.Member, error) {
	spec, cfg := b.strategyOf(tp.Topic)
	if !spec.KeepsELR(cfg.ELR) {
		return before.ELR, nil
	}
	var replicas int
	if t := b.view.View().Topic(tp.Topic); t != nil {
		p, _ := t.Partition(tp.Partition)
		replicas = len(p.Replicas)
	}
	if replicas == 0 {
		return nil, fmt.Errorf("the replicas of %s are not known yet", tp)
	}
	return replication.NextELR(before.ISR, before.ELR, isr, cfg.MinISR, replicas), nil
}

// writeState writes one state. It is read first, because other keys of it are kept.
func (b *Broker) writeState(ctx context.Context, p *controller.Proposal) (o controller.Outcome, changed bool) {
	tp := znode.TopicPartition{Topic: p.Topic, Partition: p.Partition}
	s, err := b.client.PartitionState(ctx, tp)
	if err != nil {
		return controller.Outcome{Err: fmt.Errorf("read the state of %s: %w", tp, err)}, false
	}
	if s.Leader != b.o.Config.BrokerID || s.LeaderEpoch != p.LeaderEpoch {
		return controller.Outcome{Err: controller.ErrStaleState}, false
	}
	if s.Version == p.PartitionEpoch {
		if s.ELR, err = b.nextELR(tp, s, p.ISR); err != nil {
			return controller.Outcome{Err: err}, false
		}
		s.ISR, s.Recovering = p.ISR, p.Recovering
		s.Version, err = b.client.UpdateISR(ctx, tp, s)
		switch {
		case errors.Is(err, znode.ErrVersion):
			return controller.Outcome{Err: controller.ErrStaleState}, false
		case err != nil:
			return controller.Outcome{Err: err}, false
		}
		changed = true
	}
	// Another version under this leader is this broker's own earlier write.
	return controller.Outcome{State: controller.PartitionState{
		TopicPartition: tp, TopicID: p.TopicID, Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Version, ISR: s.ISR, ELR: s.ELR,
	}}, changed
}
