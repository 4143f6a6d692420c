package group

import (
	"maps"
	"slices"
	"time"
)

// removeConsumer writes that a member is gone; the others' next heartbeats share its
// partitions.
func (g *Groups) removeConsumer(group string, c *consumers, m *consumerMember, out *Outcome) {
	buryMember(group, m.id, out)
	out.Records = append(out.Records, &ConsumerGroupRecord{Group: group, Epoch: c.epoch + 1, MetadataHash: c.metadataHash})
	out.Cancel(consumerKey(consumerSessionTimer, group, m.id))
	out.Cancel(consumerKey(consumerRebalanceTimer, group, m.id))
}

// buryMember writes the tombstones of a member.
func buryMember(group, id string, out *Outcome) {
	out.Records = append(out.Records,
		&CurrentRecord{Group: group, Member: id, Tombstone: true},
		&TargetRecord{Group: group, Member: id, Tombstone: true},
		&ConsumerMemberRecord{Group: group, Member: id, Tombstone: true})
}

// pauseConsumer writes that a static member has stopped. It keeps its partitions
// until its session ends.
func (g *Groups) pauseConsumer(group string, m *consumerMember, out *Outcome) {
	paused := *m
	paused.epoch, paused.previousEpoch = StaticLeaveEpoch, m.epoch
	out.Records = append(out.Records, paused.current(group))
	out.Cancel(consumerKey(consumerRebalanceTimer, group, m.id))
	out.Set(consumerKey(consumerSessionTimer, group, m.id), g.options.ConsumerSessionTimeout)
}

// awaitConsumer sets the member's timers: its session, and while it has to give
// partitions back the time for that, which is not begun anew by heartbeats.
func (g *Groups) awaitConsumer(group string, was, m *consumerMember, out *Outcome) {
	out.Set(consumerKey(consumerSessionTimer, group, m.id), g.options.ConsumerSessionTimeout)
	switch {
	case m.state != MemberRevoking:
		out.Cancel(consumerKey(consumerRebalanceTimer, group, m.id))
	case was.state != MemberRevoking:
		out.Set(consumerKey(consumerRebalanceTimer, group, m.id), time.Duration(m.rebalanceTimeoutMs)*time.Millisecond)
	}
}

// consumerTimedOut removes a member that was silent for its session, or did not give
// its partitions back in time.
func (g *Groups) consumerTimedOut(kind int8, c *group, id string, out *Outcome) {
	if c.consumers == nil {
		return
	}
	m := c.consumers.members[id]
	if m == nil || kind == consumerRebalanceTimer && m.state != MemberRevoking {
		return
	}
	out.RecordsOnly = true
	g.removeConsumer(c.id, c.consumers, m, out)
}

// awaitLoaded sets the timers of members that were loaded.
func (g *Groups) awaitLoaded(c *group, out *Outcome) {
	if c.consumers == nil {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(c.consumers.members)) {
		g.awaitConsumer(c.id, &consumerMember{id: id}, c.consumers.members[id], out)
	}
}

// buryConsumers writes the tombstones of a group without members.
func buryConsumers(group string, out *Outcome) {
	out.Records = append(out.Records,
		&TargetEpochRecord{Group: group, Tombstone: true},
		&ConsumerGroupRecord{Group: group, Tombstone: true})
}
