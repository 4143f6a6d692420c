package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
)

// IncrementalAlterConfigs (44), versions 0 and 1: sets, deletes, appends to or
// subtracts from single settings of topics and brokers (KIP-339).

func incrementalAlterConfigs(s *Server, req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrIncrementalAlterConfigsResponse()
	for _, r := range req.Resources {
		answer := kmsg.NewIncrementalAlterConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		err := s.alterConfig(r.ResourceType, r.ResourceName, req.ValidateOnly, func(settings map[string]string) error {
			return s.increment(r, settings)
		})
		answer.ErrorCode, answer.ErrorMessage = int16(adminCode(err)), message(err)
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

// increment applies a resource's operations in order.
func (s *Server) increment(r kmsg.IncrementalAlterConfigsRequestResource, settings map[string]string) error {
	seen := make(map[string]bool)
	for _, c := range r.Configs {
		if seen[c.Name] {
			return fmt.Errorf("%w: %s is changed twice", errInvalidRequest, c.Name)
		}
		seen[c.Name] = true
		if c.Op == kmsg.IncrementalAlterConfigOpDelete {
			delete(settings, c.Name)
			continue
		}
		if c.Value == nil {
			return fmt.Errorf("%w: %s has no value", errInvalidRequest, c.Name)
		}
		switch c.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			settings[c.Name] = *c.Value
		case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
			if err := s.changeList(r.ResourceType, c, settings); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%w: unknown operation %d on %s", errInvalidRequest, c.Op, c.Name)
		}
	}
	return nil
}

// changeList adds to or takes from a setting that is a list; one that is not set
// starts as what is in force.
func (s *Server) changeList(kind kmsg.ConfigResourceType, c kmsg.IncrementalAlterConfigsRequestResourceConfig, settings map[string]string) error {
	find := config.Find
	if kind == kmsg.ConfigResourceTypeTopic {
		find = config.FindTopic
	}
	d, ok := find(c.Name)
	if !ok || d.Kind != config.List {
		return fmt.Errorf("%w: %s is no list", errInvalidConfig, c.Name)
	}
	current, set := settings[c.Name]
	if !set {
		current = d.Value(s.o.Configs.Broker())
	}
	list := items(current)
	for _, item := range items(*c.Value) {
		at := slices.Index(list, item)
		switch {
		case c.Op == kmsg.IncrementalAlterConfigOpAppend && at < 0:
			list = append(list, item)
		case c.Op == kmsg.IncrementalAlterConfigOpSubtract && at >= 0:
			list = slices.Delete(list, at, at+1)
		}
	}
	settings[c.Name] = strings.Join(list, ",")
	return nil
}

func items(text string) []string {
	var out []string
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}
