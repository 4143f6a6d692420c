package group

// metadata is what a member says of itself, for the log.
func (m *consumerMember) metadata(group string) *ConsumerMemberRecord {
	return &ConsumerMemberRecord{
		Group: group, Member: m.id, InstanceID: m.instance, RackID: m.rack, ClientID: m.clientID, ClientHost: m.clientHost,
		RebalanceTimeoutMs: m.rebalanceTimeoutMs, Topics: m.topics, Regex: m.pattern.String(), Assignor: m.assignor,
	}
}

// current is where a member is, for the log.
func (m *consumerMember) current(group string) *CurrentRecord {
	return &CurrentRecord{
		Group: group, Member: m.id, Epoch: m.epoch, PreviousEpoch: m.previousEpoch, State: m.state,
		Assigned: m.assigned.list(), Revoking: m.revoking.list(),
	}
}

// replayConsumers applies a record of KIP-848.
func (g *Groups) replayConsumers(r Record) {
	switch r := r.(type) {
	case *ConsumerGroupRecord:
		g.replayConsumerGroup(r)
	case *ConsumerMemberRecord:
		if c := g.consumersFor(r.Group, r.Tombstone); c != nil {
			c.replayMember(r)
		}
	case *TargetEpochRecord:
		if c := g.consumersFor(r.Group, r.Tombstone); c != nil {
			c.targetEpoch = r.Epoch
		}
	case *TargetRecord:
		if c := g.consumersFor(r.Group, r.Tombstone); c != nil {
			if delete(c.targets, r.Member); !r.Tombstone {
				c.targets[r.Member] = setOf(r.Partitions)
			}
		}
	case *CurrentRecord:
		if c := g.consumersFor(r.Group, r.Tombstone); c != nil {
			c.replayCurrent(r)
		}
	}
}

// consumersFor finds what a record is about, and makes it unless it is a tombstone:
// compaction may have taken what was written before.
func (g *Groups) consumersFor(group string, tombstone bool) *consumers {
	if tombstone {
		if c := g.groups[group]; c != nil {
			return c.consumers
		}
		return nil
	}
	c := g.group(group)
	if c.consumers == nil {
		c.consumers = newConsumers()
	}
	return c.consumers
}

func (g *Groups) replayConsumerGroup(r *ConsumerGroupRecord) {
	c := g.consumersFor(r.Group, r.Tombstone)
	switch {
	case c == nil:
	case r.Tombstone:
		g.groups[r.Group].consumers = nil
		g.dropUnused(g.groups[r.Group])
	default:
		c.epoch, c.metadataHash = r.Epoch, r.MetadataHash
	}
}

func (c *consumers) replayMember(r *ConsumerMemberRecord) {
	m := c.copyOf(r.Member)
	if m.instance != "" && c.instances[m.instance] == m.id {
		delete(c.instances, m.instance)
	}
	if r.Tombstone {
		c.release(m)
		delete(c.members, m.id)
		return
	}
	m.instance, m.rack, m.clientID, m.clientHost = r.InstanceID, r.RackID, r.ClientID, r.ClientHost
	m.rebalanceTimeoutMs, m.topics, m.pattern, m.assignor = r.RebalanceTimeoutMs, r.Topics, loadedPattern(r.Regex), r.Assignor
	if m.instance != "" {
		c.instances[m.instance] = m.id
	}
	c.members[m.id] = m
}

func (c *consumers) replayCurrent(r *CurrentRecord) {
	if r.Tombstone && c.members[r.Member] == nil {
		return
	}
	m := c.copyOf(r.Member)
	c.release(m)
	m.epoch, m.previousEpoch, m.state = r.Epoch, r.PreviousEpoch, r.State
	m.assigned, m.revoking = setOf(r.Assigned), setOf(r.Revoking)
	for _, set := range []partitionSet{m.assigned, m.revoking} {
		for p := range set {
			c.owners[p] = m.id
		}
	}
	c.members[m.id] = m
}

// copyOf is a member to change and put in its place, a new one where there is none.
func (c *consumers) copyOf(id string) *consumerMember {
	if m := c.members[id]; m != nil {
		other := *m
		return &other
	}
	return &consumerMember{id: id, assigned: partitionSet{}, revoking: partitionSet{}}
}

// release takes a member's partitions from it.
func (c *consumers) release(m *consumerMember) {
	for _, set := range []partitionSet{m.assigned, m.revoking} {
		for p := range set {
			if c.owners[p] == m.id {
				delete(c.owners, p)
			}
		}
	}
}
