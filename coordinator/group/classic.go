package group

import (
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// group is one group and its offsets: its members by the classic protocol (Kafka's
// GroupMetadata), or its consumers.
type group struct {
	id    string
	state State
	since time.Time // when it came into state
	// generation is 0 until the first rebalance is complete; the log knows the group
	// from then on.
	generation             int32
	protocolType, protocol string
	// leader is a member's id, empty without members.
	leader string
	// members are in the order in which they joined.
	members []*member
	byID    map[string]*member
	// instances maps the instance ids of static members to their member ids.
	instances map[string]string
	// pending are ids that were given out and have not joined yet; the rebalance
	// waits for them.
	pending map[string]bool
	// unsynced are members of this generation that have not asked for their
	// assignment yet.
	unsynced map[string]bool
	// joining counts the members whose join waits.
	joining int
	// initial says that the rebalance is the first from Empty, which waits for more
	// members even if all have joined; delayLeft is how long it still may.
	initial   bool
	delayLeft time.Duration
	// grown says that a member came during the initial delay.
	grown bool
	// arriving is the new life of a static member until its record is replayed.
	arriving *member

	// consumers is not nil where the group speaks the protocol of KIP-848; all above
	// is then as in a group without members.
	consumers *consumers

	watch func(Change) // nil where nobody looks on

	offsets map[TopicPartition]offset
	// undecided are the offsets of open transactions, by producer.
	undecided map[int64]map[TopicPartition]offset
}

// member is one member of a group (MemberMetadata).
type member struct {
	id, instance, clientID, clientHost string
	rebalanceTimeout, sessionTimeout   time.Duration
	protocols                          []Protocol
	assignment                         []byte
	// joining and syncing are the tokens of requests that wait, 0 for none.
	joining, syncing shard.Token
	// fresh says that the member has not had its first join reply: it cannot
	// heartbeat yet, and its silence is judged though its join waits.
	fresh bool
	heard time.Time
}

func newGroup(id string) *group {
	return &group{
		id: id, byID: map[string]*member{}, instances: map[string]string{}, pending: map[string]bool{},
		unsynced: map[string]bool{}, offsets: map[TopicPartition]offset{}, undecided: map[int64]map[TopicPartition]offset{},
	}
}

// become changes the state.
func (c *group) become(s State, now time.Time) {
	c.state, c.since = s, now
	if c.watch != nil {
		c.watch(Change{Kind: GroupChanged, Group: c.id, What: s.String(), Generation: c.generation, Members: len(c.members)})
	}
}

// add takes a member in. The first decides the protocol type, and leads.
func (c *group) add(m *member, protocolType string) {
	if len(c.members) == 0 {
		c.protocolType, c.leader = protocolType, m.id
	}
	c.members = append(c.members, m)
	c.byID[m.id] = m
	if m.instance != "" {
		c.instances[m.instance] = m.id
	}
	if m.joining != 0 {
		c.joining++
	}
	c.tellMember(m.id, "joined")
}

// remove takes a member out. Its requests have been answered.
func (c *group) remove(m *member) {
	c.members = slices.DeleteFunc(c.members, func(other *member) bool { return other == m })
	delete(c.byID, m.id)
	delete(c.unsynced, m.id)
	if m.instance != "" && c.instances[m.instance] == m.id {
		delete(c.instances, m.instance)
	}
	if c.leader == m.id {
		c.leader = ""
		if len(c.members) > 0 {
			c.leader = c.members[0].id
		}
	}
	c.tellMember(m.id, "left")
}

// replace puts the new life of a static member in the place of the old one.
func (c *group) replace(old, m *member) {
	c.members[slices.Index(c.members, old)] = m
	delete(c.byID, old.id)
	delete(c.unsynced, old.id)
	c.byID[m.id] = m
	c.instances[m.instance] = m.id
	if c.leader == old.id {
		c.leader = m.id
	}
	if m.joining != 0 {
		c.joining++
	}
}

// check finds the member that a request speaks of (validateCurrentMember).
func (c *group) check(id, instance string) (*member, error) {
	if instance != "" {
		switch current, ok := c.instances[instance]; {
		case !ok:
			return nil, ErrUnknownMember
		case current != id:
			return nil, ErrFencedInstance
		}
	}
	m := c.byID[id]
	if m == nil {
		return nil, ErrUnknownMember
	}
	return m, nil
}

// answerJoin replies to a member's waiting join.
func (c *group) answerJoin(m *member, body *JoinReply, err error, out *Outcome) {
	if m.joining == 0 {
		return
	}
	if body == nil {
		out.Reply(m.joining, nil, err)
	} else {
		out.Reply(m.joining, body, err)
	}
	m.joining = 0
	c.joining--
}

// answerSync replies with an error to a member's waiting sync.
func answerSync(m *member, err error, out *Outcome) {
	if m.syncing == 0 {
		return
	}
	out.Reply(m.syncing, nil, err)
	m.syncing = 0
}

// timer is the key of a timer of the group; member may be empty.
func (c *group) timer(kind int8, member string) shard.TimerKey {
	return shard.TimerKey{Kind: kind, Name: c.id, Member: member}
}

// awaitHeartbeat ends the member's wait for a heartbeat and begins the next (Kafka's
// completeAndScheduleNextHeartbeatExpiration).
func (c *group) awaitHeartbeat(m *member, d time.Duration, out *Outcome) {
	out.Set(c.timer(heartbeatTimer, m.id), d)
}

// empty says that nobody is in the group, of whichever protocol.
func (c *group) empty() bool {
	return c.state == Empty && (c.consumers == nil || len(c.consumers.members) == 0)
}

// hasOffsets says that an offset is committed or may be by an open transaction.
func (c *group) hasOffsets() bool { return len(c.offsets) > 0 || len(c.undecided) > 0 }
