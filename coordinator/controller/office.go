package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// watchSession ends the term at once when its session is gone, whatever the loop is
// doing.
func (c *Controller) watchSession() {
	for {
		changed := c.o.Client.SessionChanged()
		session := c.o.Client.Session().ID
		c.termMu.Lock()
		if c.endTerm != nil && session != c.session {
			c.elected.Store(false)
			c.endTerm()
		}
		c.termMu.Unlock()
		c.signal(officeEvent)
		select {
		case <-changed:
		case <-c.ctx.Done():
			return
		}
	}
}

// watchLease ends the term where the session may have ended without this process
// having heard of it: somebody else may be in office. Nothing could be written any
// more, but whoever asks would wait for that.
func (c *Controller) watchLease() {
	if c.lease.Holds() {
		c.leased.Store(true)
		return
	}
	if c.leased.Load() {
		c.lapse()
	}
}

// lapse ends the term; the loop looks who is in office.
func (c *Controller) lapse() {
	c.termMu.Lock()
	defer c.termMu.Unlock()
	if c.endTerm != nil {
		c.elected.Store(false)
		c.endTerm()
		c.signal(officeEvent)
	}
}

// seekOffice gives the office up if its session is gone, and takes it if nobody
// has it.
func (c *Controller) seekOffice(ctx context.Context) error {
	if c.term != nil && (c.term.Err() != nil || c.o.Client.Session().ID != c.session) {
		c.depose("its session ended, or may have")
	}
	holder, err := c.o.Client.Controller(ctx)
	switch {
	case err == nil:
		c.controller.Store(holder.BrokerID)
		if c.elected.Load() && holder.Owner != c.session {
			c.depose("another broker was elected")
		}
		if c.elected.Load() || holder.Owner != c.o.Client.Session().ID {
			return nil // its end will be told by the watch
		}
		// It is ours: an answer got lost, or the term was ended for want of news.
	case !errors.Is(err, znode.ErrNotFound):
		return err
	default:
		c.controller.Store(replication.NoBroker)
		if c.elected.Load() {
			c.depose("somebody removed /controller")
		}
	}
	if c.o.Registered != nil && !c.o.Registered() {
		c.retry |= officeEvent
		return nil
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
	c.forget()
	c.fence = fence
	c.termMu.Lock()
	c.session = holder.Owner
	c.leased.Store(false)
	c.term, c.endTerm = context.WithCancel(c.ctx)
	c.elected.Store(true)
	c.termMu.Unlock()
	c.controller.Store(c.o.BrokerID)
	c.log.Info("elected controller", "broker", c.o.BrokerID, "epoch", fence.Epoch)
	if err := c.assume(c.term); err != nil {
		// In office without knowing the cluster is worse than out of it.
		c.depose(err.Error())
		return errors.Join(err, c.o.Client.ResignController(ctx, fence))
	}
	return nil
}

// assume is what a new controller does first (KafkaController.onControllerFailover).
func (c *Controller) assume(ctx context.Context) error {
	for _, f := range []func(context.Context) error{
		c.loadBrokers, c.loadStrays, c.loadTopics, c.tellStrays, c.followISRChanges, c.followConfigRequests,
		c.followDeletions, c.followReassignments, c.settle, c.followPreferred, c.followLogDirs,
	} {
		if err := f(ctx); err != nil {
			return err
		}
	}
	return c.o.Client.PurgeConfigChanges(ctx, c.o.Clock.Now().Add(-configChangeLife))
}

// forget drops everything that belongs to an office.
func (c *Controller) forget() {
	for _, b := range c.brokers {
		b.sender.stop()
	}
	c.brokers, c.topics, c.dirty = map[int32]*broker{}, map[string]*topic{}, map[*partition]bool{}
	c.stale, c.passed, c.leaving = map[string]bool{}, map[string]bool{}, map[int32]int64{}
	c.wanted, c.strays, c.retry = nil, nil, 0
}

func (c *Controller) depose(reason string) {
	c.termMu.Lock()
	c.elected.Store(false)
	if c.endTerm != nil {
		c.endTerm()
	}
	c.term, c.endTerm, c.session = nil, nil, 0
	c.termMu.Unlock()
	c.controller.CompareAndSwap(c.o.BrokerID, replication.NoBroker)
	c.log.Info("no longer controller", "broker", c.o.BrokerID, "epoch", c.fence.Epoch, "reason", reason)
	c.forget()
}

// resign gives the office back at the end, so that another broker need not wait
// for the session to expire.
func (c *Controller) resign() {
	if c.term == nil {
		return
	}
	fence := c.fence
	c.depose("it is closed")
	if !c.o.Client.Session().Connected {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := c.o.Client.ResignController(ctx, fence); err != nil {
		c.log.Warn("cannot resign as controller", "error", err)
	}
}

// checked turns the discovery of being fenced into leaving office.
func (c *Controller) checked(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, znode.ErrFenced):
		if c.term != nil {
			c.depose("fenced by a newer epoch")
		}
		c.signal(officeEvent)
		return fmt.Errorf("%w: %w", ErrNotController, err)
	case c.term != nil && c.term.Err() != nil && c.ctx.Err() == nil:
		c.depose("its session ended")
		c.signal(officeEvent)
		return fmt.Errorf("%w: %w", ErrNotController, err)
	}
	return err
}
