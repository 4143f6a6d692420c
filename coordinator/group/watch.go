package group

import "tidemark/coordinator/shard"

// ChangeKind says what a Change is about.
type ChangeKind int8

// The kinds of changes.
const (
	// GroupChanged: the group is in another state.
	GroupChanged ChangeKind = iota + 1
	// MemberChanged: a member joined, left, was replaced or, under KIP-848, moved on.
	MemberChanged
	// OffsetCommitted: an offset is in the log.
	OffsetCommitted
)

// Change is something that happened to a group, for who looks on (Options.Watch).
type Change struct {
	Kind          ChangeKind
	Group, Member string
	// What is the state of the group, or what the member did.
	What string
	// Generation is the group's, or the epoch of the group or the member.
	Generation int32
	// Members is how many there are.
	Members int
	// TopicPartition and Offset are what was committed.
	TopicPartition
	Offset int64
}

// watched has a group tell what changes, but for what is read from the log.
func (g *Groups) watched(c *group) *group {
	if g.options.Watch != nil {
		c.watch = g.tell
	}
	return c
}

func (g *Groups) tell(change Change) {
	if g.loaded {
		g.options.Watch(change)
	}
}

// tellMember tells what a member did.
func (c *group) tellMember(id, what string) {
	if c.watch != nil {
		c.watch(Change{Kind: MemberChanged, Group: c.id, Member: id, What: what, Generation: c.generation, Members: len(c.members)})
	}
}

// tellRecord tells what a record changed that no state of a classic group shows.
func (g *Groups) tellRecord(from shard.Origin, r Record) {
	switch r := r.(type) {
	case *OffsetRecord:
		if !r.Tombstone && !from.Transactional {
			g.tell(Change{Kind: OffsetCommitted, Group: r.Group, TopicPartition: r.TopicPartition, Offset: r.Offset})
		}
	case *ConsumerGroupRecord:
		what := "epoch"
		if r.Tombstone {
			what = "Dead"
		}
		g.tell(Change{Kind: GroupChanged, Group: r.Group, What: what, Generation: r.Epoch})
	case *ConsumerMemberRecord:
		what := "subscribed"
		if r.Tombstone {
			what = "left"
		}
		g.tell(Change{Kind: MemberChanged, Group: r.Group, Member: r.Member, What: what})
	case *CurrentRecord:
		if !r.Tombstone {
			g.tell(Change{Kind: MemberChanged, Group: r.Group, Member: r.Member, What: memberStates[r.State], Generation: r.Epoch})
		}
	}
}

var memberStates = [...]string{MemberStable: "stable", MemberRevoking: "revoking", MemberWaiting: "waiting"}
