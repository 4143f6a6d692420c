package group

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"tidemark/coordinator/shard"
)

// mayCommit checks an accepted commit against the group as it was.
func (d *driven) mayCommit(before *Description, r *CommitRequest) {
	if before.State == "Dead" || before.State == "Empty" {
		if r.Generation >= 0 {
			d.t.Fatalf("a group without members took the commit of %q, generation %d", r.Member, r.Generation)
		}
		return
	}
	member := slices.ContainsFunc(before.Members, func(m DescribedMember) bool { return m.Member == r.Member })
	if !member || r.Generation != before.Generation || before.State == "CompletingRebalance" {
		d.t.Fatalf("a group in %s, generation %d, took the commit of %q, generation %d, a member: %v",
			before.State, before.Generation, r.Member, r.Generation, member)
	}
}

// forgetUnlogged drops what was said of generations that the log does not know: their
// numbers come again, and nobody was assigned anything in them.
func (d *driven) forgetUnlogged() {
	logged := int32(0)
	for _, l := range d.log {
		if g, ok := l.record.(*GroupRecord); ok {
			logged = g.Generation
		}
	}
	for n, g := range d.told {
		if n > logged && len(g.owners) > 0 {
			d.t.Fatalf("generation %d was assigned and is not in the log", n)
		}
	}
	maps.DeleteFunc(d.told, func(n int32, _ *generation) bool { return n > logged })
}

// joined checks that all members of a generation are told the same.
func (d *driven) joined(a *actor, b *JoinReply) {
	a.generation, a.leads, a.others = b.Generation, b.Leader == b.Member && !b.SkipAssignment, nil
	for _, m := range b.Members {
		a.others = append(a.others, m.Member)
	}
	g := d.told[b.Generation]
	if g == nil {
		g = &generation{protocol: b.Protocol, owners: map[byte]string{}}
		d.told[b.Generation] = g
	}
	who := cmp.Or(a.instance, a.member)
	if a.leads && g.leader == "" {
		g.leader = who
	}
	if g.protocol != b.Protocol || a.leads && (g.leader != who || len(b.Members) == 0) {
		d.t.Fatalf("generation %d has protocol %s and leader %s, and %s is told %+v", b.Generation, g.protocol, g.leader, a.name, b)
	}
}

// assigned checks that nobody else of the generation has the partitions. A static
// member's lives are one owner.
func (d *driven) assigned(q *request, b *SyncReply) {
	g := d.told[q.generation]
	for _, p := range b.Assignment {
		if owner, ok := g.owners[p]; ok && owner != q.owner {
			d.t.Fatalf("partition %d of generation %d is %s's and is given to %s", p, q.generation, owner, q.owner)
		}
		g.owners[p] = q.owner
	}
}

// describe asks without leaving a trace.
func (d *driven) describe() *Description {
	var out Outcome
	d.groups.Describe(d.now, "g", 1, &out)
	return out.Replies[0].Body.(*Description)
}

// check is done after every step.
func (d *driven) check() {
	c := d.groups.groups["g"]
	if c == nil {
		return
	}
	joining := 0
	for _, m := range c.members {
		if m.joining != 0 {
			joining++
		}
		if m.joining != 0 && c.state != PreparingRebalance || m.syncing != 0 && c.state != CompletingRebalance {
			d.t.Fatalf("%s waits in %s: %+v", m.id, c.state, m)
		}
		if _, armed := d.timers[c.timer(heartbeatTimer, m.id)]; !armed && (m.fresh || m.joining == 0 && m.syncing == 0) {
			d.t.Fatalf("nobody would notice the silence of %s in %s", m.id, c.state)
		}
	}
	switch {
	case joining != c.joining || len(c.members) != len(c.byID) || (len(c.members) == 0) != (c.leader == "") || len(c.members) > 0 && c.byID[c.leader] == nil:
		d.t.Fatalf("the group contradicts itself: %+v", c)
	case (c.state == Stable || c.state == CompletingRebalance) && len(c.members) == 0, c.state == Empty && len(c.members) > 0:
		d.t.Fatalf("%s with %d members", c.state, len(c.members))
	case c.state == PreparingRebalance && c.allJoined():
		d.t.Fatal("a rebalance waits for nobody")
	}
	d.readsBack(c)
}

// readsBack compares the offsets with what was acknowledged.
func (d *driven) readsBack(c *group) {
	for at, want := range d.acked {
		if got := c.committed(at, false).Offset; got != want {
			d.t.Fatalf("%v: offset %d is read, %d was acknowledged last", at, got, want)
		}
	}
}

// sameAfterReload compares the machine with one made from its log.
func (d *driven) sameAfterReload() {
	live := d.world.groups
	other := *d.world
	other.timers, other.timed = map[shard.TimerKey]pendingTime{}, func(shard.Timer) {}
	other.load()
	c := live.groups["g"]
	settled := c != nil && (c.state == Stable || c.state == Empty && c.generation > 0)
	if got, want := persistent(other.groups, settled), persistent(live, settled); got != want {
		d.t.Fatalf("made again from the log:\n%s\nwhile in memory:\n%s", got, want)
	}
}

// persistent renders what a log must hold: offsets always, and a group that is
// settled.
func persistent(g *Groups, settled bool) string {
	var b bytes.Buffer
	c := g.groups["g"]
	if c == nil {
		return ""
	}
	for _, at := range c.everyOffset() {
		fmt.Fprintf(&b, "%v %d unstable %v\n", at, c.committed(at, false).Offset, c.unstable(at))
	}
	if settled {
		fmt.Fprintf(&b, "%s %d %s %s\n", c.state, c.generation, c.protocol, c.leader)
		for _, m := range c.members {
			fmt.Fprintf(&b, "%s %s %v %v %v\n", m.id, m.instance, m.assignment, m.metadata(c.protocol), m.sessionTimeout)
		}
	}
	return b.String()
}
