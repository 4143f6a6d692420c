package sim

import (
	"slices"
	"time"

	"tidemark/replication"
)

// zkClient is a process's connection to ZooKeeper, as go-zookeeper keeps it: the
// client learns that its session expired only when it reaches the ensemble
// again.
type zkClient struct {
	session int64 // 0 for none
	// connected: as far as the client knows.
	connected bool
	// connecting numbers the attempts; answers to earlier ones are stale.
	connecting uint32
	attempted  time.Duration // when the attempt was sent
	// link is the generation of the connection in use.
	link uint32
	// answered is when the last ping that was answered had been sent.
	answered time.Duration
	// correlation numbers the operations, waiting are those without an answer.
	correlation uint32
	waiting     []zkWaiting
	// unheeded: /controller was read before the registration stood, so that
	// nothing was done about what it said. It is read again afterwards: where it
	// is free no watch will ever fire.
	unheeded bool
}

type zkWaiting struct {
	correlation uint32
	operation   zkOperation
	sent        time.Duration
}

func (b *broker) connect(session int64) {
	c := &b.zkc
	c.connecting++
	c.attempted = b.now
	if j := b.post(zkConnect, b.end, zkEnd); j != nil {
		j.session, j.correlation, j.life = session, c.connecting, b.life
	}
}

// onPing keeps the session alive, and notices that the connection is dead: at
// once where it was reset, and after two thirds of the session where nothing
// comes back.
func (b *broker) onPing() {
	c := &b.zkc
	b.timer(pingTimer, b.options.session/6)
	if !c.connected {
		b.connect(c.session)
		return
	}
	l := &b.net.links[b.end][zkEnd]
	if !l.cut && l.generation != c.link || b.now-c.answered > b.options.session*2/3 {
		b.disconnected()
		b.connect(c.session)
		return
	}
	b.request(opPing, nil)
}

// disconnected gives every operation under way an unknown outcome.
func (b *broker) disconnected() {
	c := &b.zkc
	c.connected = false
	waiting := slices.Clone(c.waiting)
	c.waiting = c.waiting[:0]
	for _, op := range waiting {
		if op.operation == opPing {
			continue
		}
		b.reach[ReachUnknownOutcome]++
		b.onOperation(&job{operation: op.operation, outcome: outcomeUnknown, correlation: op.correlation})
	}
}

func (b *broker) onConnected(j *job) {
	c := &b.zkc
	if j.life != b.life || j.correlation != c.connecting || c.connected {
		return
	}
	if j.session == 0 { // expired meanwhile
		b.reach[ReachExpiredOnReconnect]++
		c.session = 0
		b.registered = false
		if b.controller.active {
			// The controller's thread learns of it later than the client's.
			b.timer(resignTimer, b.random.between(0, b.options.session/6)).controllerEpoch = b.controller.epoch
		}
		b.connect(0)
		return
	}
	renewed := c.session == j.session
	c.session, c.connected, c.answered = j.session, true, c.attempted
	c.link = b.net.links[b.end][zkEnd].generation
	if !renewed || !b.registered {
		b.register()
	}
	b.request(opReadController, nil)
	if b.controller.active {
		b.controller.refresh()
	}
}

// register asks for /brokers/ids/N. A process that still has its memory says
// that it survived its last registration; a new one says so where it was shut
// down cleanly.
func (b *broker) register() {
	clean := b.cleanMarker
	if b.brokerEpoch != replication.NoBrokerEpoch {
		clean = b.brokerEpoch
	}
	b.request(opRegister, func(j *job) {
		j.cleanEpoch, j.dir = clean, dirID(b.log.directory)
		if b.options.reclaim {
			j.offset = b.lastSession
		}
	})
}

