package group

import (
	"maps"
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// Offsets replies with an OffsetsReply, whatever the group's state: a group without
// an offset, or no group, has -1. A member of KIP-848 that says who it is may be told
// ErrUnknownMember or ErrStaleMemberEpoch.
func (g *Groups) Offsets(_ time.Time, r *OffsetsRequest, token shard.Token, out *Outcome) {
	c := g.groups[r.Group]
	if c == nil {
		c = newGroup(r.Group)
	}
	if c.consumers != nil && r.Member != "" {
		if err := c.consumers.check(r.Member, r.MemberEpoch); err != nil {
			out.Reply(token, nil, err)
			return
		}
	}
	partitions := r.Partitions
	if r.All {
		partitions = slices.SortedFunc(maps.Keys(c.offsets), comparePartitions)
	}
	reply := &OffsetsReply{Offsets: make([]Committed, 0, len(partitions))}
	for _, at := range partitions {
		reply.Offsets = append(reply.Offsets, c.committed(at, r.RequireStable))
	}
	out.Reply(token, reply, nil)
}

// committed is what the group has of a partition.
func (c *group) committed(at TopicPartition, stable bool) Committed {
	none := Committed{TopicPartition: at, Offset: -1, LeaderEpoch: -1}
	if stable && c.unstable(at) {
		none.Err = ErrUnstableOffset
		return none
	}
	o, ok := c.offsets[at]
	if !ok {
		return none
	}
	return Committed{TopicPartition: at, TopicID: o.TopicID, Offset: o.Offset, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata}
}

// DeleteOffsets removes offsets and replies with a CommitReply. The reply itself may
// have ErrGroupNotFound, or ErrNonEmptyGroup where members are of another kind than
// consumers; an offset has nil, or ErrSubscribed while members read its topic. It is
// Kafka's handleDeleteOffsets (KIP-496).
func (g *Groups) DeleteOffsets(_ time.Time, r *DeleteOffsetsRequest, token shard.Token, out *Outcome) {
	c := g.groups[r.Group]
	if c == nil {
		out.Reply(token, nil, ErrGroupNotFound)
		return
	}
	if c.state != Empty && c.protocolType != consumerProtocolType {
		out.Reply(token, nil, ErrNonEmptyGroup)
		return
	}
	reads := g.readers(c)
	reply := &CommitReply{Errs: make([]error, len(r.Partitions))}
	for i, at := range r.Partitions {
		if reads(at.Topic) {
			reply.Errs[i] = ErrSubscribed
			continue
		}
		if _, ok := c.offsets[at]; ok {
			out.Records = append(out.Records, &OffsetRecord{Group: c.id, TopicPartition: at, Tombstone: true})
		}
	}
	out.RecordsOnly = true
	out.Reply(token, reply, nil)
}
