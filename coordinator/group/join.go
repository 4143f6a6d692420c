package group

import (
	"time"

	"tidemark/coordinator/shard"
)

// Join lets a member into the group or back into it; the answer waits for the
// rebalance that it takes part in. Errors: ErrInvalidGroupID,
// ErrInvalidSessionTimeout, ErrInconsistentProtocol, ErrMemberIDRequired,
// ErrUnknownMember, ErrFencedInstance, ErrGroupMaxSize. It is Kafka's
// handleJoinGroup.
func (g *Groups) Join(now time.Time, r *JoinRequest, token shard.Token, out *Outcome) {
	switch {
	case r.Group == "":
		out.Reply(token, nil, ErrInvalidGroupID)
		return
	case r.SessionTimeout < g.options.MinSessionTimeout || r.SessionTimeout > g.options.MaxSessionTimeout:
		out.Reply(token, nil, ErrInvalidSessionTimeout)
		return
	case g.groups[r.Group] == nil && r.Member != "":
		out.Reply(token, nil, ErrUnknownMember)
		return
	}
	c := g.group(r.Group)
	if c.consumers != nil && c.empty() { // a group of KIP-848 without members becomes a classic one
		buryConsumers(c.id, out)
		c.consumers = nil
	}
	switch {
	case c.consumers != nil && r.Member == "":
		out.Reply(token, nil, ErrInconsistentProtocol)
	case !g.hasRoom(c, r):
		g.turnAway(now, c, r.Member, out)
		out.Reply(token, nil, ErrGroupMaxSize)
	case !c.supports(r.ProtocolType, r.Protocols):
		out.Reply(token, nil, ErrInconsistentProtocol)
	case r.Member == "":
		g.joinUnknown(now, c, r, token, out)
	case c.pending[r.Member] && r.InstanceID == "":
		g.addMember(now, c, r, r.Member, token, out)
	default:
		g.joinKnown(now, c, r, token, out)
	}
	g.tryCompleteJoin(now, c, out)
	g.dropUnused(c)
}

// hasRoom says that the member may come in (acceptJoiningMember). While a rebalance
// is prepared, those count that have joined it, so that the last to come back are
// turned away where the limit was lowered; a static member that comes back takes
// its own place.
func (g *Groups) hasRoom(c *group, r *JoinRequest) bool {
	id := r.Member
	if current, ok := c.instances[r.InstanceID]; ok {
		id = current
	}
	m := c.byID[id]
	switch c.state {
	case PreparingRebalance:
		return m != nil && m.joining != 0 || c.joining < g.options.MaxSize
	case CompletingRebalance, Stable:
		return m != nil || len(c.members) < g.options.MaxSize
	default:
		return true
	}
}

// turnAway removes whatever the group has of a member that may not come in.
func (g *Groups) turnAway(now time.Time, c *group, id string, out *Outcome) {
	if c.pending[id] {
		g.removePending(c, id, out)
	}
	if m := c.byID[id]; m != nil {
		g.removeMember(now, c, m, out)
	}
}

// removePending forgets an id that was given out.
func (g *Groups) removePending(c *group, id string, out *Outcome) {
	delete(c.pending, id)
	out.Cancel(c.timer(pendingTimer, id))
}

// joinUnknown is a join without a member id.
func (g *Groups) joinUnknown(now time.Time, c *group, r *JoinRequest, token shard.Token, out *Outcome) {
	switch {
	case r.InstanceID != "":
		id := r.InstanceID + "-" + r.FreshID
		if old, ok := c.instances[r.InstanceID]; ok {
			g.rejoinStatic(now, c, c.byID[old], newMember(r, id, token), r.CanSkipAssignment, out)
			return
		}
		g.addMember(now, c, r, id, token, out)
	case r.RequireKnownMember:
		id := r.ClientID + "-" + r.FreshID
		c.pending[id] = true
		out.Set(c.timer(pendingTimer, id), r.SessionTimeout)
		out.Reply(token, &JoinReply{Member: id}, ErrMemberIDRequired)
	default:
		g.addMember(now, c, r, r.ClientID+"-"+r.FreshID, token, out)
	}
}

func newMember(r *JoinRequest, id string, token shard.Token) *member {
	return &member{
		id: id, instance: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
		rebalanceTimeout: r.RebalanceTimeout, sessionTimeout: r.SessionTimeout, protocols: r.Protocols, joining: token,
	}
}

// addMember takes a new member in and starts a rebalance. It is not held to its
// session timeout before it knows its id, yet a join that nobody reads must end.
func (g *Groups) addMember(now time.Time, c *group, r *JoinRequest, id string, token shard.Token, out *Outcome) {
	if c.pending[id] {
		g.removePending(c, id, out)
	}
	m := newMember(r, id, token)
	m.fresh, m.heard = true, now
	c.grown = true
	c.add(m, r.ProtocolType)
	c.awaitHeartbeat(m, NewMemberJoinTimeout, out)
	g.maybePrepareRebalance(now, c, out)
}

// joinKnown is a join with the id of a member.
func (g *Groups) joinKnown(now time.Time, c *group, r *JoinRequest, token shard.Token, out *Outcome) {
	m, err := c.check(r.Member, r.InstanceID)
	if err != nil {
		out.Reply(token, nil, err)
		return
	}
	m.heard = now
	switch {
	case c.state == PreparingRebalance:
		g.updateMember(now, c, m, r, token, out)
	case c.state == CompletingRebalance && m.matches(r.Protocols):
		// The first answer may have been lost.
		out.Reply(token, c.joinReply(m), nil)
	case c.state == Stable && m.matches(r.Protocols) && c.leader != m.id:
		out.Reply(token, c.joinReply(m), nil)
	default:
		// The member has changed, or the leader asks for new assignments: topics may
		// have changed.
		g.updateMember(now, c, m, r, token, out)
	}
}

// updateMember lets a member wait for the rebalance with what it joined with now. Of
// two joins of one member the earlier is told to come again.
func (g *Groups) updateMember(now time.Time, c *group, m *member, r *JoinRequest, token shard.Token, out *Outcome) {
	c.answerJoin(m, nil, ErrRebalanceInProgress, out)
	m.protocols, m.joining = r.Protocols, token
	m.rebalanceTimeout, m.sessionTimeout = r.RebalanceTimeout, r.SessionTimeout
	c.joining++
	g.maybePrepareRebalance(now, c, out)
}

// joinReply tells a member of the present generation.
func (c *group) joinReply(m *member) *JoinReply {
	reply := &JoinReply{
		Generation: c.generation, ProtocolType: c.protocolType, Protocol: c.protocol, Leader: c.leader, Member: m.id,
	}
	if m.id == c.leader {
		reply.Members = c.joinedMembers()
	}
	return reply
}

// joinedMembers is what the leader is told.
func (c *group) joinedMembers() []JoinedMember {
	list := make([]JoinedMember, 0, len(c.members))
	for _, m := range c.members {
		list = append(list, JoinedMember{Member: m.id, InstanceID: m.instance, Metadata: m.metadata(c.protocol)})
	}
	return list
}
