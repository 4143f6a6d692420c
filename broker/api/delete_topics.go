package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// DeleteTopics (20), versions 0 to 6. 5 brought error messages, 6 topic ids
// (KIP-516): a topic is then named by one of name and id.

func deleteTopics(s *Server, req *kmsg.DeleteTopicsRequest) kmsg.Response {
	ctx, cancel := requestTimeout(req.TimeoutMillis)
	defer cancel()
	resp := kmsg.NewPtrDeleteTopicsResponse()
	topics := req.Topics
	if req.Version < 6 {
		topics = nil
		for _, name := range req.TopicNames {
			topics = append(topics, kmsg.DeleteTopicsRequestTopic{Topic: &name})
		}
	}
	seen := make(map[topicQuestion]bool)
	for _, t := range topics {
		key := topicQuestion{id: t.TopicID}
		if t.Topic != nil {
			key = topicQuestion{name: *t.Topic, named: true}
		}
		answer := kmsg.NewDeleteTopicsResponseTopic()
		answer.Topic, answer.TopicID = t.Topic, t.TopicID
		var err error
		if seen[key] {
			err = fmt.Errorf("%w: the topic is named twice", errInvalidRequest)
		} else {
			seen[key] = true
			err = s.deleteTopic(ctx, &t, &answer)
		}
		answer.ErrorMessage = message(err)
		if answer.ErrorCode = int16(adminCode(err)); answer.ErrorCode == int16(wire.TopicDeletionDisabled) && req.Version < 3 {
			answer.ErrorCode = int16(wire.InvalidRequest)
		}
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}

func (s *Server) deleteTopic(ctx context.Context, t *kmsg.DeleteTopicsRequestTopic, answer *kmsg.DeleteTopicsResponseTopic) error {
	if !s.o.Configs.Broker().DeleteTopics {
		return errDeletionDisabled
	}
	view := s.o.Metadata.View()
	if t.Topic != nil {
		if t.TopicID != ([16]byte{}) {
			return fmt.Errorf("%w: a topic is named by its name or by its id, not by both", errInvalidRequest)
		}
		if internalTopic(*t.Topic) || !replica.ValidName(*t.Topic) {
			return fmt.Errorf("%w: %q", controller.ErrInvalidTopic, *t.Topic)
		}
		known := view.Topic(*t.Topic)
		if known != nil {
			answer.TopicID = known.ID
		}
		if err := s.o.Controller.DeleteTopic(ctx, *t.Topic); err != nil || known == nil {
			return err
		}
		return s.awaitGone(ctx, known.ID)
	}
	if known := view.TopicByID(t.TopicID); known != nil {
		answer.Topic = &known.Name
		if internalTopic(known.Name) {
			return fmt.Errorf("%w: %q", controller.ErrInvalidTopic, known.Name)
		}
	}
	name, err := s.o.Controller.DeleteTopicID(ctx, t.TopicID)
	if err != nil {
		return err
	}
	answer.Topic = &name
	return s.awaitGone(ctx, t.TopicID)
}
