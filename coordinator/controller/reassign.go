package controller

import (
	"context"
	"maps"
	"slices"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// A reassignment adds before it removes, as Kafka's does (KIP-455): while it is under
// way the partition has old and new replicas, and what it leads to stands in the
// topic's node, so any controller can take it up. Once all target replicas are in
// sync, leadership moves to one of them and the others leave the ISR; then the
// assignment is the target, and the others are stopped and deleted.
//
// Where a majority of the assigned counts, two assignments that differ by more than
// one replica have majorities that do not meet. There it goes one replica at a time,
// an addition before each removal, and the next step waits until the leader of the
// one before has its own epoch's batch on enough replicas: only then does nothing
// depend any more on the majority of before (Raft's single-server changes).

// change is what one step makes of a partition.
type change struct {
	p *partition
	// replicas, adding, removing and target are what the topic's node will say.
	replicas, adding, removing, target []int32
	// state is the partition's, at the leader epoch of the step.
	state znode.PartitionState
}

func (p *partition) reassigning() bool {
	t, i := p.topic, p.index
	return len(t.Adding[i])+len(t.Removing[i])+len(t.Target[i]) > 0
}

func (t *topic) reassigning() bool {
	for _, p := range t.partitions {
		if p.reassigning() {
			return true
		}
	}
	return false
}

// target are the replicas that the assignment leads to, preferred first.
func (p *partition) target() []int32 {
	if target := p.topic.Target[p.index]; len(target) > 0 {
		return target
	}
	return without(p.replicas, p.topic.Removing[p.index])
}

// origin are the replicas before the reassignment.
func (p *partition) origin() []int32 { return without(p.replicas, p.topic.Adding[p.index]) }

func without(a, b []int32) []int32 {
	var out []int32
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

func union(a, b []int32) []int32 { return append(slices.Clone(a), without(b, a)...) }

// stepwise: one replica at a time.
func (c *Controller) stepwise(p *partition) bool {
	return c.strategy(p.topic.Name).spec.Promise == replication.Majority
}

// begin is the first step to target.
func (c *Controller) begin(p *partition, target []int32) change {
	origin := p.origin()
	adding, removing := without(target, origin), without(origin, target)
	if c.stepwise(p) {
		// What of an earlier reassignment came in and is not wanted goes as the others do.
		return c.reshape(p, p.replicas, adding, union(removing, without(p.replicas, target)), target)
	}
	replicas := union(target, origin)
	if dropped := without(p.replicas, replicas); len(dropped) > 0 && !c.spare(p, dropped) {
		// Who was being added may be all there is in sync: it leaves as others do.
		replicas, removing = union(replicas, dropped), union(removing, dropped)
	}
	return c.reshape(p, replicas, adding, removing, nil)
}

// spare says whether the partition can do without the replicas at once.
func (c *Controller) spare(p *partition, replicas []int32) bool {
	left := slices.ContainsFunc(p.state.ISR, func(m replication.Member) bool { return !slices.Contains(replicas, m.Broker) })
	return left && !slices.Contains(replicas, p.state.Leader)
}

// reshape is the change to those replicas, with who is dropped out of the ISR, at a
// new leader epoch: the leader and its followers hear of the replicas with it.
func (c *Controller) reshape(p *partition, replicas, adding, removing, target []int32) change {
	next := p.state
	assigned := func(m replication.Member) bool { return slices.Contains(replicas, m.Broker) }
	next.ISR, next.ELR = keep(next.ISR, assigned), keep(next.ELR, assigned)
	if next.Leader != znode.NoLeader && !slices.Contains(replicas, next.Leader) {
		next.Leader = znode.NoLeader // elected anew among who is left
	}
	if !p.neverLed() {
		next.LeaderEpoch++ // else its first leader is to be elected still, as one of a new partition
	}
	next.ControllerEpoch = c.fence.Epoch
	return change{p, replicas, adding, removing, target, next}
}

func keep(set []replication.Member, want func(replication.Member) bool) []replication.Member {
	var out []replication.Member
	for _, m := range set {
		if want(m) {
			out = append(out, m)
		}
	}
	return out
}

// carryOut writes the changes of one topic: the states, then the topic's node. A
// controller that dies in between leaves states that fit the old assignment too; the
// next one takes the step again.
func (c *Controller) carryOut(ctx context.Context, t *topic, changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	var partitions []*partition
	var states []znode.PartitionState
	for _, ch := range changes {
		ch.p.held = true
		c.dirty[ch.p] = true
		partitions, states = append(partitions, ch.p), append(states, ch.state)
	}
	c.stale[t.Name] = true // until it is done: then the topic is as known
	if err := c.noteDropped(ctx, t, changes); err != nil {
		return err
	}
	if err := c.writeStates(ctx, partitions, states); err != nil {
		return err
	}
	next := t.Topic
	next.Partitions, next.Adding, next.Removing, next.Target = maps.Clone(t.Partitions), maps.Clone(t.Adding), maps.Clone(t.Removing), maps.Clone(t.Target)
	var done []change
	for _, ch := range changes {
		if ch.p.reread {
			ch.p.held = false // somebody else wrote the state: the step is taken again
			continue
		}
		done = append(done, ch)
		next.Partitions[ch.p.index] = ch.replicas
		set(&next.Adding, ch.p.index, ch.adding)
		set(&next.Removing, ch.p.index, ch.removing)
		set(&next.Target, ch.p.index, ch.target)
	}
	var err error
	if next.Version, err = c.o.Client.SetTopic(ctx, c.fence, next); err != nil {
		return err
	}
	delete(c.stale, t.Name)
	t.Topic = next
	for _, ch := range done {
		c.reshaped(ch)
	}
	return c.tellStrays(ctx)
}

// noteDropped notes whose replicas are to be deleted, and whose not any more.
func (c *Controller) noteDropped(ctx context.Context, t *topic, changes []change) error {
	gone, back := map[int32][]int32{}, map[int32][]int32{}
	for _, ch := range changes {
		gone[ch.p.index] = without(ch.p.replicas, ch.replicas)
		back[ch.p.index] = without(ch.replicas, ch.p.replicas)
	}
	return c.noteStrays(ctx, t, gone, back)
}

func set(m *map[int32][]int32, p int32, replicas []int32) {
	if len(replicas) == 0 {
		delete(*m, p)
		return
	}
	if *m == nil {
		*m = map[int32][]int32{}
	}
	(*m)[p] = replicas
}

// reshaped takes a change over once it stands.
func (c *Controller) reshaped(ch change) {
	p := ch.p
	for _, id := range without(p.replicas, ch.replicas) {
		delete(p.answers, id)
		delete(p.offline, id)
	}
	p.replicas, p.held = ch.replicas, false
	c.log.Info("replicas changed", "topic", p.topic.Name, "partition", p.index, "replicas", ch.replicas, "adding", ch.adding, "removing", ch.removing)
}

// advanceAll takes the next step of every reassignment that is ready for it.
func (c *Controller) advanceAll(ctx context.Context) error {
	for _, name := range sortedKeys(c.topics) {
		t := c.topics[name]
		if t.deletion != nil || !t.reassigning() {
			continue
		}
		var changes []change
		for _, i := range sortedKeys(t.partitions) {
			if p := t.partitions[i]; p.reassigning() && p.exists && !c.dirty[p] && !p.held {
				if ch, ok := c.advance(p); ok {
					changes = append(changes, ch)
				}
			}
		}
		if err := c.carryOut(ctx, t, changes); err != nil {
			return err
		}
		if !t.reassigning() {
			c.signal(deletionsEvent)
		}
	}
	return c.finishWanted(ctx)
}

// advance is the next step, if it may be taken.
func (c *Controller) advance(p *partition) (change, bool) {
	target := p.target()
	if c.stepwise(p) {
		return c.advanceStepwise(p, target)
	}
	for _, id := range target {
		if !replication.Contains(p.state.ISR, id) {
			return change{}, false
		}
	}
	ch := c.reshape(p, target, nil, nil, nil)
	if ch.state.Leader == znode.NoLeader && p.state.Leader != znode.NoLeader {
		// The leader goes: the first of those in sync that lives takes over.
		for _, id := range target {
			if live, epoch := c.live(id); live && p.offline[id] != epoch {
				ch.state.Leader = id
				break
			}
		}
		if ch.state.Leader == znode.NoLeader {
			return change{}, false
		}
	}
	return ch, true
}

// advanceStepwise adds or removes one replica, once the change before is settled.
func (c *Controller) advanceStepwise(p *partition, target []int32) (change, bool) {
	add, remove := without(target, p.replicas), without(p.replicas, target)
	for _, id := range without(p.replicas, remove) {
		if slices.Contains(p.topic.Adding[p.index], id) && !replication.Contains(p.state.ISR, id) {
			return change{}, false // it has no full copy yet
		}
	}
	if !c.settledEpoch(p) {
		return change{}, false
	}
	adding, removing := p.topic.Adding[p.index], p.topic.Removing[p.index]
	switch {
	case len(add) > 0 && (len(p.replicas) <= len(target) || len(remove) == 0):
		return c.reshape(p, append(slices.Clone(p.replicas), add[0]), adding, removing, target), true
	case len(remove) > 0:
		out := remove[0]
		if out == p.state.Leader && len(remove) > 1 {
			out = remove[1] // who leads goes last
		}
		return c.reshape(p, without(p.replicas, []int32{out}), adding, removing, target), true
	}
	return c.reshape(p, target, nil, nil, nil), true
}

// settledEpoch says whether the leader's epoch is established on enough of the
// present replicas; where that is not known, the leader is asked.
func (c *Controller) settledEpoch(p *partition) bool {
	s := p.state
	if s.Leader == znode.NoLeader {
		return false
	}
	if p.committed == s.LeaderEpoch {
		return true
	}
	if p.asked == s.LeaderEpoch {
		return false
	}
	p.asked = s.LeaderEpoch
	epoch, leader, k := s.LeaderEpoch, s.Leader, p.key()
	term := c.term
	c.work.Go(func() {
		ctx, cancel := context.WithTimeout(term, c.o.RequestTimeout)
		defer cancel()
		ok, err := c.o.Peers.Committed(ctx, leader, Committed{
			TopicPartition: k.TopicPartition, TopicID: k.id, LeaderEpoch: epoch,
		})
		c.post(func() {
			if p.asked == epoch {
				p.asked = replication.NoEpoch
			}
			if ok && err == nil {
				p.committed = epoch
				c.signal(tickEvent)
			}
		})
	})
	return false
}
