package sim

import (
	"tidemark/replication"
)

// proposal is a leader's ISR change under way.
type proposal struct {
	under   bool
	number  uint32
	epoch   int32
	version int32
	members []replication.Member
	// operation is the one at ZooKeeper that it waits for.
	operation uint32
}

// propose carries out a ProposeISR: to the controller, or straight to ZooKeeper. A leader
// that may lead no longer asks for nothing: its followers lag because it refuses them.
func (b *broker) propose(e replication.Effect) {
	p := &b.proposal
	if !b.mayLead() {
		b.step(replication.Event{
			Kind: replication.ISRRefused, LeaderEpoch: e.LeaderEpoch, PartitionEpoch: e.PartitionEpoch, Refusal: replication.NotApplied,
		})
		return
	}
	*p = proposal{under: true, number: p.number + 1, epoch: e.LeaderEpoch, version: e.PartitionEpoch, members: e.Members}
	b.traceISR("proposed", e.Members, e.PartitionEpoch, e.Why.String())
	b.chaseJoin(b, e)
	b.timer(proposalTimer, b.options.session/3).correlation = p.number
	if b.options.ISRUpdate == "zookeeper" {
		b.proposeToZooKeeper()
		return
	}
	if b.controllerEnd == harness {
		return // nobody to ask: the timer makes it an unknown outcome
	}
	if j := b.postOrSelf(alterPartition, b.controllerEnd); j != nil {
		j.correlation, j.epoch, j.version, j.members, j.brokerEpoch = p.number, p.epoch, p.version, p.members, b.brokerEpoch
		j.asker = b.life
	}
}

func (b *broker) proposeToZooKeeper() {
	p := &b.proposal
	if b.wasTold == nil {
		return
	}
	next := *b.wasTold
	next.elr = b.nextELR(b.wasTold, p.members)
	next.isr, next.leaderEpoch, next.leader = p.members, p.epoch, b.id
	next.controllerEpoch = b.controllerEpoch
	p.operation = b.request(opSetState, func(j *job) { j.state, j.version = &next, p.version })
}

// onStateSet takes the outcome of a leader's own write. A refused or unknown one
// is read back: it may have been applied by a request whose answer got lost.
func (b *broker) onStateSet(j *job) {
	if j.correlation != b.proposal.operation {
		return // of an earlier proposal
	}
	if j.outcome == outcomeOK {
		b.endProposal(j.state, 0)
		return
	}
	b.proposal.operation = b.request(opReadState, nil)
}

func (b *broker) onStateRead(j *job) {
	if j.outcome != outcomeOK || !b.proposal.under || j.correlation != b.proposal.operation {
		return
	}
	if j.state.leader == b.id && j.state.leaderEpoch == b.proposal.epoch {
		b.endProposal(j.state, 0)
		return
	}
	b.endProposal(nil, replication.StaleState)
}

func (b *broker) onProposalTimeout(j *job) {
	if b.proposal.under && b.proposal.number == j.correlation {
		b.reach[ReachProposalUnknown]++
		b.endProposal(nil, replication.UnknownOutcome)
	}
}

// endProposal tells the machine what became of its proposal.
func (b *broker) endProposal(state *partitionState, refusal replication.Refusal) {
	p := &b.proposal
	if !p.under {
		return
	}
	p.under = false
	if refusal != 0 {
		b.traceISR("refused", p.members, p.version, "")
		b.step(replication.Event{
			Kind: replication.ISRRefused, LeaderEpoch: p.epoch, PartitionEpoch: p.version, Refusal: refusal,
		})
		return
	}
	b.traceISR("committed", state.isr, state.version, "")
	b.wasTold = state
	b.step(replication.Event{
		Kind: replication.ISRCommitted, LeaderEpoch: state.leaderEpoch, PartitionEpoch: state.version, ISR: state.isr, ELR: state.elr,
	})
}

// onAlterPartition queues a proposal at the controller; a leader's later one
// takes the place of its earlier.
func (b *broker) onAlterPartition(j *job) {
	c := &b.controller
	if !c.active {
		return // NOT_CONTROLLER; the leader's timer asks again
	}
	kept := c.alter[:0]
	for i := range c.alter {
		if c.alter[i].from != j.from {
			kept = append(kept, c.alter[i])
		}
	}
	c.alter = append(kept, *j)
	c.evaluate()
}

// admit checks one proposal against what the controller knows and has it
// written (KafkaController.alterPartition).
func (c *controller) admit(j *job) {
	s := c.state
	if s.leader == j.from.id() && s.leaderEpoch == j.epoch && s.version == j.version+1 && sameSet(s.isr, j.members) {
		c.answerAlter(j, 0) // applied by a request whose answer got lost
		return
	}
	if j.version > s.version || j.epoch > s.leaderEpoch {
		// The leader knows more than this controller, which must not call it stale:
		// the leader would wait for news that nobody has.
		c.refresh()
		return
	}
	if s.leader != j.from.id() || s.leaderEpoch != j.epoch || s.version != j.version {
		c.told[j.from] = telling{}
		c.answerAlter(j, replication.StaleState)
		c.tell()
		return
	}
	if _, epoch := c.live(j.from.id()); epoch != j.brokerEpoch {
		c.answerAlter(j, replication.StaleState) // an earlier life of the leader
		return
	}
	if candidates := c.candidates(); !candidates.Admits(j.members) {
		c.b.reach[ReachIneligibleRefused]++
		c.answerAlter(j, replication.NotApplied)
		return
	}
	next := *s
	next.isr = j.members
	next.elr = c.b.nextELR(s, j.members)
	next.controllerEpoch = c.epoch
	reply := *j
	reply.entries = nil
	c.write(&next, &reply)
}

// nextELR are the eligible leaders beside a new ISR, where any are kept.
func (w *world) nextELR(before *partitionState, isr []replication.Member) []replication.Member {
	if !w.spec.KeepsELR(w.options.ELR) {
		return nil
	}
	return replication.NextELR(before.isr, before.elr, isr, w.cfg.MinISR, len(w.replicas))
}

func (c *controller) answerAlter(j *job, refusal replication.Refusal) {
	if a := c.b.postOrSelf(alterPartitionAnswer, j.from); a != nil {
		a.correlation, a.refusal, a.state, a.life = j.correlation, refusal, c.state, j.asker
	}
}

func (b *broker) onAlterAnswer(j *job) {
	p := &b.proposal
	if !p.under || p.number != j.correlation {
		return
	}
	if j.refusal == 0 && (j.state.leaderEpoch != p.epoch || j.state.leader != b.id) {
		b.endProposal(nil, replication.StaleState)
		return
	}
	b.endProposal(j.state, j.refusal)
}
