package znode

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tidemark/replication"
)

// encodeBroker writes version 5, that of Kafka 2.7 and later.
func encodeBroker(b Broker) []byte {
	fields := []field{
		{"version", 5}, {"host", b.Host}, {"port", b.Port},
		{"endpoints", append([]string{}, b.Endpoints...)}, {"jmx_port", -1},
		{"timestamp", encodeTime(b.Timestamp)},
	}
	if b.Rack != "" {
		fields = append(fields, field{"rack", b.Rack})
	}
	if b.CleanEpoch > 0 {
		fields = append(fields, field{"clean_epoch", b.CleanEpoch})
	}
	if len(b.LogDirs) > 0 {
		fields = append(fields, field{"log_dirs", encodeDirs(b.LogDirs)})
	}
	protocols := b.SecurityProtocols
	if protocols == nil {
		protocols = map[string]string{}
	}
	return encodeObject(append(fields,
		field{"listener_security_protocol_map", protocols}, field{"features", struct{}{}}), nil)
}

// decodeBroker reads versions 1 to 5; the older ones know only host and port.
func decodeBroker(id BrokerID, data []byte) (Broker, error) {
	b := Broker{ID: id, Port: -1, CleanEpoch: replication.NoBrokerEpoch}
	o, err := parseObject(data)
	if err != nil {
		return b, err
	}
	var version int
	var timestamp string
	var dirs []string
	err = errors.Join(o.take("version", &version, true), o.take("host", &b.Host, false), o.take("port", &b.Port, false),
		o.take("endpoints", &b.Endpoints, false), o.take("timestamp", &timestamp, false), o.take("rack", &b.Rack, false),
		o.take("listener_security_protocol_map", &b.SecurityProtocols, false),
		o.take("clean_epoch", &b.CleanEpoch, false), o.take("log_dirs", &dirs, false))
	if err == nil {
		b.LogDirs, err = decodeDirs(dirs)
	}
	if err != nil {
		return b, err
	}
	if version < 1 {
		return b, fmt.Errorf("version %d is not supported", version)
	}
	if timestamp != "" {
		if b.Timestamp, err = decodeTime(timestamp); err != nil {
			return b, err
		}
	}
	if len(b.Endpoints) == 0 && b.Host != "" {
		b.Endpoints = []string{fmt.Sprintf("PLAINTEXT://%s:%d", b.Host, b.Port)}
	}
	if len(b.SecurityProtocols) == 0 {
		b.SecurityProtocols = map[string]string{}
		for _, e := range b.Endpoints {
			if name, _, ok := strings.Cut(e, "://"); ok {
				b.SecurityProtocols[name] = name
			}
		}
	}
	return b, nil
}

// encodeTopic writes version 3, or 2 for a topic without an id.
func encodeTopic(t Topic) []byte {
	version := 3
	if t.ID.IsZero() {
		version = 2
	}
	fields := []field{{"version", version}}
	if version == 3 {
		fields = append(fields, field{"topic_id", t.ID.String()})
	}
	fields = append(fields, field{"partitions", encodeReplicas(t.Partitions)},
		field{"adding_replicas", encodeReplicas(t.Adding)}, field{"removing_replicas", encodeReplicas(t.Removing)})
	if len(t.Target) > 0 {
		fields = append(fields, field{"target_replicas", encodeReplicas(t.Target)})
	}
	return encodeObject(fields, t.unknown)
}

// decodeTopic reads versions 1 to 3.
func decodeTopic(name string, data []byte) (Topic, error) {
	t := Topic{Name: name}
	o, err := parseObject(data)
	if err != nil {
		return t, err
	}
	var version int
	var id string
	var partitions, adding, removing, target map[string][]BrokerID
	err = errors.Join(o.take("version", &version, true), o.take("topic_id", &id, false), o.take("partitions", &partitions, true),
		o.take("adding_replicas", &adding, false), o.take("removing_replicas", &removing, false), o.take("target_replicas", &target, false))
	if err != nil {
		return t, err
	}
	if version < 1 {
		return t, fmt.Errorf("version %d is not supported", version)
	}
	if id != "" {
		if t.ID, err = ParseTopicID(id); err != nil {
			return t, err
		}
	}
	var e1, e2, e3, e4 error
	t.Partitions, e1 = decodeReplicas(partitions)
	t.Adding, e2 = decodeReplicas(adding)
	t.Removing, e3 = decodeReplicas(removing)
	t.Target, e4 = decodeReplicas(target)
	t.unknown = o.rest()
	return t, errors.Join(e1, e2, e3, e4)
}

