package txns

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
)

// term is one leadership of a partition of the topic: while it lasts, what is decided
// there is carried out from here.
type term struct {
	partition, epoch int32
	ended            atomic.Bool
	// carried are the decisions under way; guarded by the coordinator's mu.
	carried map[txn.Producer]bool
}

// begin starts the term of a leader epoch; one that is not newer than the running
// one's is ignored.
func (c *Coordinator) begin(partition, epoch int32) {
	c.mu.Lock()
	old := c.terms[partition]
	if old != nil && old.epoch >= epoch {
		c.mu.Unlock()
		return
	}
	if old != nil {
		old.ended.Store(true)
	}
	t := &term{partition: partition, epoch: epoch, carried: map[txn.Producer]bool{}}
	c.terms[partition] = t
	c.mu.Unlock()
	c.work(t, true)
}

// end ends the term of a partition unless it is newer than the given epoch.
func (c *Coordinator) end(partition, epoch int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.terms[partition]; t != nil && (epoch == shard.AnyEpoch || t.epoch <= epoch) {
		t.ended.Store(true)
		delete(c.terms, partition)
	}
}

// over says that nothing is to be carried out in the term any more.
func (c *Coordinator) over(t *term) bool { return t.ended.Load() || c.stopped.Err() != nil }

// work asks the partition for decisions, over and over; all asks for those, too, that
// were handed out before.
func (c *Coordinator) work(t *term, all bool) {
	if c.over(t) {
		return
	}
	r := &txn.WorkRequest{All: all}
	c.host.Submit(t.partition, func(x *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
		x.Work(now, r, token, out)
	}, func(reply shard.Reply) {
		if reply.Err != nil {
			c.later(func() { c.work(t, true) })
			return
		}
		for _, d := range reply.Body.(*txn.WorkReply).Decisions {
			c.carry(t, d)
		}
		c.work(t, false)
	})
}

// delivery is a decision being carried out.
type delivery struct {
	term     *term
	decision txn.Decision
	left     atomic.Int32 // partitions without a marker
}

// carry brings a decision to its partitions, unless that is under way.
func (c *Coordinator) carry(t *term, d txn.Decision) {
	c.mu.Lock()
	if t.carried[d.Producer] {
		c.mu.Unlock()
		return
	}
	t.carried[d.Producer] = true
	c.mu.Unlock()
	x := &delivery{term: t, decision: d}
	x.left.Store(int32(len(d.Partitions)))
	if len(d.Partitions) == 0 {
		c.complete(x)
		return
	}
	c.dispatch(x, d.Partitions, 0)
}

// unknownTries is how often a partition is looked for in vain before it counts as
// deleted: this broker may not have heard of it yet.
const unknownTries = 20

// dispatch puts markers into the boxes of the brokers that lead the partitions.
// tries counts the earlier attempts.
func (c *Coordinator) dispatch(x *delivery, partitions []txn.Partition, tries int) {
	if c.over(x.term) {
		return
	}
	view := c.o.Metadata.View()
	byLeader := map[int32][]txn.Partition{}
	var again []txn.Partition
	for _, p := range partitions {
		leader, known := int32(-1), false
		if t := view.Topic(p.Topic); t != nil {
			state, ok := t.Partition(p.Index)
			leader, known = state.Leader, ok
		}
		switch {
		case known && leader >= 0:
			byLeader[leader] = append(byLeader[leader], p)
		case known || tries < unknownTries:
			again = append(again, p)
		default:
			c.o.Logger.Info("a transaction ends without a partition that is gone", "id", x.decision.ID, "topic", p.Topic, "partition", p.Index)
			c.settled(x, 1)
		}
	}
	for leader, list := range byLeader {
		c.post(leader, item{x, list, tries})
	}
	c.again(x, again, tries)
}

// again dispatches partitions once more after a while.
func (c *Coordinator) again(x *delivery, partitions []txn.Partition, tries int) {
	if len(partitions) > 0 {
		c.later(func() { c.dispatch(x, partitions, tries+1) })
	}
}

// settled takes note that so many partitions need no marker any more.
func (c *Coordinator) settled(x *delivery, n int) {
	if n > 0 && x.left.Add(int32(-n)) == 0 {
		c.complete(x)
	}
}

// complete ends the transaction.
func (c *Coordinator) complete(x *delivery) {
	if c.over(x.term) {
		return
	}
	r := &txn.CompleteRequest{Producer: x.decision.Producer}
	c.host.Submit(x.term.partition, func(t *txn.Txns, now time.Time, token shard.Token, out *txn.Outcome) {
		t.Complete(now, r, token, out)
	}, func(reply shard.Reply) {
		if reply.Err != nil && !errors.Is(reply.Err, txn.ErrInvalidState) {
			c.later(func() { c.complete(x) })
			return
		}
		c.mu.Lock()
		delete(x.term.carried, x.decision.Producer)
		c.mu.Unlock()
	})
}

// item is what one delivery has for one broker.
type item struct {
	delivery   *delivery
	partitions []txn.Partition
	tries      int
}

// outbox is what waits for one broker. One request is under way at a time and takes
// everything that has come meanwhile.
type outbox struct {
	items []item
	busy  bool
}

// post adds an item to a broker's box and sees that it is sent.
func (c *Coordinator) post(broker int32, i item) {
	c.mu.Lock()
	box := c.boxes[broker]
	if box == nil {
		box = &outbox{}
		c.boxes[broker] = box
	}
	box.items = append(box.items, i)
	busy := box.busy
	box.busy = true
	c.mu.Unlock()
	if !busy {
		c.sendNext(broker)
	}
}

// sendNext sends what is in a broker's box.
func (c *Coordinator) sendNext(broker int32) {
	c.mu.Lock()
	box := c.boxes[broker]
	items := slices.DeleteFunc(box.items, func(i item) bool { return c.over(i.delivery.term) })
	box.items, box.busy = nil, len(items) > 0
	c.mu.Unlock()
	if len(items) == 0 {
		return
	}
	markers := make([]Marker, len(items))
	for i := range items {
		d := &items[i].delivery.decision
		markers[i] = Marker{
			ProducerID: d.ProducerID, ProducerEpoch: d.ProducerEpoch, Commit: d.Commit, Version: d.Version,
			CoordinatorEpoch: items[i].delivery.term.epoch, Partitions: items[i].partitions,
		}
	}
	c.send(broker, markers, func(errs [][]error, err error) {
		for i := range items {
			c.sent(&items[i], errs, i, err)
		}
		c.sendNext(broker)
	})
}

// sent looks at what became of an item: entry i of errs, or err for all.
func (c *Coordinator) sent(i *item, errs [][]error, at int, failure error) {
	var again []txn.Partition
	done := 0
	for j, p := range i.partitions {
		err := failure
		if err == nil {
			err = errs[at][j]
		}
		switch {
		case err == nil:
			done++
		case outdated(err):
			done++
			c.o.Logger.Error("a marker came too late", "id", i.delivery.decision.ID, "topic", p.Topic, "partition", p.Index, "error", err)
		default:
			again = append(again, p)
			c.o.Logger.Debug("a marker is sent again", "id", i.delivery.decision.ID, "topic", p.Topic, "partition", p.Index, "error", err)
		}
	}
	c.again(i.delivery, again, i.tries)
	c.settled(i.delivery, done)
}
