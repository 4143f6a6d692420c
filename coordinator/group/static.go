package group

import "time"

// rejoinStatic gives a static member that came back without its id a new one
// (updateStaticMemberAndRebalance). The old life is fenced. A Stable group whose
// protocol stays the same keeps its assignments: the new id is recorded and answered
// at once.
func (g *Groups) rejoinStatic(now time.Time, c *group, old, m *member, canSkip bool, out *Outcome) {
	m.heard, m.assignment = now, old.assignment
	c.answerJoin(old, nil, ErrFencedInstance, out)
	answerSync(old, ErrFencedInstance, out)
	out.Cancel(c.timer(heartbeatTimer, old.id))
	if c.state == Stable && c.protocolWith(old, m) == c.protocol {
		g.keepAssignments(now, c, old, m, canSkip, out)
		return
	}
	c.replace(old, m)
	c.awaitHeartbeat(m, m.sessionTimeout, out)
	// While the generation is being completed the leader may know the old id only,
	// and would assign nothing to the new one.
	g.maybePrepareRebalance(now, c, out)
}

// protocolWith is the protocol the group would choose with m in the place of old.
func (c *group) protocolWith(old, m *member) string {
	swap := func(from, to *member) {
		for i, other := range c.members {
			if other == from {
				c.members[i] = to
			}
		}
		c.byID[old.id] = to // under the old id, so that a leader stays one
	}
	swap(old, m)
	defer swap(m, old)
	return c.choose()
}

// keepAssignments records the new id of a static member and answers its join. A
// leader that knows how is told to assign nothing (KIP-814); an older client is told
// the id of the leader before, so that it does not take itself for the leader.
func (g *Groups) keepAssignments(now time.Time, c *group, old, m *member, canSkip bool, out *Outcome) {
	token := m.joining
	m.joining = 0
	c.arriving = m
	reply := &JoinReply{
		Generation: c.generation, ProtocolType: c.protocolType, Protocol: c.protocol, Leader: c.leader, Member: m.id,
	}
	record := c.record(now, nil)
	for i := range record.Members {
		if record.Members[i].Member == old.id {
			record.Members[i] = m.record(c.protocol, m.assignment)
		}
	}
	if c.leader == old.id {
		record.Leader = m.id
		if canSkip {
			reply.Leader, reply.SkipAssignment = m.id, true
			reply.Members = c.joinedMembersWith(old, m)
		}
	}
	out.RecordsOnly = true
	out.Records = append(out.Records, record)
	c.awaitHeartbeat(m, m.sessionTimeout, out)
	out.Reply(token, reply, nil)
}

// joinedMembersWith is joinedMembers with m in the place of old.
func (c *group) joinedMembersWith(old, m *member) []JoinedMember {
	list := c.joinedMembers()
	for i := range list {
		if list[i].Member == old.id {
			list[i].Member, list[i].Metadata = m.id, m.metadata(c.protocol)
		}
	}
	return list
}
