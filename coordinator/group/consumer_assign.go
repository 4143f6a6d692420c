package group

import (
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"
)

// with are the members in order, m among them in its present form and without the
// earlier life that it replaces.
func (c *consumers) with(m *consumerMember) []*consumerMember {
	list := []*consumerMember{m}
	old := c.replaced(m)
	for id, other := range c.members {
		if id != m.id && other != old {
			list = append(list, other)
		}
	}
	slices.SortFunc(list, compareMembers)
	return list
}

// hash is over the topics that members read, as far as they exist. Nothing is looked
// at while neither the metadata nor a subscription has changed.
func (c *consumers) hash(m *consumerMember, changed bool, read *subscriptions) int64 {
	version := read.metadata.Version()
	if !changed && version == c.seen {
		return c.metadataHash
	}
	names := map[string]bool{}
	for _, member := range c.with(m) {
		for _, name := range read.of(member) {
			names[name] = true
		}
	}
	sum := fnv.New64a()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if id, partitions, ok := read.metadata.Topic(name); ok {
			sum.Write(id[:])
			sum.Write(binary.BigEndian.AppendUint32(nil, uint32(partitions)))
		}
	}
	hash := int64(sum.Sum64())
	if hash == c.metadataHash {
		c.seen = version
	}
	return hash
}

// assign makes the target assignment of an epoch, and writes what differs from the
// present one.
func (c *consumers) assign(m *consumerMember, group string, read *subscriptions, epoch int32, out *Outcome) map[string]partitionSet {
	members := c.with(m)
	in := assignorInput{}
	topics := map[[16]byte]int32{}
	old := c.replaced(m)
	for _, member := range members {
		a := assignee{id: member.id, reads: map[[16]byte]bool{}, before: c.targets[member.id]}
		if member == m && old != nil {
			a.before = c.targets[old.id]
		}
		for _, name := range read.of(member) {
			if id, partitions, ok := read.metadata.Topic(name); ok {
				a.reads[id], topics[id] = true, partitions
			}
		}
		in.members = append(in.members, a)
	}
	for id, partitions := range topics {
		in.topics = append(in.topics, assignedTopic{id, partitions})
	}
	slices.SortFunc(in.topics, func(a, b assignedTopic) int { return slices.Compare(a.id[:], b.id[:]) })
	targets := assignors[c.assignor(m)](in)
	for _, member := range members {
		if before, ok := c.targets[member.id]; !ok || !sameSet(before, targets[member.id]) {
			out.Records = append(out.Records, &TargetRecord{Group: group, Member: member.id, Partitions: targets[member.id].list()})
		}
	}
	out.Records = append(out.Records, &TargetEpochRecord{Group: group, Epoch: epoch})
	return targets
}
