package api

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/znode"
)

// AlterConfigs (33), versions 0 to 2: replaces all dynamic settings of a topic or
// broker. Clients have used IncrementalAlterConfigs since KIP-339.

// configTimeout bounds a change of configuration.
const configTimeout = 30 * time.Second

// configChange makes a new set of dynamic settings out of the current one, in
// place.
type configChange func(settings map[string]string) error

func alterConfigs(s *Server, req *kmsg.AlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrAlterConfigsResponse()
	for _, r := range req.Resources {
		answer := kmsg.NewAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		err := s.alterConfig(r.ResourceType, r.ResourceName, req.ValidateOnly, func(settings map[string]string) error {
			clear(settings)
			for _, c := range r.Configs {
				if c.Value == nil {
					return fmt.Errorf("%w: %s has no value", errInvalidConfig, c.Name)
				}
				settings[c.Name] = *c.Value
			}
			return nil
		})
		answer.ErrorCode, answer.ErrorMessage = int16(adminCode(err)), message(err)
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

// alterConfig changes one resource, or only checks that it could.
func (s *Server) alterConfig(kind kmsg.ConfigResourceType, name string, validateOnly bool, change configChange) error {
	target, err := s.configTarget(kind, name)
	if err != nil {
		return err
	}
	if target.entity == znode.Topics {
		change = s.keepingFixed(change)
	}
	checked := func(settings map[string]string) error {
		if err := change(settings); err != nil {
			return err
		}
		return target.check(settings)
	}
	if validateOnly {
		return checked(target.current())
	}
	ctx, cancel := context.WithTimeout(context.Background(), configTimeout)
	defer cancel()
	return s.o.Controller.AlterConfig(ctx, target.entity, target.name, checked)
}

// configTarget is an entity with dynamic settings.
type configTarget struct {
	entity  znode.EntityType
	name    string
	current func() map[string]string // a copy
	check   func(settings map[string]string) error
}

func (s *Server) configTarget(kind kmsg.ConfigResourceType, name string) (configTarget, error) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		return configTarget{
			entity: znode.Topics, name: name, check: s.validTopic,
			current: func() map[string]string { return copied(s.o.Configs.Overrides(name)) },
		}, s.known(name)
	case kmsg.ConfigResourceTypeBroker:
		own, all := s.o.Configs.brokerLayers()
		t := configTarget{entity: znode.Brokers, name: strconv.Itoa(int(s.o.BrokerID)), check: s.validBroker}
		current := own
		if name == "" {
			t.name, current = znode.DefaultEntity, all
		}
		t.current = func() map[string]string { return copied(current) }
		return t, s.thisBroker(name)
	default:
		return configTarget{}, fmt.Errorf("%w: resources of type %d have no configuration here", errInvalidRequest, kind)
	}
}

func copied(settings map[string]string) map[string]string {
	out := maps.Clone(settings)
	if out == nil {
		out = make(map[string]string)
	}
	return out
}

// validBroker checks dynamic broker settings as a whole.
func (s *Server) validBroker(settings map[string]string) error {
	b, err := s.o.Configs.static.With(settings)
	if err == nil {
		err = s.o.Replicas.CheckConfig(replicaConfig(b, b.TopicDefaults))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errInvalidConfig, err)
	}
	return nil
}