func encodeController(c Controller) []byte {
	return encodeObject([]field{
		{"version", 2}, {"brokerid", c.BrokerID},
		{"timestamp", encodeTime(c.Timestamp)}, {"kraftControllerEpoch", -1},
	}, nil)
}

func decodeController(data []byte) (Controller, error) {
	var c Controller
	o, err := parseObject(data)
	if err != nil {
		return c, err
	}
	var timestamp string
	if err := errors.Join(o.take("brokerid", &c.BrokerID, true), o.take("timestamp", &timestamp, false)); err != nil {
		return c, err
	}
	if timestamp != "" {
		c.Timestamp, err = decodeTime(timestamp)
	}
	return c, err
}

func encodeProducerIDBlock(b ProducerIDBlock) []byte {
	return encodeObject([]field{
		{"version", 1}, {"broker", b.Broker},
		{"block_start", strconv.FormatInt(b.First, 10)}, {"block_end", strconv.FormatInt(b.Last, 10)},
	}, nil)
}

func decodeProducerIDBlock(data []byte) (ProducerIDBlock, error) {
	var b ProducerIDBlock
	o, err := parseObject(data)
	if err != nil {
		return b, err
	}
	var first, last string
	err = errors.Join(o.take("broker", &b.Broker, true), o.take("block_start", &first, true), o.take("block_end", &last, true))
	if err != nil {
		return b, err
	}
	var e1, e2 error
	b.First, e1 = strconv.ParseInt(first, 10, 64)
	b.Last, e2 = strconv.ParseInt(last, 10, 64)
	if err := errors.Join(e1, e2); err != nil {
		return b, err
	}
	if b.First < 0 || b.Last < b.First {
		return b, fmt.Errorf("block %d to %d is empty or negative", b.First, b.Last)
	}
	return b, nil
}

func encodeConfig(config map[string]string, unknown map[string]rawJSON) []byte {
	if config == nil {
		config = map[string]string{}
	}
	return encodeObject([]field{{"version", 1}, {"config", config}}, unknown)
}

func decodeConfig(data []byte) (config map[string]string, unknown map[string]rawJSON, err error) {
	config = map[string]string{}
	if len(data) == 0 {
		return config, nil, nil
	}
	o, err := parseObject(data)
	if err != nil {
		return nil, nil, err
	}
	var version int
	if err := errors.Join(o.take("version", &version, true), o.take("config", &config, true)); err != nil {
		return nil, nil, err
	}
	return config, o.rest(), nil
}

func encodeChange(c Change) []byte {
	return encodeObject([]field{{"version", 2}, {"entity_path", string(c.Entity) + "/" + c.Name}}, nil)
}

// decodeChange reads version 2 and the older version 1, which names the entity
// in two keys.
func decodeChange(data []byte) (Change, error) {
	var c Change
	o, err := parseObject(data)
	if err != nil {
		return c, err
	}
	var version int
	var path, kind, name string
	err = errors.Join(o.take("version", &version, true), o.take("entity_path", &path, false),
		o.take("entity_type", &kind, false), o.take("entity_name", &name, false))
	if err != nil {
		return c, err
	}
	if version == 2 {
		kind, name, _ = strings.Cut(path, "/")
	}
	c.Entity, c.Name = EntityType(kind), name
	switch c.Entity {
	case Topics, Brokers, Clients, Users, IPs:
	default:
		return c, fmt.Errorf("entity type %q is unknown", kind)
	}
	if name == "" {
		return c, errors.New("entity has no name")
	}
	return c, nil
}
