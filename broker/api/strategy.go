package api

import (
	"fmt"

	"tidemark/broker/config"
)

// A topic keeps the replication strategy that it was created with: its replicas
// would otherwise disagree about what is safe. So the strategy is written down at
// creation, unless it is defaultStrategy, and a topic that names none has that one
// whatever the broker's default is by now.

// strategyName is the setting, defaultStrategy its default.
const (
	strategyName    = "replication.strategy"
	defaultStrategy = "isr"
)

// inForce is what the overrides of a topic that exists mean. Overrides that are not
// valid, written by somebody else into ZooKeeper, leave the defaults.
func inForce(b *config.Broker, overrides map[string]string) config.Topic {
	t, err := b.Topic(overrides)
	if err != nil {
		t = b.TopicDefaults
	}
	if _, named := overrides[strategyName]; !named {
		t.Strategy = defaultStrategy
	}
	return t
}

// noteStrategy enters the broker's default strategy into the overrides of a topic
// that is to be created.
func noteStrategy(b *config.Broker, overrides map[string]string) map[string]string {
	if _, named := overrides[strategyName]; named || b.TopicDefaults.Strategy == defaultStrategy {
		return overrides
	}
	if overrides == nil {
		overrides = make(map[string]string)
	}
	overrides[strategyName] = b.TopicDefaults.Strategy
	return overrides
}

// keepingFixed makes of a change to a topic's overrides one that leaves the strategy
// alone, and refuses another one. Who replaces all settings need not know it.
func (s *Server) keepingFixed(change configChange) configChange {
	return func(settings map[string]string) error {
		before := copied(settings)
		if err := change(settings); err != nil {
			return err
		}
		own, named := before[strategyName]
		if !named {
			own, before[strategyName] = defaultStrategy, defaultStrategy
		}
		if _, set := settings[strategyName]; !set {
			settings[strategyName] = own
		}
		if err := s.o.Configs.Broker().CheckAltered(before, settings); err != nil {
			return fmt.Errorf("%w: %w", errInvalidConfig, err)
		}
		if !named {
			delete(settings, strategyName)
		}
		return nil
	}
}
