package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/metadata"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// OffsetCommit (8), versions 2 to 10: keeps offsets of a group. 2 to 4 may say for how
// long, 6 brought leader epochs, 7 static members, 9 the words of KIP-848, 10 ids of
// topics in place of names. Offsets of partitions that do not exist are refused one by
// one, the others kept.
func offsetCommit(s *Server, _ client, req *kmsg.OffsetCommitRequest, answer func(kmsg.Response)) {
	c := newCommit(s.o.Metadata.View(), req)
	if len(c.kept) == 0 && len(req.Topics) > 0 {
		answer(c.resp)
		return
	}
	s.o.Groups.Submit(req.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.Commit(now, &c.ask, token, out)
	}, func(reply shard.Reply) {
		for i, p := range c.kept {
			p.ErrorCode = int16(commitCode(reply, i))
		}
		answer(c.resp)
	})
}

// commit is an OffsetCommit under way.
type commit struct {
	ask  group.CommitRequest
	resp *kmsg.OffsetCommitResponse
	// kept are the parts of resp that ask.Offsets is about, in its order.
	kept []*kmsg.OffsetCommitResponseTopicPartition
}

// newCommit answers what is refused at once and asks for the rest.
func newCommit(view *metadata.View, req *kmsg.OffsetCommitRequest) *commit {
	c := &commit{resp: kmsg.NewPtrOffsetCommitResponse(), ask: group.CommitRequest{
		Group: req.Group, Generation: req.Generation, Member: req.MemberID, InstanceID: deref(req.InstanceID), RetentionMs: -1,
	}}
	if req.Version <= 4 {
		c.ask.RetentionMs = req.RetentionTimeMillis
	}
	c.resp.Topics = make([]kmsg.OffsetCommitResponseTopic, len(req.Topics))
	for i, t := range req.Topics {
		topic := &c.resp.Topics[i]
		topic.Topic, topic.TopicID, topic.Partitions = t.Topic, t.TopicID, make([]kmsg.OffsetCommitResponseTopicPartition, len(t.Partitions))
		known, unknown := topicOf(view, t.Topic, t.TopicID, req.Version >= 10)
		for j := range t.Partitions {
			p, answer := &t.Partitions[j], &topic.Partitions[j]
			answer.Partition = p.Partition
			if !hasPartition(known, p.Partition) {
				answer.ErrorCode = int16(unknown)
				continue
			}
			offset := group.Commit{
				TopicPartition: group.TopicPartition{Topic: known.Name, Partition: p.Partition}, TopicID: t.TopicID,
				Offset: p.Offset, LeaderEpoch: -1, Metadata: deref(p.Metadata),
			}
			if req.Version >= 6 {
				offset.LeaderEpoch = p.LeaderEpoch
			}
			c.kept, c.ask.Offsets = append(c.kept, answer), append(c.ask.Offsets, offset)
		}
	}
	return c
}

// topicOf is the topic of a commit, which some versions name and others give the id
// of, and what to say of a partition that there is not.
func topicOf(view *metadata.View, name string, id [16]byte, byID bool) (known *metadata.Topic, unknown wire.ErrorCode) {
	if !byID {
		return view.Topic(name), wire.UnknownTopicOrPartition
	}
	if known = view.TopicByID(id); known == nil {
		return nil, wire.UnknownTopicID
	}
	return known, wire.UnknownTopicOrPartition
}

// exists says whether there is such a partition.
func exists(view *metadata.View, topic string, partition int32) bool {
	return hasPartition(view.Topic(topic), partition)
}

// hasPartition is false for no topic.
func hasPartition(t *metadata.Topic, partition int32) bool {
	if t == nil {
		return false
	}
	_, ok := t.Partition(partition)
	return ok
}

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
