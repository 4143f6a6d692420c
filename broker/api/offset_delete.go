package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// OffsetDelete (47), version 0: forgets committed offsets of topics that no member of
// the group reads (KIP-496).
func offsetDelete(s *Server, _ client, req *kmsg.OffsetDeleteRequest, answer func(kmsg.Response)) {
	r := &group.DeleteOffsetsRequest{Group: req.Group}
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.Topics = make([]kmsg.OffsetDeleteResponseTopic, len(req.Topics))
	var asked []*kmsg.OffsetDeleteResponseTopicPartition // in the order of r.Partitions
	view := s.o.Metadata.View()
	for i, t := range req.Topics {
		topic := &resp.Topics[i]
		topic.Topic, topic.Partitions = t.Topic, make([]kmsg.OffsetDeleteResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			topic.Partitions[j].Partition = p.Partition
			if !exists(view, t.Topic, p.Partition) {
				topic.Partitions[j].ErrorCode = int16(wire.UnknownTopicOrPartition)
				continue
			}
			asked = append(asked, &topic.Partitions[j])
			r.Partitions = append(r.Partitions, group.TopicPartition{Topic: t.Topic, Partition: p.Partition})
		}
	}
	s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.DeleteOffsets(now, r, token, out)
	}, func(reply shard.Reply) {
		body, ok := reply.Body.(*group.CommitReply)
		if reply.Err != nil || !ok {
			resp.ErrorCode, resp.Topics = int16(groupCode(reply.Err)), nil
			answer(resp)
			return
		}
		for i, p := range asked {
			p.ErrorCode = int16(groupCode(body.Errs[i]))
		}
		answer(resp)
	})
}
