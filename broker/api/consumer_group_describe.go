package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/metadata"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
)

// ConsumerGroupDescribe (69), versions 0 and 1: the members of groups of KIP-848,
// with what they have and what they shall have. 1 brought the type of a member, which
// is always the new one here.
func consumerGroupDescribe(s *Server, _ client, req *kmsg.ConsumerGroupDescribeRequest, answer func(kmsg.Response)) {
	shard.SubmitEach(len(req.Groups), func(i int, done func(shard.Reply)) {
		id := req.Groups[i]
		s.o.Groups.Submit(id, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
			g.ConsumerDescribe(now, id, token, out)
		}, done)
	}, func(replies []shard.Reply) {
		resp := kmsg.NewPtrConsumerGroupDescribeResponse()
		view := s.o.Metadata.View()
		for i, reply := range replies {
			resp.Groups = append(resp.Groups, describedConsumers(view, req.Groups[i], reply))
		}
		answer(resp)
	})
}

// newProtocolMember is the type of a member that speaks KIP-848.
const newProtocolMember = 1

func describedConsumers(view *metadata.View, id string, reply shard.Reply) kmsg.ConsumerGroupDescribeResponseGroup {
	d := kmsg.NewConsumerGroupDescribeResponseGroup()
	d.Group, d.ErrorCode, d.ErrorMessage = id, int16(groupCode(reply.Err)), message(reply.Err)
	body, ok := reply.Body.(*group.ConsumerDescription)
	if !ok || reply.Err != nil {
		return d
	}
	d.State, d.AssignorName, d.Epoch, d.AssignmentEpoch = body.State, body.Assignor, body.Epoch, body.AssignmentEpoch
	for i := range body.Members {
		m := &body.Members[i]
		member := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		member.MemberID, member.InstanceID, member.RackID = m.Member, nullable(m.InstanceID), nullable(m.RackID)
		member.ClientID, member.ClientHost, member.MemberEpoch = m.ClientID, m.ClientHost, m.Epoch
		member.SubscribedTopics, member.SubscribedTopicRegex, member.MemberType = m.Topics, nullable(m.Regex), newProtocolMember
		member.Assignment, member.TargetAssignment = assignmentOf(view, m.Assignment), assignmentOf(view, m.Target)
		d.Members = append(d.Members, member)
	}
	return d
}

// assignmentOf names the topics; one that is gone meanwhile is left out.
func assignmentOf(view *metadata.View, list []group.TopicPartitions) kmsg.Assignment {
	a := kmsg.NewAssignment()
	for _, t := range list {
		if known := view.TopicByID(t.TopicID); known != nil {
			topic := kmsg.NewAssignmentTopicPartition()
			topic.TopicID, topic.Topic, topic.Partitions = t.TopicID, known.Name, t.Partitions
			a.TopicPartitions = append(a.TopicPartitions, topic)
		}
	}
	return a
}
