package api

import (
	"context"
	"errors"
	"fmt"

	"tidemark/coordinator/controller"
)

// obey says whether the order is of the latest controller, to this life of the broker.
// mu is held.
func (o *Orders) obey(h controller.Header) error {
	if h.ControllerEpoch < o.controllerEpoch {
		return fmt.Errorf("%w: %d, not %d", controller.ErrStaleControllerEpoch, o.controllerEpoch, h.ControllerEpoch)
	}
	if own := o.o.BrokerEpoch(); h.BrokerEpoch != own {
		return fmt.Errorf("%w: it is %d, not %d", controller.ErrStaleBrokerEpoch, own, h.BrokerEpoch)
	}
	o.controllerEpoch = h.ControllerEpoch
	return nil
}

// errOvertaken refuses an order that waited for the metadata store while a later one was
// carried out. A controller that still means it gives it again.
var errOvertaken = errors.New("another order was carried out while the configuration of new topics was read")

// begin lets an order be carried out that may open replicas of new topics, whose
// configuration is read first: nobody waits for the metadata store under mu. later counts
// the orders that must not be carried out in between. Without an error mu is held.
func (o *Orders) begin(ctx context.Context, h controller.Header, partitions []controller.PartitionState, later *uint64) error {
	o.mu.Lock()
	if err := o.obey(h); err != nil {
		o.mu.Unlock()
		return err
	}
	names, before := o.unknown(partitions), *later
	if len(names) == 0 {
		return nil
	}
	o.mu.Unlock()
	if err := o.o.Learn(ctx, names); err != nil {
		return fmt.Errorf("read the configuration of new topics: %w", err)
	}
	o.mu.Lock()
	err := o.obey(h)
	if err == nil && *later != before {
		err = errOvertaken
	}
	if err != nil {
		o.mu.Unlock()
	}
	return err
}

// unknown are the topics of which no replica is here yet. mu is held.
func (o *Orders) unknown(partitions []controller.PartitionState) (names []string) {
	seen := make(map[string]bool)
	for i := range partitions {
		s := &partitions[i]
		if seen[s.Topic] {
			continue
		}
		seen[s.Topic] = true
		if t := o.o.Replicas.Topic(s.Topic); t == nil || t.ID != s.TopicID {
			names = append(names, s.Topic)
		}
	}
	return names
}
