package sim

import (
	"tidemark/internal/planted"
	"tidemark/replication"
)

// checkControllerEpoch is false in the known-bad build that obeys controllers
// whose place was taken.
func checkControllerEpoch() bool { return !planted.Is(planted.NoControllerEpoch) }

// controller is the shell around the elections: the part of KafkaController that
// has one partition. It works on what it read from ZooKeeper, which may be old:
// every write checks the controller epoch and the version of the state. All
// decisions are replication.Spec.Elect and replication.NextELR.
type controller struct {
	b      *broker
	active bool
	epoch  int32
	// view is the cluster as last read, state the newest state known.
	view  *clusterView
	state *partitionState
	// settled: the state is as it should be. One that is due to change is told to
	// nobody: it could give a leader that bounced its old epoch back.
	settled bool
	// reading and writing: one operation at a time; again asks for another read.
	reading, writing, again bool
	// operation is the number of the one under way; answers to others belong to an
	// earlier office.
	operation uint32
	// fenceEpoch is the leader epoch that replicas are asked to promise to, and
	// answers what they said; fenced: somebody was asked.
	fenceEpoch int32
	fenced     bool
	answers    [maxBrokers]fenceAnswer
	// told is what each broker confirmed.
	told [maxBrokers]telling
	// alter are the proposals that wait, by the leader's endpoint.
	alter   []job
	replyTo *job
	// leaving are brokers that shut down, by registration; move is who is to lead
	// instead of the present leader.
	leaving [maxBrokers]int64
	move    int32
	timed   bool
}

type fenceAnswer struct {
	epoch       int32
	brokerEpoch int64
	lastEpoch   int32
	end         int64
	dir         replication.DirID
}

type telling struct {
	version     int32
	leaderEpoch int32
	brokerEpoch int64
}

// takeOffice begins anew: nothing of an earlier office is remembered, and
// everything is sent again (KafkaController.onControllerFailover).
func (c *controller) takeOffice(epoch int32) {
	*c = controller{b: c.b, active: true, epoch: epoch, alter: c.alter[:0], move: replication.NoBroker}
	c.refresh()
	c.armTimer()
}

func (c *controller) resign() {
	if c.active {
		c.b.reach[ReachControllerResigned]++
	}
	*c = controller{b: c.b, alter: c.alter[:0]}
}

func (c *controller) armTimer() {
	if !c.timed {
		c.timed = true
		c.b.timer(controllerTimer, c.b.options.session/10)
	}
}

// onControllerTimer sends again what was not confirmed, and tries again what
// came to nothing.
func (b *broker) onControllerTimer() {
	c := &b.controller
	c.timed = false
	if !c.active {
		return
	}
	c.armTimer()
	if c.view == nil || c.again {
		c.refresh()
	}
	c.evaluate()
	c.tell()
}

// refresh reads the cluster again, once the operation under way has ended.
func (c *controller) refresh() {
	if c.reading || c.writing {
		c.again = true
		return
	}
	if !c.b.zkc.connected {
		c.again = true
		return
	}
	c.reading, c.again = true, false
	c.operation = c.b.request(opReadCluster, nil)
}

func (c *controller) onCluster(j *job) {
	if !c.active || !c.reading || j.correlation != c.operation {
		return
	}
	c.reading = false
	if j.outcome != outcomeOK {
		c.again = true
		return
	}
	if j.view.controllerEpoch != c.epoch && checkControllerEpoch() {
		c.resign()
		return
	}
	c.view, c.state, c.settled = j.view, j.view.state, false
	if c.again {
		c.refresh()
		return
	}
	c.evaluate()
	c.tell()
}

// evaluate decides what the state should be and has it written; where it is as
// it should be, a waiting proposal is looked at.
func (c *controller) evaluate() {
	if !c.active || c.reading || c.writing || c.view == nil {
		return
	}
	next := c.decide()
	if c.settled = next == nil; !c.settled {
		c.write(next, nil)
		return
	}
	for len(c.alter) > 0 && !c.writing {
		next := c.alter[0]
		c.alter = c.alter[1:]
		c.admit(&next)
	}
}

