package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// CreateTopics (19), versions 0 to 7. 1 brought validate_only, 4 defaults for −1
// (KIP-464), 5 counts and configurations in the response (KIP-525), 7 topic ids.

// asDefault asks for the broker's default count.
const asDefault = -1

// requestTimeout bounds an operation by what the client is ready to wait.
func requestTimeout(timeoutMs int32) (context.Context, context.CancelFunc) {
	d := time.Duration(max(timeoutMs, 0)) * time.Millisecond
	if d == 0 {
		d = creationTimeout // Kafka starts the work even for a client that does not wait
	}
	return context.WithTimeout(context.Background(), d)
}

func createTopics(s *Server, req *kmsg.CreateTopicsRequest) kmsg.Response {
	ctx, cancel := requestTimeout(req.TimeoutMillis)
	defer cancel()
	resp := kmsg.NewPtrCreateTopicsResponse()
	count := make(map[string]int)
	for _, t := range req.Topics {
		count[t.Topic]++
	}
	for _, t := range req.Topics {
		switch count[t.Topic] {
		case 0: // answered already
		case 1:
			resp.Topics = append(resp.Topics, s.createTopic(ctx, &t, req.ValidateOnly))
		default:
			resp.Topics = append(resp.Topics, createFailed(t.Topic, wire.InvalidRequest, fmt.Errorf("topic %q is named twice", t.Topic)))
		}
		count[t.Topic] = 0
	}
	return resp
}

func createFailed(name string, code wire.ErrorCode, err error) kmsg.CreateTopicsResponseTopic {
	topic := kmsg.NewCreateTopicsResponseTopic()
	topic.Topic, topic.ErrorCode, topic.ErrorMessage = name, int16(code), message(err)
	topic.NumPartitions, topic.ReplicationFactor = -1, -1
	return topic
}

func (s *Server) createTopic(ctx context.Context, t *kmsg.CreateTopicsRequestTopic, validateOnly bool) kmsg.CreateTopicsResponseTopic {
	request, err := s.topicRequest(t)
	if internalTopic(t.Topic) && byDefault(t) {
		request, err = s.creations.request(t.Topic), nil // wanted by a coordinator of another broker
	}
	if err != nil {
		return createFailed(t.Topic, adminCode(err), err)
	}
	request.ValidateOnly = validateOnly
	info, err := s.o.Controller.CreateTopic(ctx, request)
	if err == nil && !validateOnly {
		err = s.awaitLeaders(ctx, t.Topic, len(info.Partitions))
	}
	if err != nil {
		return createFailed(t.Topic, adminCode(err), err)
	}
	topic := kmsg.NewCreateTopicsResponseTopic()
	topic.Topic, topic.TopicID = t.Topic, info.ID
	topic.NumPartitions, topic.ReplicationFactor = s.counts(request, info)
	for _, c := range s.topicConfigs(request.Config) {
		config := kmsg.NewCreateTopicsResponseTopicConfig()
		config.Name, config.Value, config.Source, config.IsSensitive = c.Name, c.Value, int8(c.Source), c.IsSensitive
		topic.Configs = append(topic.Configs, config)
	}
	return topic
}

// byDefault says that the request leaves everything to the broker.
func byDefault(t *kmsg.CreateTopicsRequestTopic) bool {
	return t.NumPartitions == asDefault && t.ReplicationFactor == asDefault && len(t.ReplicaAssignment)+len(t.Configs) == 0
}

// counts is what the topic has, or would have.
func (s *Server) counts(r controller.TopicRequest, info controller.TopicInfo) (partitions int32, replicationFactor int16) {
	assigned := info.Partitions
	if len(assigned) == 0 {
		assigned = r.Assignment
	}
	if len(assigned) == 0 {
		return r.Partitions, r.ReplicationFactor
	}
	return int32(len(assigned)), int16(len(assigned[0]))
}

// topicRequest checks everything that needs no cluster.
func (s *Server) topicRequest(t *kmsg.CreateTopicsRequestTopic) (controller.TopicRequest, error) {
	r := controller.TopicRequest{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: t.ReplicationFactor}
	if err := s.newName(t.Topic); err != nil {
		return r, err
	}
	var err error
	if r.Assignment, err = assignment(t); err != nil {
		return r, err
	}
	b := s.o.Configs.Broker()
	if r.Assignment == nil {
		if r.Partitions == asDefault {
			r.Partitions = b.NumPartitions
		}
		if r.ReplicationFactor == asDefault {
			r.ReplicationFactor = int16(b.DefaultReplicationFactor)
		}
		switch {
		case r.Partitions < 1 || r.Partitions > controller.MaxPartitions:
			return r, fmt.Errorf("%w: %d, want 1 to %d", controller.ErrInvalidPartitions, r.Partitions, controller.MaxPartitions)
		case r.ReplicationFactor < 1:
			return r, fmt.Errorf("%w: %d, at least 1 is needed", controller.ErrInvalidReplicationFactor, r.ReplicationFactor)
		}
	}
	r.Config = make(map[string]string)
	for _, c := range t.Configs {
		if c.Value == nil {
			return r, fmt.Errorf("%w: %s has no value", errInvalidConfig, c.Name)
		}
		r.Config[c.Name] = *c.Value
	}
	r.Config = noteStrategy(b, r.Config)
	return r, s.validTopic(r.Config)
}

// newName checks a topic's name against Kafka's rule and against topics whose
// metrics would have the same name (Topic.hasCollision).
func (s *Server) newName(name string) error {
	if err := controller.ValidateTopicName(name); err != nil {
		return err
	}
	if internalTopic(name) {
		return fmt.Errorf("%w: %s is created by the broker alone", controller.ErrInvalidTopic, name)
	}
	if !strings.ContainsAny(name, "._") {
		return nil
	}
	view := s.o.Metadata.View()
	flat := strings.ReplaceAll(name, ".", "_")
	for _, other := range view.TopicNames() {
		if other != name && strings.ReplaceAll(other, ".", "_") == flat {
			return fmt.Errorf("%w: %q collides with topic %q", controller.ErrInvalidTopic, name, other)
		}
	}
	return nil
}

// assignment reads the replicas that a client chose; nil when it leaves the
// choice to the controller.
func assignment(t *kmsg.CreateTopicsRequestTopic) (map[int32][]int32, error) {
	if len(t.ReplicaAssignment) == 0 {
		return nil, nil
	}
	if t.NumPartitions != asDefault || t.ReplicationFactor != asDefault {
		return nil, fmt.Errorf("%w: counts and an assignment exclude each other", errInvalidRequest)
	}
	out := make(map[int32][]int32, len(t.ReplicaAssignment))
	for _, a := range t.ReplicaAssignment {
		if _, twice := out[a.Partition]; twice {
			return nil, fmt.Errorf("%w: partition %d is assigned twice", controller.ErrInvalidAssignment, a.Partition)
		}
		out[a.Partition] = slices.Clone(a.Replicas)
	}
	for i := range int32(len(out)) {
		replicas, ok := out[i]
		if !ok || len(replicas) == 0 || len(replicas) != len(out[0]) {
			return nil, fmt.Errorf("%w: partitions must be 0 to %d, with equally many replicas each", controller.ErrInvalidAssignment, len(out)-1)
		}
	}
	return out, nil
}
