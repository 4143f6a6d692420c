package api

import (
	"context"

	"tidemark/broker/metadata"
)

// What the controller changed comes to its own broker as an order like any other's.
// These wait for it, so that a client that was answered finds what it asked for
// (Kafka's DelayedCreatePartitions and DelayedDeleteTopics).

// awaitLeaders returns once partitions 0 to n−1 of a topic have leaders.
func (s *Server) awaitLeaders(ctx context.Context, topic string, n int) error {
	return s.o.Metadata.Await(ctx, func(v *metadata.View) bool {
		t := v.Topic(topic)
		if t == nil || len(t.Partitions) < n {
			return false
		}
		for i := range t.Partitions {
			if t.Partitions[i].Leader < 0 {
				return false
			}
		}
		return true
	})
}

// awaitGone returns once the topic of that id is not to be seen.
func (s *Server) awaitGone(ctx context.Context, id [16]byte) error {
	return s.o.Metadata.Await(ctx, func(v *metadata.View) bool { return v.TopicByID(id) == nil })
}