// request sends an operation; without a connection its outcome is unknown at
// once.
func (b *broker) request(op zkOperation, fill func(*job)) (correlation uint32) {
	c := &b.zkc
	c.correlation++
	correlation = c.correlation
	if !c.connected {
		return correlation
	}
	c.waiting = append(c.waiting, zkWaiting{correlation, op, b.now})
	j := b.post(zkRequest, b.end, zkEnd)
	if j != nil {
		j.operation, j.correlation, j.session, j.life = op, correlation, c.session, b.life
		if fill != nil {
			fill(j)
		}
	}
	if op != opPing {
		b.timer(operationTimer, b.options.session/2).correlation = correlation
	}
	return correlation
}

// onOperationTimeout breaks a connection on which nothing comes back.
func (b *broker) onOperationTimeout(correlation uint32) {
	c := &b.zkc
	if slices.ContainsFunc(c.waiting, func(op zkWaiting) bool { return op.correlation == correlation }) {
		b.reset(b.end, zkEnd)
		b.disconnected()
		b.connect(c.session)
	}
}

func (b *broker) onZkAnswer(j *job) {
	c := &b.zkc
	i := slices.IndexFunc(c.waiting, func(op zkWaiting) bool { return op.correlation == j.correlation })
	if i < 0 || j.life != b.life {
		return
	}
	sent := c.waiting[i].sent
	c.waiting = slices.Delete(c.waiting, i, i+1)
	if j.outcome == outcomeExpired {
		b.reset(b.end, zkEnd)
		b.disconnected()
		b.connect(c.session)
		return
	}
	c.answered = max(c.answered, sent)
	if j.operation != opPing {
		b.onOperation(j)
	}
}

// onOperation takes the outcome of an operation.
func (b *broker) onOperation(j *job) {
	switch j.operation {
	case opRegister:
		switch {
		case j.outcome == outcomeOK:
			b.registeredAs(j.brokerEpoch)
			b.heedController()
		case j.outcome == outcomeRefused && j.session == b.zkc.session && b.zkc.session != 0:
			// It is ours: an answer got lost. Its czxid is read back.
			b.registeredAs(b.world.zk.registrations[b.end].epoch)
			b.heedController()
		default:
			// The node of the session before is still there: try until it is gone.
			if b.zkc.connected {
				b.timer(electTimer, b.options.session/8)
			}
		}
	case opReadController:
		b.onReadController(j)
	case opElect:
		b.onElected(j)
	case opReadCluster:
		b.controller.onCluster(j)
	case opWriteState:
		b.controller.onWritten(j)
	case opSetState:
		b.onStateSet(j)
	case opReadState:
		b.onStateRead(j)
	}
}

// onReadController learns who the controller is, and runs for it where there is
// none. A broker that is not registered yet registers first.
func (b *broker) onReadController(j *job) {
	if j.outcome != outcomeOK {
		return
	}
	if !b.registered {
		b.zkc.unheeded = true
		b.register()
		return
	}
	b.zkc.unheeded = false
	b.controllerEnd = endpoint(j.index)
	switch {
	case j.session == 0:
		b.request(opElect, nil)
	case j.session == b.zkc.session && !(b.controller.active && b.controller.epoch == j.controllerEpoch):
		// Elected by a request whose answer got lost.
		b.controller.takeOffice(j.controllerEpoch)
	case j.session != b.zkc.session && b.controller.active:
		b.controller.resign()
	}
}

// heedController reads /controller again where it was read too early.
func (b *broker) heedController() {
	if b.zkc.unheeded {
		b.zkc.unheeded = false
		b.request(opReadController, nil)
	}
}

func (b *broker) onElected(j *job) {
	if j.outcome == outcomeOK && !b.leaving {
		b.controllerEnd = b.end
		b.controller.takeOffice(j.controllerEpoch)
	}
	b.request(opReadController, nil) // arms the watch, and reads back what is unknown
}

func (b *broker) onWatch(j *job) {
	if !b.zkc.connected {
		return
	}
	switch j.operation {
	case opReadController:
		b.request(opReadController, nil)
	case opReadCluster:
		if b.controller.active {
			b.controller.refresh()
		}
	}
}
