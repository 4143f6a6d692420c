package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// OffsetFetch (9), versions 1 to 9: the committed offsets of a group. 2 can ask for
// all of them and has an error for the whole, 5 brought leader epochs, 7 stable
// offsets (KIP-447), 8 asks about several groups at once (KIP-709), 9 the words of
// KIP-848.
func offsetFetch(s *Server, _ client, req *kmsg.OffsetFetchRequest, answer func(kmsg.Response)) {
	if req.Version < 8 {
		req.Groups = []kmsg.OffsetFetchRequestGroup{groupOfEarlier(req)}
	}
	groups.SubmitEach(len(req.Groups), func(i int, done func(shard.Reply)) {
		r := offsetsRequest(&req.Groups[i], req.RequireStable)
		s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
			g.Offsets(now, r, token, out)
		}, done)
	}, func(replies []shard.Reply) {
		resp := kmsg.NewPtrOffsetFetchResponse()
		for i, reply := range replies {
			resp.Groups = append(resp.Groups, fetchedGroup(&req.Groups[i], reply))
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

// fetchedGroup is the answer about one group: its offsets, or an error alone.
func fetchedGroup(q *kmsg.OffsetFetchRequestGroup, reply shard.Reply) kmsg.OffsetFetchResponseGroup {
	g := kmsg.NewOffsetFetchResponseGroup()
	g.Group, g.ErrorCode = q.Group, int16(groupCode(reply.Err))
	body, ok := reply.Body.(*group.OffsetsReply)
	if !ok || reply.Err != nil {
		return g
	}
	for i := range body.Offsets {
		o := &body.Offsets[i]
		if n := len(g.Topics); n == 0 || g.Topics[n-1].Topic != o.Topic {
			topic := kmsg.NewOffsetFetchResponseGroupTopic()
			topic.Topic = o.Topic
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
