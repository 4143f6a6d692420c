package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"tidemark/coordinator/znode"
)

// configChangeLife is Kafka's changeExpirationMs.
const configChangeLife = 15 * time.Minute

// configs passes configuration on to the Sink, in office or not. It needs no loop:
// a broker's handlers may ask it while the loop waits for them.
type configs struct {
	to Sink

	mu         sync.Mutex // held while configuration is read and passed on
	lastChange int64      // sequence of the last change applied
}

func (f *configs) init(o Options) {
	f.to, f.lastChange = o.Sink, -1
}

// learned passes on what is known already.
func (f *configs) learned(entity znode.EntityType, name string, config map[string]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.to.ConfigChanged(entity, name, config)
}

// loadConfigs passes every entity's configuration on. It notes the last change
// first, so that one made meanwhile is applied again rather than missed.
func (c *Controller) loadConfigs(ctx context.Context) error {
	c.configs.mu.Lock()
	defer c.configs.mu.Unlock()
	changes, err := c.o.Client.ConfigChanges(ctx, 0)
	if err != nil {
		return err
	}
	if len(changes) > 0 {
		c.configs.lastChange = changes[len(changes)-1].Sequence
	}
	for _, entity := range []znode.EntityType{znode.Brokers, znode.Topics, znode.Clients, znode.Users, znode.IPs} {
		names, err := c.o.Client.ConfigNames(ctx, entity)
		if err != nil {
			return err
		}
		if err := c.passOn(ctx, entity, names...); err != nil {
			return err
		}
	}
	return nil
}

// LearnTopics passes the configuration of topics on: that of a new topic is announced
// to nobody. It needs no loop of the Controller: a LeaderAndIsr handler calls it for
// topics that it has no replica of, so that none is led under the wrong strategy. The
// server of an ensemble that this broker talks to may be behind: it is made to catch up
// with what the controller wrote before it gave the order.
func (c *Controller) LearnTopics(ctx context.Context, names []string) error {
	c.configs.mu.Lock()
	defer c.configs.mu.Unlock()
	if err := c.o.Client.CatchUp(ctx); err != nil {
		return err
	}
	return c.passOn(ctx, znode.Topics, names...)
}

// followConfigs passes on what was announced since the last time, until that goes
// through.
func (c *Controller) followConfigs() {
	for c.ctx.Err() == nil {
		err := c.applyConfigChanges(c.ctx)
		if err == nil || c.ctx.Err() != nil {
			return
		}
		c.log.Error("controller cannot apply config changes", "error", err)
		fired := make(chan struct{})
		t := c.o.Clock.AfterFunc(tick, func() { close(fired) })
		select {
		case <-fired:
		case <-c.ctx.Done():
		}
		t.Stop()
	}
}

func (c *Controller) applyConfigChanges(ctx context.Context) error {
	c.configs.mu.Lock()
	defer c.configs.mu.Unlock()
	changes, err := c.o.Client.ConfigChanges(ctx, c.configs.lastChange+1)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if err := c.passOn(ctx, change.Entity, change.Name); err != nil {
			return err
		}
		c.configs.lastChange = change.Sequence
	}
	if len(changes) > 0 && c.elected.Load() {
		c.post(func() { c.reconfigured(changes) })
		return c.o.Client.PurgeConfigChanges(ctx, c.o.Clock.Now().Add(-configChangeLife))
	}
	return nil
}

// reconfigured looks at the partitions again whose elections may go another way.
func (c *Controller) reconfigured(changes []znode.Change) {
	for _, change := range changes {
		switch t := c.topics[change.Name]; {
		case change.Entity == znode.Brokers:
			c.dirtyAll()
		case change.Entity == znode.Topics && t != nil:
			c.dirtyTopic(t)
		}
	}
}

// passOn reads entities and passes them on. Content that nobody can read is logged and
// passed over: it must not hide the changes after it. The configs' mu is held.
func (c *Controller) passOn(ctx context.Context, entity znode.EntityType, names ...string) error {
	results, err := c.o.Client.Configs(ctx, entity, names)
	if err != nil {
		return err
	}
	for i, r := range results {
		if r.Err != nil {
			c.log.Error("configuration is left alone", "entity", string(entity), "name", names[i], "error", r.Err)
			continue
		}
		c.configs.to.ConfigChanged(entity, names[i], r.Config)
	}
	return nil
}

