package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// OffsetCommit (8), versions 2 to 9: keeps offsets of a group. 2 to 4 may say for how
// long, 6 brought leader epochs, 7 static members, 9 the words of KIP-848. Offsets
// of partitions that do not exist are refused one by one, the others kept.
func offsetCommit(s *Server, _ client, req *kmsg.OffsetCommitRequest, answer func(kmsg.Response)) {
	r := &group.CommitRequest{
		Group: req.Group, Generation: req.Generation, Member: req.MemberID, InstanceID: deref(req.InstanceID), RetentionMs: -1,
	}
	if req.Version <= 4 {
		r.RetentionMs = req.RetentionTimeMillis
	}
	resp := kmsg.NewPtrOffsetCommitResponse()
	var kept []*kmsg.OffsetCommitResponseTopicPartition // in the order of r.Offsets
	view := s.o.Metadata.View()
	resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		known := view.Topic(t.Topic)
		topic := &resp.Topics[i]
		topic.Topic, topic.Partitions = t.Topic, make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		for j, p := range t.Partitions {
			topic.Partitions[j].Partition = p.Partition
			if known == nil || !has(known.Partition(p.Partition)) {
				topic.Partitions[j].ErrorCode = int16(wire.UnknownTopicOrPartition)
				continue
			}
			epoch := int32(-1)
			if req.Version >= 6 {
				epoch = p.LeaderEpoch
			}
			kept = append(kept, &topic.Partitions[j])
			r.Offsets = append(r.Offsets, group.Commit{
				TopicPartition: group.TopicPartition{Topic: t.Topic, Partition: p.Partition},
				Offset:         p.Offset, LeaderEpoch: epoch, Metadata: deref(p.Metadata),
			})
		}
	}
	if len(kept) == 0 && len(req.Topics) > 0 {
		answer(resp)
		return
	}
	s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.Commit(now, r, token, out)
	}, func(reply shard.Reply) {
		for i, p := range kept {
			p.ErrorCode = int16(commitCode(reply, i))
		}
		answer(resp)
	})
}

func has[T any](_ T, ok bool) bool { return ok }

// commitCode is the error of offset i of a commit.
func commitCode(reply shard.Reply, i int) wire.ErrorCode {
	err := reply.Err
	if body, ok := reply.Body.(*group.CommitReply); ok && err == nil {
		err = body.Errs[i]
	}
	if code := codeOf(err, wire.UnknownServerError); code == wire.MessageTooLarge || code == wire.RecordListTooLarge {
		return wire.InvalidCommitOffsetSize
	}
	return groupCode(err)
}
