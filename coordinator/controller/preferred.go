package controller

import (
	"context"
	"errors"

	"tidemark/coordinator/znode"
)

// ElectLeaders holds elections; nil partitions mean all of them, with those left
// out of the answer that need none.
func (c *Controller) ElectLeaders(ctx context.Context, kind ElectionType, partitions []TopicPartition) ([]ElectionResult, error) {
	return inOffice(c, ctx, func(ctx context.Context) ([]ElectionResult, error) {
		if err := c.settle(ctx); err != nil {
			return nil, err
		}
		return c.electLeaders(ctx, kind, partitions)
	})
}

func (c *Controller) electLeaders(ctx context.Context, kind ElectionType, partitions []TopicPartition) ([]ElectionResult, error) {
	all := partitions == nil
	if all {
		for _, p := range c.all() {
			partitions = append(partitions, p.tp())
		}
	}
	results := make([]ElectionResult, 0, len(partitions))
	asked := map[int]*partition{}
	for _, tp := range partitions {
		p := c.find(tp)
		err := c.ask(p, kind)
		if all && errors.Is(err, ErrElectionNotNeeded) {
			continue
		}
		if err == nil {
			asked[len(results)] = p
			c.dirty[p] = true
		}
		results = append(results, ElectionResult{tp, err})
	}
	if err := c.settle(ctx); err != nil {
		return nil, err
	}
	for i, p := range asked {
		switch {
		case kind == Preferred && p.state.Leader != p.replicas[0]:
			results[i].Err = ErrPreferredLeaderNotAvailable
		case p.state.Leader == znode.NoLeader:
			results[i].Err = ErrEligibleLeadersNotAvailable
		}
	}
	return results, nil
}

// ask notes that an election is asked for, or says why there is none.
func (c *Controller) ask(p *partition, kind ElectionType) error {
	switch {
	case p == nil:
		return ErrUnknownPartition
	case kind == Unclean && p.state.Leader != znode.NoLeader, kind == Preferred && p.state.Leader == p.replicas[0]:
		return ErrElectionNotNeeded
	case kind == Unclean:
		p.unclean = true
		return nil
	}
	if !c.mayMove(p, c.strategy(p.topic.Name), p.replicas[0]) {
		return ErrPreferredLeaderNotAvailable
	}
	p.move = p.replicas[0]
	return nil
}

// followPreferred does what /admin/preferred_replica_election asks for, and removes
// it whatever came of it.
func (c *Controller) followPreferred(ctx context.Context) error {
	partitions, found, err := c.o.Client.PreferredElections(ctx)
	var bad *znode.FormatError
	switch {
	case errors.As(err, &bad):
		c.log.Error("request for elections is dropped", "error", err)
	case err != nil:
		return err
	case !found:
		return nil
	case len(partitions) > 0:
		results, err := c.electLeaders(ctx, Preferred, partitions)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Err != nil {
				c.log.Info("no preferred election", "topic", r.Topic, "partition", r.Partition, "reason", r.Err)
			}
		}
	}
	return c.o.Client.FinishPreferredElections(ctx, c.fence)
}

// balance moves leadership to preferred leaders where too much of it is elsewhere
// (KafkaController.checkAndTriggerAutoLeaderRebalance). Partitions that are being
// reassigned stay.
func (c *Controller) balance(ctx context.Context) error {
	preferred, elsewhere := map[int32]int{}, map[int32][]TopicPartition{}
	for _, p := range c.all() {
		first := p.replicas[0]
		preferred[first]++
		if p.state.Leader != first && c.find(p.tp()) != nil {
			elsewhere[first] = append(elsewhere[first], p.tp())
		}
	}
	var move []TopicPartition
	for _, id := range sortedKeys(elsewhere) {
		if live, _ := c.live(id); !live || len(elsewhere[id])*100 <= c.o.ImbalancePercent*preferred[id] {
			continue
		}
		for _, tp := range elsewhere[id] {
			if p := c.find(tp); !p.reassigning() && c.mayMove(p, c.strategy(tp.Topic), id) {
				move = append(move, tp)
			}
		}
	}
	if len(move) == 0 {
		return nil
	}
	c.log.Info("leadership is balanced", "partitions", len(move))
	_, err := c.electLeaders(ctx, Preferred, move)
	return err
}