// decide is the state that should be, nil where it is already. The strategy's
// election says all of it: who leads, who left the ISR, and whose answer it waits
// for. Replicas whose answer it wants are fenced at the epoch that a new leader
// would have.
func (c *controller) decide() *partitionState {
	s := c.state
	if c.move != replication.NoBroker {
		if next := c.moveLeader(); next != nil {
			return next
		}
	}
	if c.fenceEpoch != s.leaderEpoch+1 {
		c.fenceEpoch, c.fenced = s.leaderEpoch+1, false
		clear(c.answers[:])
	}
	d := c.b.spec.Elect(c.candidates(), c.b.cfg)
	if d.Leader == replication.NoBroker {
		for _, id := range d.Fence {
			c.fence(id)
		}
	}
	if d.Leader == s.leader && sameSet(d.ISR, s.isr) && sameSet(d.ELR, s.elr) {
		return nil
	}
	next := *s
	if s.leader != replication.NoBroker {
		next.lastLeader = s.leader
	}
	next.leader, next.isr, next.elr, next.unclean = d.Leader, d.ISR, d.ELR, d.Unclean
	next.leaderEpoch++
	next.controllerEpoch = c.epoch
	return &next
}

// live says whether a broker is registered and not about to leave.
func (c *controller) live(broker int32) (live bool, epoch int64) {
	r := &c.view.registrations[endOf(broker)]
	return r.session != 0 && c.leaving[endOf(broker)] != r.epoch, r.epoch
}

func (c *controller) candidates() replication.Candidates {
	s := c.state
	out := replication.Candidates{ISR: s.isr, ELR: s.elr, New: s.leaderEpoch == 0, LastLeader: s.leader}
	if c.fenced {
		out.LastLeader = replication.NoBroker
	}
	for _, m := range c.b.replicas {
		r := &c.view.registrations[endOf(m)]
		live, epoch := c.live(m)
		candidate := replication.Candidate{
			Broker: m, Live: live, BrokerEpoch: epoch, CleanEpoch: r.clean,
			LastEpoch: replication.NoEpoch, LogEndOffset: replication.NoOffset, Dir: r.dir,
		}
		if !live {
			candidate.BrokerEpoch, candidate.CleanEpoch = replication.NoBrokerEpoch, replication.NoBrokerEpoch
			candidate.Dir = replication.DirID{}
		}
		if a := &c.answers[endOf(m)]; live && a.epoch == c.fenceEpoch && a.brokerEpoch == epoch {
			candidate.Answered, candidate.LastEpoch, candidate.LogEndOffset, candidate.Dir = true, a.lastEpoch, a.end, a.dir
		}
		out.Replicas = append(out.Replicas, candidate)
	}
	return out
}

func (c *controller) fence(broker int32) {
	_, epoch := c.live(broker)
	if j := c.b.postOrSelf(fenceReplica, endOf(broker)); j != nil {
		j.epoch, j.controllerEpoch, j.brokerEpoch = c.fenceEpoch, c.epoch, epoch
	}
	c.fenced = true
}

func (b *broker) onFenceAnswer(j *job) {
	c := &b.controller
	if !c.active || j.epoch != c.fenceEpoch || j.failure != replication.NoFailure {
		return
	}
	c.answers[j.from] = fenceAnswer{j.epoch, j.brokerEpoch, j.recordEpoch, j.end, j.dir}
	c.evaluate()
}

// moveLeader elects somebody else although the leader lives: a preferred leader,
// or because the leader shuts down.
func (c *controller) moveLeader() *partitionState {
	to := c.move
	c.move = replication.NoBroker
	i := replication.Find(c.state.isr, to)
	live, epoch := c.live(to)
	if i < 0 || !live || c.state.isr[i].BrokerEpoch != epoch || to == c.state.leader || c.b.spec.Promise != replication.InSync && c.b.spec.Promise != replication.WholeSet {
		return nil
	}
	next := *c.state
	next.lastLeader = next.leader
	next.leader, next.controllerEpoch, next.unclean = to, c.epoch, false
	next.leaderEpoch++
	c.b.reach[ReachPreferredMove]++
	return &next
}

// write has the state written; replyTo is the proposal it comes from.
func (c *controller) write(next *partitionState, replyTo *job) {
	if !c.b.zkc.connected {
		return
	}
	c.writing, c.replyTo = true, replyTo
	version := c.state.version
	c.operation = c.b.request(opWriteState, func(j *job) {
		j.state, j.version, j.controllerEpoch = next, version, c.epoch
	})
}

func (c *controller) onWritten(j *job) {
	if !c.active || !c.writing || j.correlation != c.operation {
		return
	}
	c.writing = false
	reply := c.replyTo
	c.replyTo = nil
	switch j.outcome {
	case outcomeOK:
		c.state = j.state
		if reply != nil {
			c.answerAlter(reply, 0)
		}
	case outcomeFenced:
		c.resign()
		return
	default: // refused or unknown: read back what stands
		if reply != nil && j.outcome == outcomeRefused {
			c.answerAlter(reply, replication.StaleState)
		}
		c.refresh()
		return
	}
	if c.again {
		c.refresh()
	}
	c.evaluate()
	c.tell()
}

func sameSet(a, b []replication.Member) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
