package group

import (
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/planted"
)

// Sync hands a member its assignment, once the leader's sync has brought it. Errors:
// ErrInvalidGroupID, ErrUnknownMember, ErrFencedInstance, ErrIllegalGeneration,
// ErrInconsistentProtocol, ErrRebalanceInProgress. It is Kafka's handleSyncGroup.
func (g *Groups) Sync(now time.Time, r *SyncRequest, token shard.Token, out *Outcome) {
	c, m, err := g.syncing(r)
	if err != nil {
		out.Reply(token, nil, err)
		return
	}
	m.heard = now
	switch {
	case c.state == PreparingRebalance:
		out.Reply(token, nil, ErrRebalanceInProgress)
	case c.state == Stable:
		c.synced(m, out)
		c.awaitHeartbeat(m, m.sessionTimeout, out)
		out.Reply(token, c.syncReply(m.assignment), nil)
	case c.leader == m.id:
		g.assign(now, c, r, token, out)
	default:
		answerSync(m, ErrRebalanceInProgress, out) // of two syncs of one member the earlier
		m.syncing = token
		c.synced(m, out)
		c.awaitHeartbeat(m, m.sessionTimeout, out)
	}
}

// syncing finds the member of a sync request and checks that it may sync.
func (g *Groups) syncing(r *SyncRequest) (*group, *member, error) {
	if r.Group == "" {
		return nil, nil, ErrInvalidGroupID
	}
	c := g.groups[r.Group]
	if c == nil {
		return nil, nil, ErrUnknownMember
	}
	m, err := c.check(r.Member, r.InstanceID)
	switch {
	case err != nil:
		return nil, nil, err
	case r.Generation != c.generation:
		return nil, nil, ErrIllegalGeneration
	case r.ProtocolType != "" && r.ProtocolType != c.protocolType, r.Protocol != "" && r.Protocol != c.protocol:
		return nil, nil, ErrInconsistentProtocol
	}
	return c, m, nil
}

// assign records what the leader assigned and answers everybody whose sync waits.
// The group is Stable with the replay; refused records leave it as it is, with the
// others waiting for the leader to try again.
func (g *Groups) assign(now time.Time, c *group, r *SyncRequest, token shard.Token, out *Outcome) {
	given := make(map[string][]byte, len(r.Assignments))
	for _, a := range r.Assignments {
		given[a.Member] = a.Bytes
	}
	out.RecordsOnly = true
	out.Records = append(out.Records, c.record(now, given))
	others := 0
	for _, m := range c.members {
		switch {
		case m.id == c.leader:
			out.Reply(token, c.syncReply(given[m.id]), nil)
		case m.syncing != 0:
			out.Reply(m.syncing, c.syncReply(given[m.id]), nil)
		default:
			others++
			continue
		}
		c.awaitHeartbeat(m, m.sessionTimeout, out)
	}
	if others == 0 {
		out.Cancel(c.timer(syncTimer, ""))
	}
}

func (c *group) syncReply(assignment []byte) *SyncReply {
	return &SyncReply{ProtocolType: c.protocolType, Protocol: c.protocol, Assignment: assignment}
}

// awaitSyncs starts the time in which every member must sync, which is as long as
// that for joining. Without it a member that heartbeats and never syncs would hang
// the group for ever (KAFKA-12890).
func (g *Groups) awaitSyncs(c *group, out *Outcome) {
	if planted.Is(planted.NoSyncTimer) {
		return
	}
	out.Set(c.timer(syncTimer, ""), c.rebalanceTimeout(g.options.TimeoutRule))
}

// synced notes that the member has asked for its assignment.
func (c *group) synced(m *member, out *Outcome) {
	if !c.unsynced[m.id] {
		return
	}
	delete(c.unsynced, m.id)
	if len(c.unsynced) == 0 {
		out.Cancel(c.timer(syncTimer, ""))
	}
}

// syncTimedOut removes the members that did not sync in time and rebalances.
func (g *Groups) syncTimedOut(now time.Time, c *group, out *Outcome) {
	if c.state != CompletingRebalance && c.state != Stable || len(c.unsynced) == 0 {
		return
	}
	for i := len(c.members) - 1; i >= 0; i-- {
		if m := c.members[i]; c.unsynced[m.id] {
			out.Cancel(c.timer(heartbeatTimer, m.id))
			c.remove(m)
		}
	}
	g.prepareRebalance(now, c, out)
}
