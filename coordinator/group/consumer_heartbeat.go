package group

import (
	"time"

	"tidemark/coordinator/shard"
)

// ConsumerHeartbeat joins, leaves, keeps alive, and moves a member towards its target
// assignment; replies with a ConsumerHeartbeatReply. Errors: ErrInvalidRequest,
// ErrGroupNotFound (a group of the classic protocol with members, or none),
// ErrUnknownMember, ErrFencedMemberEpoch (abandon all partitions and join anew),
// ErrFencedInstance, ErrUnreleasedInstance, ErrGroupMaxSize, ErrUnsupportedAssignor,
// ErrInvalidRegex with what is wrong with it.
// It is Kafka's consumerGroupHeartbeat.
func (g *Groups) ConsumerHeartbeat(_ time.Time, r *ConsumerHeartbeatRequest, token shard.Token, out *Outcome) {
	out.RecordsOnly = true
	if err := checkHeartbeat(r); err != nil {
		out.Reply(token, nil, err)
		return
	}
	c, err := g.consumersOf(r, out)
	if err != nil {
		out.Reply(token, nil, err)
		return
	}
	m, err := g.heartbeating(c, r)
	var asked *pattern
	if err == nil {
		asked, err = m.asked(r)
	}
	switch {
	case err != nil:
		out.Records = out.Records[:0]
		out.Reply(token, nil, err)
	case r.Epoch == LeaveEpoch:
		g.removeConsumer(r.Group, c, m, out)
		out.Reply(token, &ConsumerHeartbeatReply{Member: m.id, Epoch: LeaveEpoch}, nil)
	case r.Epoch == StaticLeaveEpoch:
		g.pauseConsumer(r.Group, m, out)
		out.Reply(token, &ConsumerHeartbeatReply{Member: m.id, Epoch: StaticLeaveEpoch}, nil)
	default:
		out.Reply(token, g.beat(c, m, asked, r, out), nil)
	}
}

// checkHeartbeat refuses what no client may send.
func checkHeartbeat(r *ConsumerHeartbeatRequest) error {
	switch joins := r.Epoch == JoinEpoch; {
	case r.Group == "", r.Epoch < StaticLeaveEpoch,
		r.Member == "" && (!joins || r.FreshID == ""),
		r.Epoch == StaticLeaveEpoch && r.InstanceID == "",
		joins && (r.RebalanceTimeout <= 0 || r.Topics == nil && r.Regex == nil || r.Owned == nil || len(*r.Owned) > 0):
		return ErrInvalidRequest
	}
	if r.Assignor != nil && *r.Assignor != "" && assignors[*r.Assignor] == nil {
		return ErrUnsupportedAssignor
	}
	return nil
}

// consumersOf finds the group's consumers. An Empty group of the classic protocol is
// taken over, with its offsets; one with members is not.
func (g *Groups) consumersOf(r *ConsumerHeartbeatRequest, out *Outcome) (*consumers, error) {
	c := g.groups[r.Group]
	switch {
	case c != nil && c.consumers != nil:
		return c.consumers, nil
	case r.Epoch != JoinEpoch, c != nil && (c.state != Empty || len(c.pending) > 0):
		return nil, ErrGroupNotFound
	case c != nil && c.generation > 0:
		out.Records = append(out.Records, &GroupRecord{Group: r.Group, Tombstone: true})
	}
	return newConsumers(), nil
}

// heartbeating finds or makes the member that a request is from.
func (g *Groups) heartbeating(c *consumers, r *ConsumerHeartbeatRequest) (*consumerMember, error) {
	if r.InstanceID != "" {
		if id, ok := c.instances[r.InstanceID]; ok && id != r.Member {
			return c.newLife(id, r)
		} else if !ok && r.Epoch != JoinEpoch {
			return nil, ErrUnknownMember
		}
	}
	m := c.members[r.Member]
	switch {
	case m != nil:
		return m, m.checkEpoch(r)
	case r.Epoch != JoinEpoch:
		return nil, ErrUnknownMember
	case len(c.members) >= g.options.ConsumerMaxSize:
		return nil, ErrGroupMaxSize
	}
	id := r.Member
	if id == "" {
		id = r.FreshID
	}
	return &consumerMember{id: id, assigned: partitionSet{}, revoking: partitionSet{}}, nil
}

