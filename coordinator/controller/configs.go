package controller

import (
	"context"
	"errors"
	"fmt"

	"tidemark/coordinator/znode"
)

// loadConfigs passes every entity's configuration on. It notes the last change
// first, so that one made meanwhile is applied again rather than missed.
func (c *Controller) loadConfigs(ctx context.Context) error {
	changes, err := c.o.Client.ConfigChanges(ctx, 0)
	if err != nil {
		return err
	}
	c.lastChange = -1
	if len(changes) > 0 {
		c.lastChange = changes[len(changes)-1].Sequence
	}
	for _, entity := range []znode.EntityType{znode.Brokers, znode.Topics, znode.Clients, znode.Users, znode.IPs} {
		names, err := c.o.Client.ConfigNames(ctx, entity)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := c.tellConfig(ctx, entity, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyConfigChanges passes on what was announced since the last time.
func (c *Controller) applyConfigChanges(ctx context.Context) error {
	changes, err := c.o.Client.ConfigChanges(ctx, c.lastChange+1)
	if err != nil {
		return err
	}
	for _, change := range changes {
		if err := c.tellConfig(ctx, change.Entity, change.Name); err != nil {
			return err
		}
		c.lastChange = change.Sequence
	}
	if len(changes) > 0 && c.elected.Load() {
		return c.o.Client.PurgeConfigChanges(ctx, c.o.Clock.Now().Add(-configChangeLife))
	}
	return nil
}

// tellConfig reads one entity and passes it on. Content that nobody can read is
// logged and passed over: it must not hide the changes after it.
func (c *Controller) tellConfig(ctx context.Context, entity znode.EntityType, name string) error {
	config, _, err := c.o.Client.Config(ctx, entity, name)
	var bad *znode.FormatError
	if errors.As(err, &bad) {
		c.log.Error("configuration is left alone", "entity", string(entity), "name", name, "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	c.o.Sink.ConfigChanged(entity, name, config)
	return nil
}

// AlterConfig replaces the dynamic configuration of one entity by what change
// makes of it, and returns once the Sink of this broker was told. change may be
// called more than once; its error ends the call. Any broker may do this.
func (c *Controller) AlterConfig(ctx context.Context, entity znode.EntityType, name string, change func(config map[string]string) error) error {
	return c.call(ctx, func(ctx context.Context) error {
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
		if err := c.o.Client.UpdateConfig(ctx, entity, name, change); err != nil {
			return err
		}
		return c.applyConfigChanges(ctx)
	})
}
