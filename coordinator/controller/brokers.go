package controller

import (
	"context"
	"slices"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// broker is a live broker in one registration.
type broker struct {
	znode.Broker
	sender *sender
}

// loadBrokers reads who is live. A broker in another registration is a new one: it
// is told everything again (C11).
func (c *Controller) loadBrokers(ctx context.Context) error {
	read, err := c.o.Client.Brokers(ctx)
	if err != nil {
		return err
	}
	c.o.Peers.SetBrokers(slices.Clone(read))
	now := map[int32]*broker{}
	for _, b := range read {
		if old := c.brokers[b.ID]; old != nil && old.Epoch == b.Epoch {
			old.Broker = b
			now[b.ID] = old
			continue
		}
		now[b.ID] = &broker{b, c.newSender(b)}
		c.log.Info("broker is live", "broker", b.ID, "broker_epoch", b.Epoch)
	}
	for id, old := range c.brokers {
		if now[id] != old {
			old.sender.stop()
			c.left(old)
		}
	}
	c.brokers = now
	for _, b := range c.brokers {
		b.sender.setLive(read)
	}
	return nil
}

// left forgets what is known of a registration that ended.
func (c *Controller) left(old *broker) {
	c.log.Info("broker left", "broker", old.ID, "broker_epoch", old.Epoch)
	if c.leaving[old.ID] == old.Epoch {
		delete(c.leaving, old.ID)
	}
	for _, t := range c.topics {
		t.deletion.abandon(old.ID)
	}
}

// followBrokers re-reads the brokers and gives new leaders to what the dead led.
func (c *Controller) followBrokers(ctx context.Context) error {
	if err := c.loadBrokers(ctx); err != nil {
		return err
	}
	for _, p := range c.all() {
		p.isNew = p.isNew && !p.exists // who registers now was not there when it was new
	}
	c.dirtyAll()
	c.signal(deletionsEvent)
	return c.tellStrays(ctx)
}

func (c *Controller) dirtyAll() {
	for _, t := range c.topics {
		c.dirtyTopic(t)
	}
}

func (c *Controller) dirtyTopic(t *topic) {
	for _, p := range t.partitions {
		c.dirty[p] = true
	}
}

// liveBrokers are those with a registration that do not shut down, in order.
func (c *Controller) liveBrokers() []int32 {
	var ids []int32
	for _, id := range sortedKeys(c.brokers) {
		if live, _ := c.live(id); live {
			ids = append(ids, id)
		}
	}
	return ids
}

// live says whether a broker is registered and not about to leave.
func (c *Controller) live(id int32) (live bool, epoch int64) {
	b := c.brokers[id]
	if b == nil {
		return false, replication.NoBrokerEpoch
	}
	return c.leaving[id] != b.Epoch, b.Epoch
}

// racks maps brokers to their racks; nil unless every one has one.
func (c *Controller) racks() map[int32]string {
	racks := map[int32]string{}
	for id, b := range c.brokers {
		if b.Rack == "" {
			return nil
		}
		racks[id] = b.Rack
	}
	return racks
}

// ControlledShutdown takes leadership away from a broker that is about to stop,
// and returns what it leads still; empty means that it may stop. It is asked
// again until then. What no other replica may lead stays where it is.
func (c *Controller) ControlledShutdown(ctx context.Context, id int32, brokerEpoch int64) (remaining []TopicPartition, err error) {
	_, err = inOffice(c, ctx, func(ctx context.Context) (struct{}, error) {
		b := c.brokers[id]
		if b == nil || b.Epoch != brokerEpoch {
			return struct{}{}, ErrStaleBrokerEpoch
		}
		if c.leaving[id] != brokerEpoch {
			c.log.Info("broker shuts down", "broker", id, "broker_epoch", brokerEpoch)
		}
		c.leaving[id] = brokerEpoch
		c.dirtyAll()
		return struct{}{}, nil
	})
	if err != nil {
		return nil, err
	}
	return inOffice(c, ctx, func(context.Context) ([]TopicPartition, error) {
		var led []TopicPartition
		for _, p := range c.all() {
			if p.state.Leader == id && c.othersLive(p, id) {
				led = append(led, p.tp())
			}
		}
		return led, nil
	})
}

func (c *Controller) othersLive(p *partition, id int32) bool {
	return slices.ContainsFunc(p.replicas, func(r int32) bool {
		live, _ := c.live(r)
		return r != id && live
	})
}
