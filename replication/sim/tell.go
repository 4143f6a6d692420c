package sim

import (
	"tidemark/replication"
)

// tell sends the state to every broker that has not confirmed it: LeaderAndIsr
// to the replicas, UpdateMetadata to all.
func (c *controller) tell() {
	if !c.active || c.view == nil || c.reading || c.writing || !c.settled {
		return
	}
	s := c.state
	for i := range c.b.brokers {
		r := &c.view.registrations[i]
		if r.session == 0 {
			continue
		}
		want := telling{s.version, s.leaderEpoch, r.epoch}
		if c.told[i] == want {
			continue
		}
		kind := updateMetadata
		if c.b.assigned(int32(i + 1)) {
			kind = leaderAndISR
		}
		if j := c.b.postOrSelf(kind, endpoint(i)); j != nil {
			j.state, j.controllerEpoch, j.brokerEpoch = s, c.epoch, r.epoch
			j.index = int32(c.b.end)
		}
	}
}

// postOrSelf sends to another broker over the network, and to the own one
// without: a broker reaches itself whatever is cut.
func (b *broker) postOrSelf(kind jobKind, to endpoint) *job {
	if to != b.end {
		return b.post(kind, b.end, to)
	}
	j := b.queue.add(b.now + 1)
	j.kind, j.from, j.to, j.life, j.cause = kind, b.end, b.end, b.life, b.cause
	return j
}

// obeys says whether a controller's message is for this life of the broker and
// from a controller that nobody took the place of.
func (b *broker) obeys(j *job) bool {
	if j.brokerEpoch != b.brokerEpoch || b.machine == nil || !b.registered {
		return false // STALE_BROKER_EPOCH
	}
	if checkControllerEpoch() && j.controllerEpoch < b.controllerEpoch {
		b.reach[ReachStaleControllerRefused]++
		return false // STALE_CONTROLLER_EPOCH
	}
	b.controllerEpoch = max(b.controllerEpoch, j.controllerEpoch)
	if !b.leaving {
		b.controllerEnd = j.from
	}
	return true
}

func (b *broker) onUpdateMetadata(j *job) {
	if b.obeys(j) {
		b.learn(j.state)
		b.confirm(j)
	}
}

func (b *broker) learn(s *partitionState) {
	if s.leaderEpoch >= b.metaEpoch {
		b.metaEpoch, b.metaLeader = s.leaderEpoch, s.leader
	}
}

func (b *broker) confirm(j *job) {
	if a := b.postOrSelf(leaderAndISRAnswer, j.from); a != nil {
		a.version, a.epoch, a.brokerEpoch, a.controllerEpoch = j.state.version, j.state.leaderEpoch, j.brokerEpoch, j.controllerEpoch
	}
}

func (b *broker) onToldAnswer(j *job) {
	if c := &b.controller; c.active && j.controllerEpoch == c.epoch {
		c.told[j.from] = telling{j.version, j.epoch, j.brokerEpoch}
	}
}

// onLeaderAndISR gives the machine its role.
func (b *broker) onLeaderAndISR(j *job) {
	if !b.obeys(j) {
		return
	}
	s := j.state
	b.learn(s)
	b.confirm(j)
	ev := replication.Event{
		Kind: replication.BecomeFollower, Broker: s.leader, ControllerEpoch: j.controllerEpoch, LeaderEpoch: s.leaderEpoch,
		PartitionEpoch: s.version, ISR: s.isr, ELR: s.elr, Replicas: b.assignment,
	}
	if s.leader == b.id {
		ev.Kind = replication.BecomeLeader
	}
	if s.leaderEpoch >= b.epoch {
		b.wasTold, b.toldUnder = s, b.brokerEpoch
	}
	before := b.epoch
	news := s.leaderEpoch > b.epoch && s.leaderEpoch >= b.fence
	if news {
		b.epoch, b.leader = s.leaderEpoch, s.leader
		b.dropParked()
		b.role = replication.Follower
		if s.leader == b.id {
			b.role, b.epochStart = replication.Leader, b.log.end()
			b.log.epochs.Assign(s.leaderEpoch, b.log.end())
			b.world.onOffice(b, s)
		}
	}
	if s.leaderEpoch > before {
		b.proposal.under = false
	}
	b.step(ev)
}

func (b *broker) onFenceReplica(j *job) {
	if !b.obeys(j) {
		return
	}
	b.fenceAsker = j.from
	b.step(replication.Event{Kind: replication.Fence, LeaderEpoch: j.epoch, ControllerEpoch: j.controllerEpoch})
}

func (b *broker) answerFence(e replication.Effect) {
	if e.Failure == replication.NoFailure {
		b.ghost.promised[b.end] = max(b.ghost.promised[b.end], e.LeaderEpoch)
	}
	if a := b.postOrSelf(fenceReplicaAnswer, b.fenceAsker); a != nil {
		a.epoch, a.failure, a.recordEpoch, a.end, a.dir, a.brokerEpoch = e.LeaderEpoch, e.Failure, e.RecordEpoch, e.Offset, e.Dir, b.brokerEpoch
	}
}

// shutDown begins a controlled shutdown: the controller moves the leadership
// first, then the broker syncs its log, notes that it left cleanly, and goes.
func (b *broker) shutDown() {
	if !b.up || b.leaving {
		return
	}
	b.leaving = true
	b.timer(shutdownTimer, b.options.session/2)
	if b.controller.active {
		b.controller.resign()
	}
	if b.controllerEnd != harness && b.controllerEnd != b.end {
		if j := b.post(controlledShutdown, b.end, b.controllerEnd); j != nil {
			j.brokerEpoch = b.brokerEpoch
		}
	}
}

func (b *broker) onControlledShutdown(j *job) {
	c := &b.controller
	if !c.active {
		return
	}
	c.leaving[j.from] = j.brokerEpoch
	c.evaluate()
	c.tell()
}

// onShutdownTimer ends the process that shuts down, in order.
func (b *broker) onShutdownTimer() {
	b.reach[ReachCleanShutdown]++
	b.log.sync(b.log.end(), false)
	b.hwCheckpoint = b.hw
	if !b.log.syncFailed {
		b.cleanMarker = b.brokerEpoch
	}
	if b.zkc.connected {
		b.request(opUnregister, nil)
	}
	b.stop() // what was sent still arrives
}
