package group

import "slices"

// update writes what the member says of itself and reports whether the group must
// assign anew; asked is the pattern that it wants.
func (c *consumers) update(m *consumerMember, asked *pattern, r *ConsumerHeartbeatRequest, out *Outcome) (next *consumerMember, bump bool) {
	updated := *m
	updated.clientID, updated.clientHost, updated.pattern = r.ClientID, r.ClientHost, asked
	if r.InstanceID != "" { // A client may leave out what has not changed.
		updated.instance = r.InstanceID
	}
	if r.RackID != "" {
		updated.rack = r.RackID
	}
	if r.RebalanceTimeout > 0 {
		updated.rebalanceTimeoutMs = int32(r.RebalanceTimeout.Milliseconds())
	}
	if r.Topics != nil {
		updated.topics = slices.Compact(slices.Sorted(slices.Values(r.Topics)))
	}
	if r.Assignor != nil {
		updated.assignor = *r.Assignor
	}
	known := c.members[m.id]
	if known != nil && known.sameAs(&updated) {
		return m, false
	}
	old := c.replaced(&updated)
	if old != nil {
		buryMember(r.Group, old.id, out)
		out.Cancel(consumerKey(consumerSessionTimer, r.Group, old.id))
		out.Records = append(out.Records, &TargetRecord{Group: r.Group, Member: m.id, Partitions: c.targets[old.id].list()})
	}
	out.Records = append(out.Records, updated.metadata(r.Group))
	bump = known == nil && old == nil || !m.readsAs(&updated) || m.assignor != updated.assignor
	return &updated, bump
}

// replaced is the earlier life of a static member that comes under another id.
func (c *consumers) replaced(m *consumerMember) *consumerMember {
	if m.instance == "" {
		return nil
	}
	if id, ok := c.instances[m.instance]; ok && id != m.id {
		return c.members[id]
	}
	return nil
}

// sameAs says that two members say the same of themselves.
func (m *consumerMember) sameAs(n *consumerMember) bool {
	return m.instance == n.instance && m.rack == n.rack && m.clientID == n.clientID && m.clientHost == n.clientHost &&
		m.rebalanceTimeoutMs == n.rebalanceTimeoutMs && m.assignor == n.assignor && m.readsAs(n)
}

// readsAs says that two members subscribe to the same.
func (m *consumerMember) readsAs(n *consumerMember) bool {
	return slices.Equal(m.topics, n.topics) && m.pattern.String() == n.pattern.String()
}

// asked is the pattern that a heartbeat subscribes to; the known one where it says
// nothing new.
func (m *consumerMember) asked(r *ConsumerHeartbeatRequest) (*pattern, error) {
	if r.Regex == nil || *r.Regex == m.pattern.String() {
		return m.pattern, nil
	}
	return newPattern(*r.Regex)
}
