package api

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/config"
)

// DescribeConfigs (32), versions 0 to 4: settings of topics and brokers with where
// each comes from. 1 brought sources and synonyms (KIP-226), 3 types and
// documentation (KIP-569). Null or no names ask for all.

// configEntry is one setting with all that can be told about it.
type configEntry = kmsg.DescribeConfigsResponseResourceConfig

func describeConfigs(s *Server, req *kmsg.DescribeConfigsRequest) kmsg.Response {
	resp := kmsg.NewPtrDescribeConfigsResponse()
	for _, r := range req.Resources {
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = r.ResourceType, r.ResourceName
		entries, err := s.describe(r.ResourceType, r.ResourceName)
		answer.ErrorCode, answer.ErrorMessage = int16(adminCode(err)), message(err)
		for _, e := range entries {
			if len(r.ConfigNames) > 0 && !slices.Contains(r.ConfigNames, e.Name) {
				continue
			}
			if !req.IncludeSynonyms {
				e.ConfigSynonyms = nil
			}
			if !req.IncludeDocumentation {
				e.Documentation = nil
			}
			answer.Configs = append(answer.Configs, e)
		}
		resp.Resources = append(resp.Resources, answer)
	}
	return resp
}

func (s *Server) describe(kind kmsg.ConfigResourceType, name string) ([]configEntry, error) {
	switch kind {
	case kmsg.ConfigResourceTypeTopic:
		if err := s.known(name); err != nil {
			return nil, err
		}
		return s.topicConfigs(s.o.Configs.Overrides(name)), nil
	case kmsg.ConfigResourceTypeBroker:
		if err := s.thisBroker(name); err != nil {
			return nil, err
		}
		return s.brokerConfigs(name), nil
	default:
		return nil, fmt.Errorf("%w: resources of type %d have no configuration here", errInvalidRequest, kind)
	}
}

// thisBroker accepts this broker's id, and the empty name of the default of all
// brokers.
func (s *Server) thisBroker(name string) error {
	if name == "" || name == strconv.Itoa(int(s.o.BrokerID)) {
		return nil
	}
	return fmt.Errorf("%w: this is broker %d, not %q", errInvalidRequest, s.o.BrokerID, name)
}

// topicConfigs describes a topic with the given overrides.
func (s *Server) topicConfigs(overrides map[string]string) []configEntry {
	t := inForce(s.o.Configs.Broker(), overrides)
	var out []configEntry
	for _, d := range config.TopicDefs() {
		e := entry(d, d.TopicName, d.TopicValue(&t))
		e.ReadOnly = d.Fixed
		if value, set := overrides[d.TopicName]; set {
			e.ConfigSynonyms = append(e.ConfigSynonyms, synonym(d.TopicName, value, kmsg.ConfigSourceDynamicTopicConfig))
		}
		e.ConfigSynonyms = append(e.ConfigSynonyms, s.brokerSynonyms(d)...)
		e.Source = e.ConfigSynonyms[0].Source
		e.IsDefault = e.Source == kmsg.ConfigSourceDefaultConfig
		out = append(out, e)
	}
	return out
}

// brokerConfigs describes this broker, or with an empty name the dynamic defaults
// of all brokers, of which only what is set is listed.
func (s *Server) brokerConfigs(name string) []configEntry {
	b := s.o.Configs.Broker()
	_, all := s.o.Configs.brokerLayers()
	var out []configEntry
	for _, d := range config.Defs() {
		e := entry(d, d.Name, d.Value(b))
		e.ReadOnly = !d.Dynamic
		e.ConfigSynonyms = s.brokerSynonyms(d)
		if name == "" {
			value, set := all[d.Name]
			if !set {
				continue
			}
			e.Value = &value
			e.ConfigSynonyms = []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym{
				synonym(d.Name, value, kmsg.ConfigSourceDynamicDefaultBrokerConfig)}
		}
		e.Source = e.ConfigSynonyms[0].Source
		e.IsDefault = e.Source == kmsg.ConfigSourceDefaultConfig
		out = append(out, e)
	}
	return out
}

func entry(d config.Def, name, value string) configEntry {
	e := kmsg.NewDescribeConfigsResponseResourceConfig()
	e.Name, e.Value, e.ConfigType = name, &value, configType(d.Kind)
	doc := d.Doc
	e.Documentation = &doc
	return e
}

// brokerSynonyms lists the values a setting has in the broker's layers, strongest
// first; the default is always there.
func (s *Server) brokerSynonyms(d config.Def) []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	own, all := s.o.Configs.brokerLayers()
	var out []kmsg.DescribeConfigsResponseResourceConfigConfigSynonym
	if value, set := own[d.Name]; set {
		out = append(out, synonym(d.Name, value, kmsg.ConfigSourceDynamicBrokerConfig))
	}
	if value, set := all[d.Name]; set {
		out = append(out, synonym(d.Name, value, kmsg.ConfigSourceDynamicDefaultBrokerConfig))
	}
	static := s.o.Configs.static
	if origin := static.Origin(d.Name); origin.Source != config.SourceDefault {
		out = append(out, synonym(origin.Name, d.Value(static), kmsg.ConfigSourceStaticBrokerConfig))
	}
	return append(out, synonym(d.Name, d.Default, kmsg.ConfigSourceDefaultConfig))
}

func synonym(name, value string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfigConfigSynonym {
	y := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
	y.Name, y.Value, y.Source = name, &value, source
	return y
}

func configType(k config.Kind) kmsg.ConfigType {
	switch k {
	case config.Bool:
		return kmsg.ConfigTypeBoolean
	case config.Int:
		return kmsg.ConfigTypeInt
	case config.Long:
		return kmsg.ConfigTypeLong
	case config.Double:
		return kmsg.ConfigTypeDouble
	case config.List:
		return kmsg.ConfigTypeList
	default:
		return kmsg.ConfigTypeString
	}
}

// known checks that a topic exists.
func (s *Server) known(topic string) error {
	if s.o.Metadata.View().Topic(topic) == nil {
		return fmt.Errorf("%w: %q", errUnknownTopic, topic)
	}
	return nil
}
