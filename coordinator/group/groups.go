package group

import (
	"maps"
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// Groups is the state of one partition of __consumer_offsets: the groups that hash
// to it. It is confined to its shard's goroutine and implements shard.Machine.
//
// Every operation has the form X(now, request, token, out): the token's reply is in
// out, or comes in the outcome of a later operation.
type Groups struct {
	options Options
	groups  map[string]*group
	// undecided names, for each producer with an open transaction, the groups that
	// it committed offsets to.
	undecided map[int64]map[string]bool
	// verifying has the producers whose transaction is being verified.
	verifying map[int64]*Verification
	// loaded says that what is replayed was written by this machine.
	loaded bool
}

// New returns a partition without groups.
func New(o Options) *Groups {
	return &Groups{options: o, groups: map[string]*group{}, undecided: map[int64]map[string]bool{}, verifying: map[int64]*Verification{}}
}

// The kinds of timers. A rebalance, sync or retention timer has no member.
const (
	rebalanceTimer int8 = iota + 1
	syncTimer
	heartbeatTimer
	pendingTimer
	retentionTimer
	consumerSessionTimer
	consumerRebalanceTimer
)

// Loaded implements shard.Machine: members that were loaded have their session from
// now on, and a group that is over its size now rebalances.
func (g *Groups) Loaded(now time.Time, out *Outcome) {
	g.loaded = true
	for _, id := range slices.Sorted(maps.Keys(g.groups)) {
		c := g.groups[id]
		for _, m := range c.members {
			m.heard = now
			c.awaitHeartbeat(m, m.sessionTimeout, out)
		}
		g.awaitLoaded(c, out)
		if len(c.members) > g.options.MaxSize {
			g.prepareRebalance(now, c, out)
		}
	}
	out.Set(shard.TimerKey{Kind: retentionTimer}, g.options.RetentionInterval)
}

// Expire implements shard.Machine.
func (g *Groups) Expire(now time.Time, key shard.TimerKey, out *Outcome) {
	if key.Kind == retentionTimer {
		g.expireOffsets(now, out)
		return
	}
	c := g.groups[key.Name]
	if c == nil {
		return
	}
	switch key.Kind {
	case rebalanceTimer:
		g.rebalanceTimedOut(now, c, out)
	case syncTimer:
		g.syncTimedOut(now, c, out)
	case heartbeatTimer:
		g.heartbeatTimedOut(now, c, key.Member, out)
	case pendingTimer:
		delete(c.pending, key.Member)
		g.tryCompleteJoin(now, c, out)
	default:
		g.consumerTimedOut(key.Kind, c, key.Member, out)
	}
	g.dropUnused(c)
}

// consumerKey is the key of a timer of a consumer.
func consumerKey(kind int8, group, member string) shard.TimerKey {
	return shard.TimerKey{Kind: kind, Name: group, Member: member}
}

// group returns the group of an id, a new one where there is none.
func (g *Groups) group(id string) *group {
	c := g.groups[id]
	if c == nil {
		c = g.watched(newGroup(id))
		g.groups[id] = c
	}
	return c
}

// dropUnused forgets a group that the log does not know and nobody is in.
func (g *Groups) dropUnused(c *group) {
	if c.generation == 0 && c.state == Empty && c.consumers == nil && len(c.pending) == 0 && !c.hasOffsets() {
		c.state = Dead
		delete(g.groups, c.id)
	}
}
