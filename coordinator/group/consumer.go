package group

import (
	"maps"
	"slices"
)

// consumers is the part of a group that speaks the protocol of KIP-848 (Kafka's
// ConsumerGroup). All of it stands in the log: operations read it and write records,
// and only Replay changes it.
type consumers struct {
	epoch        int32
	metadataHash int64
	// seen is the version of the metadata that metadataHash was compared with, so
	// that a heartbeat need not look at topics that have not changed. It is memory.
	seen    int64
	members map[string]*consumerMember
	// instances maps instance ids to member ids.
	instances map[string]string
	// targetEpoch is the group epoch that targets were made for.
	targetEpoch int32
	targets     map[string]partitionSet
	// owners says who has a partition or must give it back.
	owners map[partition]string
}

// consumerMember is one member. A replayed member is never changed but replaced.
type consumerMember struct {
	id, instance, rack, clientID, clientHost string
	rebalanceTimeoutMs                       int32
	topics                                   []string
	pattern                                  *pattern
	assignor                                 string

	epoch, previousEpoch int32
	state                MemberState
	assigned, revoking   partitionSet
}

func newConsumers() *consumers {
	return &consumers{
		seen: -1, members: map[string]*consumerMember{}, instances: map[string]string{},
		targets: map[string]partitionSet{}, owners: map[partition]string{},
	}
}

// ordered are the members in the order in which assignors see them.
func (c *consumers) ordered() []*consumerMember {
	return slices.SortedFunc(maps.Values(c.members), compareMembers)
}

// stateName is the group's state in descriptions: Assigning while the target is to be
// made, Reconciling while a member is not there yet.
func (c *consumers) stateName() string {
	switch {
	case len(c.members) == 0:
		return "Empty"
	case c.epoch > c.targetEpoch:
		return "Assigning"
	}
	for _, m := range c.members {
		if m.state != MemberStable || m.epoch != c.targetEpoch {
			return "Reconciling"
		}
	}
	return "Stable"
}

// reads says that a member reads the topic.
func (c *consumers) reads(topic string) bool {
	for _, m := range c.members {
		if slices.Contains(m.topics, topic) || m.pattern.matches(topic) {
			return true
		}
	}
	return false
}

// assignor is the one that most members ask for, of equals the first by name; without
// wishes it is uniform.
func (c *consumers) assignor(changed *consumerMember) string {
	votes := map[string]int{}
	count := func(m *consumerMember) {
		if m.assignor != "" {
			votes[m.assignor]++
		}
	}
	for id, m := range c.members {
		if changed == nil || id != changed.id {
			count(m)
		}
	}
	if changed != nil {
		count(changed)
	}
	best := UniformAssignor
	for _, name := range slices.Sorted(maps.Keys(votes)) {
		if votes[name] > votes[best] {
			best = name
		}
	}
	return best
}

// check compares a request of a member with what the group has of it.
func (c *consumers) check(id string, epoch int32) error {
	switch m := c.members[id]; {
	case m == nil:
		return ErrUnknownMember
	case m.epoch != epoch:
		return ErrStaleMemberEpoch
	}
	return nil
}
