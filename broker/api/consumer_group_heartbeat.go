package api

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/metadata"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
)

// ConsumerGroupHeartbeat (68), versions 0 and 1: joins, leaves and keeps alive in a
// group of KIP-848, whose assignment the broker makes. Version 1 brought member ids
// that clients choose, and subscriptions by a regular expression that the broker
// evaluates.
func consumerGroupHeartbeat(s *Server, from client, req *kmsg.ConsumerGroupHeartbeatRequest, answer func(kmsg.Response)) {
	r := &group.ConsumerHeartbeatRequest{
		Group: req.Group, Member: req.MemberID, FreshID: uniqueID(), Epoch: req.MemberEpoch, InstanceID: deref(req.InstanceID),
		RackID: deref(req.RackID), ClientID: from.ID, ClientHost: from.Host, RebalanceTimeout: max(millis(req.RebalanceTimeoutMillis), 0),
		Topics: req.SubscribedTopicNames, Regex: req.SubscribedTopicRegex, Assignor: req.ServerAssignor, Metadata: topicView{s.o.Metadata.View()},
	}
	if req.Topics != nil {
		owned := make([]group.TopicPartitions, len(req.Topics))
		for i, t := range req.Topics {
			owned[i] = group.TopicPartitions{TopicID: t.TopicID, Partitions: t.Partitions}
		}
		r.Owned = &owned
	}
	s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.ConsumerHeartbeat(now, r, token, out)
	}, func(reply shard.Reply) { answer(consumerHeartbeatResponse(reply)) })
}

func consumerHeartbeatResponse(reply shard.Reply) kmsg.Response {
	resp := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	resp.ErrorCode, resp.ErrorMessage = int16(groupCode(reply.Err)), message(reply.Err)
	body, ok := reply.Body.(*group.ConsumerHeartbeatReply)
	if !ok || reply.Err != nil {
		return resp
	}
	resp.MemberID, resp.MemberEpoch = &body.Member, body.Epoch
	resp.HeartbeatIntervalMillis = int32(body.HeartbeatInterval.Milliseconds())
	if body.Assignment != nil {
		assignment := kmsg.NewConsumerGroupHeartbeatResponseAssignment()
		for _, t := range *body.Assignment {
			topic := kmsg.NewConsumerGroupHeartbeatResponseAssignmentTopic()
			topic.TopicID, topic.Partitions = t.TopicID, t.Partitions
			assignment.Topics = append(assignment.Topics, topic)
		}
		resp.Assignment = &assignment
	}
	return resp
}

// topicView is what the broker knows of topics, as a coordinator asks for it.
type topicView struct{ view *metadata.View }

// Names implements group.Metadata. Internal topics are read only by name: a group that
// commits while it reads __consumer_offsets would never come to an end.
func (v topicView) Names() []string { return slices.DeleteFunc(v.view.TopicNames(), internalTopic) }

// Version implements group.Metadata.
func (v topicView) Version() int64 { return v.view.Version() }

// Topic implements group.Metadata.
func (v topicView) Topic(name string) (id [16]byte, partitions int32, ok bool) {
	t := v.view.Topic(name)
	if t == nil {
		return id, 0, false
	}
	return t.ID, int32(len(t.Partitions)), true
}