// newLife is a static member under another member id than the group knows: it takes
// over only what was left for it.
func (c *consumers) newLife(known string, r *ConsumerHeartbeatRequest) (*consumerMember, error) {
	old := c.members[known]
	switch {
	case r.Epoch != JoinEpoch:
		return nil, ErrFencedInstance
	case old.epoch != StaticLeaveEpoch:
		return nil, ErrUnreleasedInstance
	}
	next := *old
	if next.id = r.Member; next.id == "" {
		next.id = r.FreshID
	}
	next.epoch, next.previousEpoch, next.state, next.revoking = JoinEpoch, JoinEpoch, MemberStable, partitionSet{}
	return &next, nil
}

// checkEpoch refuses a member that is not where the group has it. One that missed the
// last answer may come with the epoch before, if it has nothing that it was not given;
// a static one that stopped has to join.
func (m *consumerMember) checkEpoch(r *ConsumerHeartbeatRequest) error {
	switch {
	case r.Epoch <= JoinEpoch, r.Epoch == m.epoch:
		return nil
	case r.Epoch < m.epoch && r.Epoch == m.previousEpoch && r.Owned != nil && setOf(*r.Owned).within(m.assigned):
		return nil
	}
	return ErrFencedMemberEpoch
}

// beat is a heartbeat of a member that stays.
func (g *Groups) beat(c *consumers, m *consumerMember, asked *pattern, r *ConsumerHeartbeatRequest, out *Outcome) *ConsumerHeartbeatReply {
	was := m
	m, bump := c.update(m, asked, r, out)
	epoch, read := c.epoch, newSubscriptions(r.Metadata)
	if hash := c.hash(m, bump, read); hash != c.metadataHash || bump {
		epoch++
		out.Records = append(out.Records, &ConsumerGroupRecord{Group: r.Group, Epoch: epoch, MetadataHash: hash})
	}
	target, targetEpoch := c.targets[was.id], c.targetEpoch
	if old := c.replaced(m); old != nil {
		target = c.targets[old.id]
	}
	if epoch > targetEpoch {
		target, targetEpoch = c.assign(m, r.Group, read, epoch, out)[m.id], epoch
	}
	next := c.advance(m, r, target, targetEpoch)
	if next != was {
		out.Records = append(out.Records, next.current(r.Group))
	}
	g.awaitConsumer(r.Group, was, next, out)
	reply := &ConsumerHeartbeatReply{Member: next.id, Epoch: next.epoch, HeartbeatInterval: g.options.ConsumerHeartbeatInterval}
	if r.Epoch == JoinEpoch || r.Owned != nil && (r.Topics != nil || r.Regex != nil) || !sameSet(was.assigned, next.assigned) {
		list := next.assigned.list()
		reply.Assignment = &list
	}
	return reply
}

func sameSet(a, b partitionSet) bool { return len(a) == len(b) && a.within(b) }

// advance reconciles a member. One that joins anew has nothing and holds up nobody.
func (c *consumers) advance(m *consumerMember, r *ConsumerHeartbeatRequest, target partitionSet, targetEpoch int32) *consumerMember {
	var owned *partitionSet
	if r.Owned != nil {
		set := setOf(*r.Owned)
		owned = &set
	}
	if r.Epoch == JoinEpoch {
		fresh := *m
		fresh.epoch, fresh.previousEpoch, fresh.state, fresh.revoking = JoinEpoch, JoinEpoch, MemberStable, partitionSet{}
		m = &fresh
	}
	return c.reconcile(m, target, targetEpoch, owned)
}
