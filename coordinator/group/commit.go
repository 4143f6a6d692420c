package group

import (
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/planted"
)

// Commit keeps offsets and replies with a CommitReply. The reply itself may have
// ErrInvalidGroupID, ErrUnknownMember, ErrFencedInstance, ErrIllegalGeneration, ErrStaleMemberEpoch or
// ErrRebalanceInProgress, and nothing is kept; each offset has nil or
// ErrMetadataTooLarge. It is Kafka's handleCommitOffsets.
//
// While members are joining again they may still commit, for by their heartbeat they
// learn that they must join; the next generation's members wait for their sync.
func (g *Groups) Commit(now time.Time, r *CommitRequest, token shard.Token, out *Outcome) {
	if plain := g.options.PlainOffsets; plain != nil && !plain(r.Group) {
		out.Reply(token, nil, ErrInvalidGroupID)
		return
	}
	c := g.groups[r.Group]
	m, err := g.committer(c, r, false)
	if err == nil && m != nil && c.state == CompletingRebalance {
		err = ErrRebalanceInProgress
	}
	if err != nil {
		out.Reply(token, nil, err)
		return
	}
	if m != nil {
		m.heard = now
		c.awaitHeartbeat(m, m.sessionTimeout, out)
	}
	g.writeOffsets(now, r, token, out)
}

// TxnCommit is Commit as part of a producer's transaction: the offsets count once it
// is committed. Clients before KIP-447 do not say who they are, and are believed. The
// reply may be ErrVerificationVoid.
func (g *Groups) TxnCommit(now time.Time, r *TxnCommitRequest, token shard.Token, out *Outcome) {
	if v := g.verifying[r.ProducerID]; v == nil || v != r.Verified {
		out.Reply(token, nil, ErrVerificationVoid)
		return
	}
	if _, err := g.committer(g.groups[r.Group], &r.CommitRequest, true); err != nil {
		out.Reply(token, nil, err)
		return
	}
	out.Transactional, out.ProducerID, out.ProducerEpoch = true, r.ProducerID, r.ProducerEpoch
	g.writeOffsets(now, &r.CommitRequest, token, out)
}

// committer finds the member that commits; nil for one that uses the group only to
// keep offsets, which it may while there are no members (validateOffsetCommit).
func (g *Groups) committer(c *group, r *CommitRequest, transactional bool) (*member, error) {
	anonymous := r.Generation < 0 && r.Member == "" && r.InstanceID == ""
	switch {
	case c == nil && r.Generation >= 0:
		return nil, ErrIllegalGeneration
	case c == nil, r.Generation < 0 && c.empty(), anonymous && transactional:
		return nil, nil
	case anonymous:
		return nil, ErrUnknownMember
	}
	if c.consumers != nil {
		return nil, c.consumers.check(r.Member, r.Generation)
	}
	m, err := c.check(r.Member, r.InstanceID)
	if err != nil {
		return nil, err
	}
	if r.Generation != c.generation && !planted.Is(planted.CommitWithoutGeneration) {
		return nil, ErrIllegalGeneration
	}
	return m, nil
}

// writeOffsets makes a record of each offset that may be kept.
func (g *Groups) writeOffsets(now time.Time, r *CommitRequest, token shard.Token, out *Outcome) {
	reply := &CommitReply{Errs: make([]error, len(r.Offsets))}
	expire := int64(-1)
	if r.RetentionMs >= 0 {
		expire = now.UnixMilli() + r.RetentionMs
	}
	for i := range r.Offsets {
		o := &r.Offsets[i]
		if len(o.Metadata) > g.options.MaxMetadataBytes {
			reply.Errs[i] = ErrMetadataTooLarge
			continue
		}
		kept := &OffsetRecord{
			Group: r.Group, TopicPartition: o.TopicPartition, TopicID: o.TopicID, Offset: o.Offset,
			LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata, CommitTimestampMs: now.UnixMilli(), ExpireTimestampMs: expire,
		}
		if g.options.PlainOffsets != nil {
			kept.TopicID, kept.LeaderEpoch, kept.Metadata, kept.ExpireTimestampMs = [16]byte{}, -1, "", -1
		}
		out.Records = append(out.Records, kept)
	}
	out.RecordsOnly = true
	out.Reply(token, reply, nil)
}
