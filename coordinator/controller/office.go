package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tidemark/coordinator/controller/election"
	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// seekOffice gives the office up if its session is gone, and takes it if nobody
// has it.
func (c *Controller) seekOffice(ctx context.Context) error {
	session := c.o.Client.Session()
	if c.elected.Load() && session.ID != c.session {
		c.depose("its session ended")
	}
	holder, err := c.o.Client.Controller(ctx)
	switch {
	case err == nil && c.elected.Load():
		if holder.Owner != c.session {
			c.depose("another broker was elected")
		}
		return nil
	case err == nil:
		return nil // its end will be told by the watch
	case !errors.Is(err, znode.ErrNotFound):
		return err
	}
	if c.elected.Load() {
		c.depose("somebody removed /controller")
	}
	fence, err := c.o.Client.ElectController(ctx, c.o.BrokerID, c.o.Clock.Now())
	if errors.Is(err, znode.ErrControllerExists) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.takeOffice(ctx, fence)
}

// takeOffice re-reads everything under the new epoch and passes it on, since the
// controller before may have died between any two steps.
func (c *Controller) takeOffice(ctx context.Context, fence znode.Fence) error {
	holder, err := c.o.Client.Controller(ctx)
	if err != nil {
		return fmt.Errorf("take office: %w", err)
	}
	c.fence, c.session = fence, holder.Owner
	c.topics = map[string]*topic{}
	c.elected.Store(true)
	c.log.Info("elected controller", "broker", c.o.BrokerID, "epoch", fence.Epoch)
	if err := c.assume(ctx); err != nil {
		// In office without knowing the cluster is worse than out of it.
		c.depose(err.Error())
		return errors.Join(err, c.o.Client.ResignController(ctx, fence))
	}
	return nil
}

func (c *Controller) assume(ctx context.Context) error {
	if err := c.loadBrokers(ctx); err != nil {
		return err
	}
	if err := c.loadTopics(ctx); err != nil {
		return err
	}
	if err := c.followDeletions(ctx); err != nil {
		return err
	}
	if err := c.electOffline(ctx); err != nil {
		return err
	}
	if err := c.apply(c.allStates()); err != nil {
		return err
	}
	return c.o.Client.PurgeConfigChanges(ctx, c.o.Clock.Now().Add(-configChangeLife))
}

// configChangeLife is Kafka's changeExpirationMs.
const configChangeLife = 15 * time.Minute

func (c *Controller) depose(reason string) {
	c.elected.Store(false)
	c.log.Info("no longer controller", "broker", c.o.BrokerID, "epoch", c.fence.Epoch, "reason", reason)
}

// resign gives the office back at the end, so that another broker need not wait
// for the session to expire.
func (c *Controller) resign() {
	if !c.elected.Load() || !c.o.Client.Session().Connected {
		return
	}
	c.elected.Store(false)
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := c.o.Client.ResignController(ctx, c.fence); err != nil {
		c.log.Warn("cannot resign as controller", "error", err)
	}
}

// checked turns the discovery of being fenced into leaving office.
func (c *Controller) checked(err error) error {
	if !errors.Is(err, znode.ErrFenced) {
		return err
	}
	if c.elected.Load() {
		c.depose("fenced by a newer epoch")
	}
	return fmt.Errorf("%w: %w", ErrNotController, err)
}

// inOffice runs f on the loop if this broker is the controller.
func (c *Controller) inOffice(ctx context.Context, f func(context.Context) error) error {
	return c.call(ctx, func(ctx context.Context) error {
		if !c.elected.Load() {
			return ErrNotController
		}
		return c.checked(f(ctx))
	})
}

func (c *Controller) loadBrokers(ctx context.Context) error {
	brokers, err := c.o.Client.Brokers(ctx)
	if err != nil {
		return err
	}
	c.brokers = brokers
	c.o.Sink.(LocalSink).BrokersChanged(slices.Clone(brokers))
	return nil
}

func (c *Controller) live() []int32 {
	ids := make([]int32, 0, len(c.brokers))
	for _, b := range c.brokers {
		ids = append(ids, b.ID)
	}
	return ids
}

// followBrokers re-reads the brokers and gives new leaders to what the dead led.
func (c *Controller) followBrokers(ctx context.Context) error {
	if err := c.loadBrokers(ctx); err != nil {
		return err
	}
	if !c.elected.Load() {
		return nil
	}
	return c.electOffline(ctx)
}

// electOffline elects a leader for every partition whose leader is not live and
// passes the new states on.
func (c *Controller) electOffline(ctx context.Context) error {
	live := c.live()
	var changed []PartitionState
	for _, name := range c.topicNames() {
		t := c.topics[name]
		for _, p := range sortedKeys(t.states) {
			old := t.states[p]
			if slices.Contains(live, old.Leader) && replication.Contains(old.ISR, old.Leader) {
				continue
			}
			d := election.Clean(election.State{Replicas: t.Partitions[p], ISR: znode.BrokersOf(old.ISR), Live: live})
			if d.Leader == old.Leader {
				continue
			}
			next := old
			next.Leader, next.ISR = d.Leader, znode.Members(d.ISR...)
			next.LeaderEpoch++
			next.ControllerEpoch = c.fence.Epoch
			version, err := c.o.Client.SetPartitionState(ctx, c.fence, TopicPartition{Topic: name, Partition: p}, next)
			if err != nil {
				return err
			}
			next.Version = version
			t.states[p] = next
			changed = append(changed, t.state(p, false))
		}
	}
	return c.apply(changed)
}

func (c *Controller) apply(states []PartitionState) error {
	if len(states) == 0 {
		return nil
	}
	if err := c.o.Sink.(LocalSink).ApplyPartitions(states); err != nil {
		return fmt.Errorf("apply %d partitions: %w", len(states), err)
	}
	return nil
}