// minISR is the config whose change empties the eligible leaders.
const minISR = "min.insync.replicas"

// AlterConfig replaces the dynamic configuration of one entity by what change
// makes of it, and returns once the Sink of this broker was told. change may be
// called more than once; its error ends the call. Any broker may do this; a change
// of min.insync.replicas is carried out by the controller, whoever it is.
func (c *Controller) AlterConfig(ctx context.Context, entity znode.EntityType, name string, change func(config map[string]string) error) error {
	if entity == znode.Topics {
		if err := ValidateTopicName(name); err != nil {
			return err
		}
		if _, err := c.o.Client.Topic(ctx, name); err != nil {
			if errors.Is(err, znode.ErrNotFound) {
				err = fmt.Errorf("%w: %s", ErrUnknownTopic, name)
			}
			return err
		}
	}
	before, _, err := c.o.Client.Config(ctx, entity, name)
	if err != nil {
		return err
	}
	after := maps.Clone(before)
	if err := change(after); err != nil {
		return err
	}
	if before[minISR] != after[minISR] && c.minISRCounts(entity, name) {
		err = c.alterMinISR(ctx, znode.ConfigRequest{Entity: entity, Name: name, Diff: znode.DiffConfig(before, after)})
	} else {
		err = c.o.Client.UpdateConfig(ctx, entity, name, change)
	}
	if err != nil {
		return err
	}
	return c.applyConfigChanges(ctx)
}

// minISRCounts says whether there may be eligible leaders to be forgotten.
func (c *Controller) minISRCounts(entity znode.EntityType, name string) bool {
	if entity != znode.Topics {
		return entity == znode.Brokers
	}
	spec, cfg := c.o.Replication(name)
	return spec.KeepsELR(cfg.ELR)
}

// alterMinISR has the controller change the configuration.
func (c *Controller) alterMinISR(ctx context.Context, r znode.ConfigRequest) error {
	_, err := inOffice(c, ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, c.changeMinISR(ctx, r) })
	if !errors.Is(err, ErrNotController) {
		return err
	}
	return c.o.Client.RequestConfig(ctx, r)
}

// followConfigRequests changes the configuration that other brokers ask it to.
func (c *Controller) followConfigRequests(ctx context.Context) error {
	requests, err := c.o.Client.ConfigRequests(ctx)
	if err != nil {
		return err
	}
	for _, r := range requests {
		if r.Name != "" {
			if err := c.changeMinISR(ctx, r); err != nil {
				return err
			}
		}
		if err := c.o.Client.FinishConfigRequest(ctx, c.fence, r); err != nil {
			return err
		}
	}
	return nil
}

// changeMinISR empties the eligible leaders in ZooKeeper, then writes the
// configuration, then lets brokers hear of it. In another order a leader that heard
// of a lower min.insync.replicas would acknowledge what the eligible ones do not
// have (KIP-966). The own broker hears of it before this returns: the next election
// goes by the new value.
func (c *Controller) changeMinISR(ctx context.Context, r znode.ConfigRequest) error {
	if err := c.clearELR(ctx, r); err != nil {
		return err
	}
	if err := c.o.Client.UpdateConfig(ctx, r.Entity, r.Name, r.Diff.Apply); err != nil {
		return err
	}
	return c.applyConfigChanges(ctx)
}

// clearELR writes states without eligible leaders until none is left.
func (c *Controller) clearELR(ctx context.Context, r znode.ConfigRequest) error {
	for {
		if err := c.settle(ctx); err != nil {
			return err
		}
		var partitions []*partition
		var states []znode.PartitionState
		for _, p := range c.all() {
			if len(p.state.ELR) == 0 || r.Entity == znode.Topics && p.topic.Name != r.Name || p.topic.deletion != nil {
				continue
			}
			next := p.state
			next.ELR, next.ControllerEpoch = nil, c.fence.Epoch
			partitions, states = append(partitions, p), append(states, next)
			c.dirty[p] = true
		}
		if len(partitions) == 0 {
			return nil
		}
		if err := c.writeStates(ctx, partitions, states); err != nil {
			return err
		}
		if !slices.ContainsFunc(partitions, func(p *partition) bool { return p.reread }) {
			return nil
		}
	}
}
