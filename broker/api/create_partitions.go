package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/controller"
)

// CreatePartitions (37), versions 0 to 3: more partitions for a topic (KIP-195).

func createPartitions(s *Server, req *kmsg.CreatePartitionsRequest) kmsg.Response {
	ctx, cancel := requestTimeout(req.TimeoutMillis)
	defer cancel()
	resp := kmsg.NewPtrCreatePartitionsResponse()
	count := make(map[string]int)
	for _, t := range req.Topics {
		count[t.Topic]++
	}
	for _, t := range req.Topics {
		if count[t.Topic] == 0 {
			continue // answered already
		}
		answer := kmsg.NewCreatePartitionsResponseTopic()
		answer.Topic = t.Topic
		var err error
		if count[t.Topic] > 1 {
			err = fmt.Errorf("%w: topic %q is named twice", errInvalidRequest, t.Topic)
		} else {
			err = s.createPartitions(ctx, &t, req.ValidateOnly)
		}
		count[t.Topic] = 0
		answer.ErrorCode, answer.ErrorMessage = int16(adminCode(err)), message(err)
		resp.Topics = append(resp.Topics, answer)
	}
	return resp
}

func (s *Server) createPartitions(ctx context.Context, t *kmsg.CreatePartitionsRequestTopic, validateOnly bool) error {
	if internalTopic(t.Topic) {
		return fmt.Errorf("%w: %s is kept by the broker alone", controller.ErrInvalidTopic, t.Topic)
	}
	if t.Count < 1 || t.Count > controller.MaxPartitions {
		return fmt.Errorf("%w: %d, want 1 to %d", controller.ErrInvalidPartitions, t.Count, controller.MaxPartitions)
	}
	r := controller.PartitionsRequest{Name: t.Topic, Count: t.Count, ValidateOnly: validateOnly}
	if t.Assignment != nil {
		r.Assignment = make([][]int32, 0, len(t.Assignment))
		for _, a := range t.Assignment {
			r.Assignment = append(r.Assignment, a.Replicas)
		}
	}
	if err := s.o.Controller.CreatePartitions(ctx, r); err != nil || validateOnly {
		return err
	}
	return s.awaitLeaders(ctx, t.Topic, int(t.Count))
}
