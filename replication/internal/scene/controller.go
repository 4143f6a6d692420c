package scene

import (
	"fmt"
	"slices"

	"tidemark/replication"
)

// state is the partition's state in ZooKeeper.
type state struct {
	leader, leaderEpoch, partitionEpoch int32
	isr, elr                            []replication.Member
}

// controller is the controller with the partition's state.
type controller struct {
	state
	before        state // the last leader epoch's
	new           bool
	registrations int64
	proposal      *replication.Effect
	answers       map[int32]replication.Effect
}

func newController() controller {
	return controller{state: state{leader: replication.NoBroker}, new: true, registrations: 100}
}

func (c *controller) candidates(s *Scene) replication.Candidates {
	out := replication.Candidates{ISR: c.isr, ELR: c.elr, New: c.new, LastLeader: c.leader}
	if len(c.answers) > 0 {
		out.LastLeader = replication.NoBroker
	}
	for _, b := range s.brokers {
		who := replication.Candidate{Broker: b.id, Live: b.session, BrokerEpoch: b.epoch, CleanEpoch: b.survived}
		if a, ok := c.answers[b.id]; ok {
			who.Answered, who.LastEpoch, who.LogEndOffset, who.Dir = true, a.RecordEpoch, a.Offset, a.Dir
		}
		out.Replicas = append(out.Replicas, who)
	}
	return out
}

// elect asks the strategy until it decides or waits for somebody who does not
// answer, writes the state and tells it to the named brokers, or to all.
func (c *controller) elect(s *Scene, only []string) error {
	c.answers = map[int32]replication.Effect{}
	d := s.spec.Elect(c.candidates(s), s.cfg)
	for d.Leader == replication.NoBroker && len(d.Fence) > 0 {
		before := len(c.answers)
		for _, id := range d.Fence {
			if b := s.brokers[id-1]; b.reachable() {
				b.step(s, replication.Event{Kind: replication.Fence, LeaderEpoch: c.leaderEpoch + 1})
			}
		}
		if len(c.answers) == before {
			break
		}
		d = s.spec.Elect(c.candidates(s), s.cfg)
	}
	c.write(s, d)
	for _, b := range s.brokers {
		if len(only) == 0 || slices.Contains(only, fmt.Sprint(b.id)) {
			c.tell(s, b)
		}
	}
	return nil
}

// write puts a decision into ZooKeeper. A new leader, or a smaller set, is a new
// leader epoch.
func (c *controller) write(s *Scene, d replication.Decision) {
	unclean := ""
	if d.Unclean {
		unclean = ", may lose records"
	}
	c.before = c.state
	c.leaderEpoch++
	c.partitionEpoch++
	c.leader, c.isr, c.elr, c.new, c.proposal = d.Leader, d.ISR, d.ELR, c.new && d.Leader == replication.NoBroker, nil
	who := fmt.Sprintf("leader %d", d.Leader)
	if d.Leader == replication.NoBroker {
		who = "no leader"
	}
	s.say("%s, epoch %d, ISR %s%s (%s%s)", who, c.leaderEpoch, members(c.isr), elrText(c.elr), d.Why, unclean)
}

// tell sends LeaderAndIsr.
func (c *state) tell(s *Scene, b *broker) {
	if !b.reachable() {
		return
	}
	ev := replication.Event{
		Kind: replication.BecomeFollower, Broker: c.leader, LeaderEpoch: c.leaderEpoch, PartitionEpoch: c.partitionEpoch,
		ISR: slices.Clone(c.isr), ELR: slices.Clone(c.elr),
	}
	for _, other := range s.brokers {
		ev.Replicas = append(ev.Replicas, replication.Member{Broker: other.id, BrokerEpoch: replication.NoBrokerEpoch})
	}
	if c.leader == b.id {
		ev.Kind = replication.BecomeLeader
	}
	b.step(s, ev)
}

// decide is the controller's word on the proposal that waits.
func (c *controller) decide(s *Scene, word string) error {
	p := c.proposal
	if p == nil || c.leader == replication.NoBroker {
		return fmt.Errorf("nothing is proposed")
	}
	c.proposal = nil
	leader := s.brokers[c.leader-1]
	if word != "commit" {
		refusal := map[string]replication.Refusal{"refuse": replication.NotApplied, "stale": replication.StaleState}[word]
		leader.step(s, replication.Event{
			Kind: replication.ISRRefused, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Refusal: refusal,
		})
		return nil
	}
	if p.LeaderEpoch != c.leaderEpoch || p.PartitionEpoch != c.partitionEpoch {
		return fmt.Errorf("the proposal is of an older state")
	}
	if who := c.candidates(s); !who.Admits(p.Members) {
		return fmt.Errorf("INELIGIBLE_REPLICA")
	}
	if s.spec.Promise == replication.WholeSet || s.cfg.ELR {
		c.elr = replication.NextELR(c.isr, c.elr, p.Members, s.cfg.MinISR, len(s.brokers))
	}
	c.partitionEpoch++
	c.isr = p.Members
	s.say("ISR %s%s", members(c.isr), elrText(c.elr))
	if leader.reachable() {
		leader.step(s, replication.Event{
			Kind: replication.ISRCommitted, LeaderEpoch: c.leaderEpoch, PartitionEpoch: c.partitionEpoch,
			ISR: slices.Clone(c.isr), ELR: slices.Clone(c.elr),
		})
	}
	return nil
}

func (c *controller) fenceAnswered(s *Scene, b *broker, e replication.Effect) {
	if e.Failure != replication.NoFailure {
		s.say("%d refuses to be fenced: it promised epoch %d", b.id, e.LeaderEpoch)
		return
	}
	s.say("%d promises epoch %d: last epoch %d, log end %d", b.id, e.LeaderEpoch, e.RecordEpoch, e.Offset)
	c.answers[b.id] = e
}
