package group

import (
	"time"

	"tidemark/coordinator/shard"
)

// record is the group as the log is to hold it at this generation; a nil assignment
// map keeps what the members have.
func (c *group) record(now time.Time, given map[string][]byte) *GroupRecord {
	r := &GroupRecord{
		Group: c.id, ProtocolType: c.protocolType, Protocol: c.protocol, Leader: c.leader,
		Generation: c.generation, TimestampMs: now.UnixMilli(),
	}
	for _, m := range c.members {
		assignment := m.assignment
		if given != nil {
			assignment = given[m.id]
		}
		r.Members = append(r.Members, m.record(c.protocol, assignment))
	}
	return r
}

func (m *member) record(protocol string, assignment []byte) MemberRecord {
	return MemberRecord{
		Member: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost,
		RebalanceTimeoutMs: int32(m.rebalanceTimeout.Milliseconds()), SessionTimeoutMs: int32(m.sessionTimeout.Milliseconds()),
		Subscription: m.metadata(protocol), Assignment: assignment,
	}
}

// Replay implements shard.Machine.
func (g *Groups) Replay(from shard.Origin, r Record) {
	if g.options.Watch != nil {
		g.tellRecord(from, r)
	}
	switch r := r.(type) {
	case *GroupRecord:
		g.replayGroup(r)
	case *OffsetRecord:
		g.replayOffset(from, r)
	default:
		g.replayConsumers(r)
	}
}

// replayGroup makes the group what the record says: Stable, or Empty without
// members. Once loaded, members that are in memory stay what they are, for the record
// was made of them; while loading all come from the record, with the one protocol
// that it knows of.
func (g *Groups) replayGroup(r *GroupRecord) {
	if r.Tombstone {
		g.forgetGroup(r.Group)
		return
	}
	c := g.group(r.Group)
	c.generation, c.protocolType, c.protocol = r.Generation, r.ProtocolType, r.Protocol
	if g.loaded {
		c.keepOnly(r.Members)
	} else {
		c.keepOnly(nil)
	}
	order := make([]*member, 0, len(r.Members))
	for i := range r.Members {
		m := c.recorded(&r.Members[i])
		order = append(order, m)
		m.assignment = r.Members[i].Assignment
		if m.syncing != 0 || m.id == r.Leader {
			m.syncing = 0 // answered by the outcome that wrote this
			delete(c.unsynced, m.id)
		}
	}
	c.members, c.leader, c.arriving = order, r.Leader, nil
	state := Stable
	if len(c.members) == 0 {
		state = Empty
	}
	c.become(state, time.UnixMilli(r.TimestampMs))
}

// recorded is the member of a record.
func (c *group) recorded(r *MemberRecord) *member {
	if m := c.byID[r.Member]; m != nil {
		return m
	}
	if m := c.arriving; m != nil && m.id == r.Member {
		c.replace(c.byID[c.instances[m.instance]], m)
		return m
	}
	m := &member{
		id: r.Member, instance: r.InstanceID, clientID: r.ClientID, clientHost: r.ClientHost,
		rebalanceTimeout: time.Duration(r.RebalanceTimeoutMs) * time.Millisecond,
		sessionTimeout:   time.Duration(r.SessionTimeoutMs) * time.Millisecond,
		protocols:        []Protocol{{Name: c.protocol, Metadata: r.Subscription}},
	}
	c.add(m, c.protocolType)
	return m
}

// keepOnly removes members that a record does not have: those of earlier generations
// in the log. The old life of an arriving member stays to be replaced.
func (c *group) keepOnly(records []MemberRecord) {
	keep := make(map[string]bool, len(records))
	for i := range records {
		keep[records[i].Member] = true
	}
	if c.arriving != nil {
		keep[c.instances[c.arriving.instance]] = true
	}
	for i := len(c.members) - 1; i >= 0; i-- {
		if m := c.members[i]; !keep[m.id] {
			c.remove(m)
		}
	}
}

// forgetGroup is a group's tombstone: its offsets have their own.
func (g *Groups) forgetGroup(id string) {
	c := g.groups[id]
	if c == nil {
		return
	}
	c.become(Dead, c.since)
	if !c.hasOffsets() {
		delete(g.groups, id)
		return
	}
	fresh := g.watched(newGroup(id))
	fresh.offsets, fresh.undecided, fresh.pending = c.offsets, c.undecided, c.pending
	g.groups[id] = fresh
}
