package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/metadata"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// OffsetFetch (9), versions 1 to 10: the committed offsets of a group. 2 can ask for
// all of them and has an error for the whole, 5 brought leader epochs, 7 stable
// offsets (KIP-447), 8 asks about several groups at once (KIP-709), 9 the words of
// KIP-848, 10 ids of topics in place of names.
func offsetFetch(s *Server, _ client, req *kmsg.OffsetFetchRequest, answer func(kmsg.Response)) {
	if req.Version < 8 {
		req.Groups = []kmsg.OffsetFetchRequestGroup{groupOfEarlier(req)}
	}
	var ids *metadata.View
	unknown := make([][]kmsg.OffsetFetchResponseGroupTopic, len(req.Groups))
	if req.Version >= 10 {
		ids = s.o.Metadata.View()
		for i := range req.Groups {
			unknown[i] = nameTopics(ids, &req.Groups[i])
		}
	}
	shard.SubmitEach(len(req.Groups), func(i int, done func(shard.Reply)) {
		r := offsetsRequest(&req.Groups[i], req.RequireStable)
		s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
			g.Offsets(now, r, token, out)
		}, done)
	}, func(replies []shard.Reply) {
		resp := kmsg.NewPtrOffsetFetchResponse()
		for i, reply := range replies {
			g := fetchedGroup(ids, req.Groups[i].Group, reply)
			if g.ErrorCode == int16(wire.None) {
				g.Topics = append(g.Topics, unknown[i]...)
			}
			resp.Groups = append(resp.Groups, g)
		}
		if req.Version < 8 {
			earlierFetch(req, resp)
		}
		answer(resp)
	})
}

// groupOfEarlier is the group of a request that has only one.
func groupOfEarlier(req *kmsg.OffsetFetchRequest) kmsg.OffsetFetchRequestGroup {
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = req.Group
	if req.Topics == nil && req.Version >= 2 {
		return g // all topics
	}
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{}
	for _, t := range req.Topics {
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	return g
}

func offsetsRequest(q *kmsg.OffsetFetchRequestGroup, stable bool) *group.OffsetsRequest {
	r := &group.OffsetsRequest{
		Group: q.Group, Member: deref(q.MemberID), MemberEpoch: q.MemberEpoch, RequireStable: stable, All: q.Topics == nil,
	}
	for _, t := range q.Topics {
		for _, p := range t.Partitions {
			r.Partitions = append(r.Partitions, group.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return r
}

// nameTopics finds the names of topics that are asked about by id. Those that there
// are not are taken out, and answered as such.
func nameTopics(view *metadata.View, q *kmsg.OffsetFetchRequestGroup) (unknown []kmsg.OffsetFetchResponseGroupTopic) {
	known := q.Topics[:0]
	for _, t := range q.Topics {
		topic := view.TopicByID(t.TopicID)
		if topic == nil {
			unknown = append(unknown, unknownTopic(t))
			continue
		}
		t.Topic = topic.Name
		known = append(known, t)
	}
	q.Topics = known
	return unknown
}

func unknownTopic(t kmsg.OffsetFetchRequestGroupTopic) kmsg.OffsetFetchResponseGroupTopic {
	topic := kmsg.NewOffsetFetchResponseGroupTopic()
	topic.TopicID = t.TopicID
	for _, index := range t.Partitions {
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.ErrorCode = index, -1, -1, int16(wire.UnknownTopicID)
		p.Metadata = new(string)
		topic.Partitions = append(topic.Partitions, p)
	}
	return topic
}

// fetchedGroup is the answer about one group: its offsets, or an error alone. ids has
// the ids of topics, nil where they go by names.
func fetchedGroup(ids *metadata.View, id string, reply shard.Reply) kmsg.OffsetFetchResponseGroup {
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.ErrorCode = id, int16(groupCode(reply.Err))
	body, ok := reply.Body.(*group.OffsetsReply)
	if !ok || reply.Err != nil {
		return g
	}
	for i := range body.Offsets {
		o := &body.Offsets[i]
		topicID, ok := ofTopic(ids, o)
		if !ok {
			continue
		}
		if n := len(g.Topics); n == 0 || g.Topics[n-1].Topic != o.Topic {
			topic := kmsg.NewOffsetFetchResponseGroupTopic()
			topic.Topic, topic.TopicID = o.Topic, topicID
			g.Topics = append(g.Topics, topic)
		}
		p := kmsg.NewOffsetFetchResponseGroupTopicPartition()
		p.Partition, p.Offset, p.LeaderEpoch, p.Metadata = o.Partition, o.Offset, o.LeaderEpoch, &o.Metadata
		p.ErrorCode = int16(groupCode(o.Err))
		topic := &g.Topics[len(g.Topics)-1]
		topic.Partitions = append(topic.Partitions, p)
	}
	return g
}

// ofTopic is the id of an offset's topic where ids are told; ok is false where the
// topic is gone. What was committed of an earlier topic of the name does not count.
func ofTopic(ids *metadata.View, o *group.Committed) (id [16]byte, ok bool) {
	if ids == nil {
		return id, true
	}
	t := ids.Topic(o.Topic)
	if t == nil {
		return id, false
	}
	if o.TopicID != t.ID && o.TopicID != id {
		*o = group.Committed{TopicPartition: o.TopicPartition, Offset: -1, LeaderEpoch: -1}
	}
	return t.ID, true
}

// earlierFetch puts the only group where versions before 8 have it. Version 1 has no
// place for the group's error but in every partition.
func earlierFetch(req *kmsg.OffsetFetchRequest, resp *kmsg.OffsetFetchResponse) {
	g := &resp.Groups[0]
	resp.ErrorCode = g.ErrorCode
	for _, t := range g.Topics {
		topic := kmsg.NewOffsetFetchResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			})
		}
		resp.Topics = append(resp.Topics, topic)
	}
	resp.Groups = nil
	if req.Version >= 2 || resp.ErrorCode == int16(wire.None) {
		return
	}
	none := ""
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetFetchResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: p, Offset: -1, LeaderEpoch: -1, Metadata: &none, ErrorCode: resp.ErrorCode,
			})
		}
		resp.Topics = append(resp.Topics, topic)
	}
}
