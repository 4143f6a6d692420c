package replica

import (
	"slices"

	"tidemark/replication"
)

// propose has an in-sync set written. Without anybody to write it the larger set
// counts for good, which is safe. A leader that may lead no longer asks for none: it is
// its own refusals that its followers fall behind by, and were it the only one in sync
// when its session ends, nobody could lead in its place.
func (p *Partition) propose(e *replication.Effect) {
	if p.outdated() {
		p.refuse(e.LeaderEpoch, e.PartitionEpoch, replication.NotApplied)
		return
	}
	p.proposals++
	if p.traced != nil {
		p.traced.isr("proposed", e.Members, e.PartitionEpoch, e.Why.String())
	}
	if p.manager.o.ISR == nil {
		return
	}
	q, number := Proposal{
		ID: p.ID(), TopicID: p.Topic.ID, LeaderEpoch: e.LeaderEpoch, PartitionEpoch: e.PartitionEpoch, Members: e.Members, Why: e.Why,
	}, p.proposals
	p.manager.o.ISR.Propose(q, func(o Outcome) { p.proposed(&q, number, o) })
}

// proposed tells what became of a proposal, unless another was made since.
func (p *Partition) proposed(q *Proposal, number uint64, o Outcome) {
	p.stepping.Lock()
	if number == p.proposals {
		p.proposals++
		p.settle(q, &o)
	}
	if p.unlock() {
		p.Changed.Wake()
	}
}

// settle tells the outcome; stepping is held. Who leads stays, so appends go on.
func (p *Partition) settle(q *Proposal, o *Outcome) {
	if o.Refusal == 0 && (o.Leader != p.self || o.LeaderEpoch != q.LeaderEpoch) {
		o.Refusal = replication.StaleState // Written, and then somebody else was elected.
	}
	if p.traced != nil {
		p.traced.settled(q, o)
	}
	if o.Refusal != 0 {
		p.refuse(q.LeaderEpoch, q.PartitionEpoch, o.Refusal)
		return
	}
	p.step(&replication.Event{
		Kind: replication.ISRCommitted, Now: p.manager.now(), LeaderEpoch: o.LeaderEpoch, PartitionEpoch: o.PartitionEpoch,
		ISR: slices.Clone(o.ISR), ELR: slices.Clone(o.ELR),
	})
	l := *p.lead.Load()
	if l.leader != p.self || l.epoch != o.LeaderEpoch || l.partitionEpoch >= o.PartitionEpoch {
		return
	}
	p.manager.counters.note(len(l.isr), len(o.ISR))
	l.partitionEpoch, l.isr = o.PartitionEpoch, brokers(o.ISR)
	p.lead.Store(&l)
	p.refreshAdmits()
	p.changed = true
}

// refuse tells that a proposal came to nothing; stepping is held.
func (p *Partition) refuse(leaderEpoch, partitionEpoch int32, why replication.Refusal) {
	p.step(&replication.Event{
		Kind: replication.ISRRefused, Now: p.manager.now(), LeaderEpoch: leaderEpoch, PartitionEpoch: partitionEpoch, Refusal: why,
	})
}
