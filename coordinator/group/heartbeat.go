package group

import (
	"time"

	"tidemark/coordinator/shard"
)

// Heartbeat notes that a member lives. Errors: ErrInvalidGroupID, ErrUnknownMember,
// ErrFencedInstance, ErrIllegalGeneration, and ErrRebalanceInProgress, by which a
// member learns that it must join again. While the generation is being completed a
// heartbeat counts as in Stable: clients begin with their join reply. It is Kafka's
// handleHeartbeat, and does not allocate.
func (g *Groups) Heartbeat(now time.Time, r *HeartbeatRequest, token shard.Token, out *Outcome) {
	c := g.groups[r.Group]
	if c == nil {
		if r.Group == "" {
			out.Reply(token, nil, ErrInvalidGroupID)
			return
		}
		out.Reply(token, nil, ErrUnknownMember)
		return
	}
	m, err := c.check(r.Member, r.InstanceID)
	switch {
	case err != nil:
		out.Reply(token, nil, err)
		return
	case r.Generation != c.generation:
		out.Reply(token, nil, ErrIllegalGeneration)
		return
	}
	m.heard = now
	c.awaitHeartbeat(m, m.sessionTimeout, out)
	if c.state == PreparingRebalance {
		err = ErrRebalanceInProgress
	}
	out.Reply(token, nil, err)
}

// heartbeatTimedOut removes a member that was silent for its session. One whose join
// or sync waits is alive however long it waits for others: its client cannot
// heartbeat meanwhile in every library. Only a fresh member's join has an end.
func (g *Groups) heartbeatTimedOut(now time.Time, c *group, id string, out *Outcome) {
	m := c.byID[id]
	if m == nil || !m.fresh && (m.joining != 0 || m.syncing != 0) {
		return
	}
	g.removeMember(now, c, m, out)
}

// removeMember takes a member out, answers what waits, and lets the others go on
// (removeMemberAndUpdateGroup).
func (g *Groups) removeMember(now time.Time, c *group, m *member, out *Outcome) {
	c.answerJoin(m, nil, ErrUnknownMember, out)
	answerSync(m, ErrUnknownMember, out)
	out.Cancel(c.timer(heartbeatTimer, m.id))
	c.remove(m)
	if c.state == Stable || c.state == CompletingRebalance {
		g.prepareRebalance(now, c, out)
		return
	}
	g.tryCompleteJoin(now, c, out)
}
