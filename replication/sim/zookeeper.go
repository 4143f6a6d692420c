package sim

import (
	"slices"
	"time"

	"tidemark/replication"
)

// zkOperation is what a client asks of ZooKeeper. Each stands for the request or
// the multi that Kafka's brokers send.
type zkOperation uint8

const (
	opPing zkOperation = iota + 1
	// opRegister creates /brokers/ids/N, ephemeral.
	opRegister
	// opUnregister closes the session: its ephemeral nodes go at once.
	opUnregister
	// opElect is KafkaZkClient.registerControllerAndIncrementControllerEpoch:
	// create /controller and raise /controller_epoch in one multi.
	opElect
	// opReadController reads /controller and arms its watch.
	opReadController
	// opReadCluster reads /brokers/ids with what is in them, the partition's
	// state and the controller epoch, and arms the watches.
	opReadCluster
	// opReadState reads the partition's state.
	opReadState
	// opWriteState is the controller's: a multi that checks the version of
	// /controller_epoch and writes the state under its version.
	opWriteState
	// opSetState is the leader's conditional setData under isr.update=zookeeper,
	// with its /isr_change_notification.
	opSetState
)

// outcome is how an operation at ZooKeeper ended for the one who asked.
type outcome uint8

const (
	outcomeOK outcome = iota + 1
	// outcomeRefused: NODEEXISTS, or BADVERSION of the state.
	outcomeRefused
	// outcomeFenced: the check of /controller_epoch failed.
	outcomeFenced
	// outcomeUnknown: the connection broke before an answer.
	outcomeUnknown
	// outcomeExpired: the session is gone.
	outcomeExpired
)

// partitionState is the content of …/partitions/0/state. It is never changed
// once it is reachable from two places.
type partitionState struct {
	leader, leaderEpoch, controllerEpoch int32
	// lastLeader is who led before nobody did.
	lastLeader int32
	isr, elr   []replication.Member
	// unclean: this leader was elected although it may lack records.
	unclean bool
	// version is the znode's: Kafka's partition epoch.
	version int32
}

// registration is one of /brokers/ids.
type registration struct {
	session int64
	// epoch is the czxid: the broker epoch.
	epoch int64
	// clean is the registration that the broker says it left cleanly.
	clean int64
	dir   replication.DirID
}

// clusterView is what opReadCluster answers with.
type clusterView struct {
	registrations   [maxBrokers]registration
	state           *partitionState
	controllerEpoch int32
}

type zkSession struct {
	id       int64
	broker   endpoint
	deadline time.Duration
}

// zookeeper is the ensemble as one server: what it answered is durable, requests
// are served in order of arrival, sessions end by its own clock.
type zookeeper struct {
	down            bool
	zxid            int64
	sessions        []zkSession
	registrations   [maxBrokers]registration
	controller      endpoint // -1 for none
	controllerOwner int64
	controllerEpoch int32
	state           *partitionState
	// watching are the brokers with an armed watch.
	watchController, watchCluster [maxBrokers]bool
}

func (z *zookeeper) session(id int64) *zkSession {
	for i := range z.sessions {
		if z.sessions[i].id == id {
			return &z.sessions[i]
		}
	}
	return nil
}

// onZooKeeper serves a message that reached the ensemble.
func (w *world) onZooKeeper(j *job) {
	z := &w.zk
	if z.down {
		return
	}
	z.zxid++
	s := z.session(j.session)
	if j.kind == zkConnect {
		if s == nil && j.session == 0 {
			z.sessions = append(z.sessions, zkSession{id: z.zxid, broker: j.from})
			s = &z.sessions[len(z.sessions)-1]
			w.armSessions()
		}
		if a := w.post(zkConnected, zkEnd, j.from); a != nil {
			a.correlation, a.life = j.correlation, j.life
			if s != nil {
				a.session = s.id
			}
		}
		if s != nil {
			s.deadline = w.now + w.options.session
		}
		return
	}
	if s == nil {
		w.answer(j, outcomeExpired, nil)
		return
	}
	s.deadline = w.now + w.options.session
	w.serve(j, s.id)
}

func (w *world) serve(j *job, session int64) {
	z := &w.zk
	switch j.operation {
	case opPing:
		w.answer(j, outcomeOK, nil)
	case opRegister:
		r := &z.registrations[j.from]
		if r.session != 0 && r.session == j.offset { // one of its own, of an earlier life
			w.endSession(r.session)
		}
		if r.session != 0 {
			w.answer(j, outcomeRefused, func(a *job) { a.session = r.session })
			return
		}
		*r = registration{session: session, epoch: z.zxid, clean: j.cleanEpoch, dir: j.dir}
		w.traceZnode(j.from, "create", "/brokers/ids/", 0, session, "")
		w.fireCluster()
		w.answer(j, outcomeOK, func(a *job) { a.brokerEpoch = r.epoch })
	case opUnregister:
		w.answer(j, outcomeOK, nil)
		w.endSession(session)
	case opElect:
		w.serveElect(j, session)
	case opReadController:
		z.watchController[j.from] = true
		w.answer(j, outcomeOK, func(a *job) {
			a.index, a.session, a.controllerEpoch = int32(z.controller), z.controllerOwner, z.controllerEpoch
		})
	case opReadCluster:
		z.watchCluster[j.from] = true
		view := &clusterView{registrations: z.registrations, state: z.state, controllerEpoch: z.controllerEpoch}
		w.answer(j, outcomeOK, func(a *job) { a.view = view })
	case opReadState:
		w.answer(j, outcomeOK, nil)
	case opWriteState, opSetState:
		w.serveWrite(j)
	}
}

func (w *world) serveElect(j *job, session int64) {
	z := &w.zk
	if z.controllerOwner != 0 {
		w.answer(j, outcomeRefused, nil)
		return
	}
	z.controller, z.controllerOwner = j.from, session
	z.controllerEpoch++
	w.reach[ReachControllerElected]++
	w.traceZnode(j.from, "create", "/controller", z.controllerEpoch, session, "")
	w.answer(j, outcomeOK, func(a *job) { a.controllerEpoch = z.controllerEpoch })
	w.fireController()
}

// serveWrite writes the partition's state where its version is the expected one
// and, for a controller, where nobody took its place.
func (w *world) serveWrite(j *job) {
	z := &w.zk
	byController := j.operation == opWriteState
	if byController && checkControllerEpoch() && j.controllerEpoch != z.controllerEpoch {
		w.reach[ReachZombieControllerRefused]++
		w.traceZnode(j.from, "set", statePath, z.state.version, 0, "BADVERSION of /controller_epoch")
		w.answer(j, outcomeFenced, nil)
		return
	}
	if j.version != z.state.version {
		w.reach[ReachStaleVersionRefused]++
		w.traceZnode(j.from, "set", statePath, z.state.version, 0, "BADVERSION")
		w.answer(j, outcomeRefused, nil)
		return
	}
	if byController && j.controllerEpoch != z.controllerEpoch {
		w.violate("I8", "controller epoch %d wrote the state while %d is in office", j.controllerEpoch, z.controllerEpoch)
	}
	next := *j.state
	next.version = z.state.version + 1
	before := z.state
	z.state = &next
	w.traceZnode(j.from, "set", statePath, next.version, 0, "")
	w.onStateWritten(before, &next)
	w.answer(j, outcomeOK, nil)
	if !byController {
		w.fireCluster() // /isr_change_notification
	}
}

const statePath = "/brokers/topics/t/partitions/0/state"

// answer sends the outcome with the state as it stands.
func (w *world) answer(j *job, o outcome, fill func(*job)) {
	a := w.post(zkAnswer, zkEnd, j.from)
	if a == nil {
		return
	}
	a.outcome, a.correlation, a.operation, a.life, a.state = o, j.correlation, j.operation, j.life, w.zk.state
	if fill != nil {
		fill(a)
	}
}

func (w *world) fireController() { w.fire(&w.zk.watchController, opReadController) }
func (w *world) fireCluster()    { w.fire(&w.zk.watchCluster, opReadCluster) }

// fire tells every armed watch once; what happens until it is armed again is not
// told.
func (w *world) fire(armed *[maxBrokers]bool, op zkOperation) {
	for b := range w.brokers {
		if !armed[b] {
			continue
		}
		armed[b] = false
		if a := w.post(zkWatch, zkEnd, endpoint(b)); a != nil {
			a.operation = op
		}
	}
}

// endSession removes a session with its ephemeral nodes.
func (w *world) endSession(id int64) {
	z := &w.zk
	z.sessions = slices.DeleteFunc(z.sessions, func(s zkSession) bool { return s.id == id })
	for b := range z.registrations {
		if z.registrations[b].session == id {
			z.registrations[b] = registration{}
			w.traceZnode(endpoint(b), "delete", "/brokers/ids/", 0, id, "")
			w.fireCluster()
		}
	}
	if z.controllerOwner == id {
		w.traceZnode(z.controller, "delete", "/controller", z.controllerEpoch, id, "")
		z.controller, z.controllerOwner = harness, 0
		w.fireController()
	}
}

// armSessions looks at the sessions again soon; one timer serves them all.
func (w *world) armSessions() {
	if !w.sessionsArmed {
		w.sessionsArmed = true
		w.queue.add(w.now + w.options.session/8).kind = sessionTimer
	}
}

// onSessionTimer expires the sessions of clients not heard of in time.
func (w *world) onSessionTimer() {
	w.sessionsArmed = false
	if !w.zk.down {
		for i := 0; i < len(w.zk.sessions); {
			if s := w.zk.sessions[i]; s.deadline <= w.now {
				w.reach[ReachSessionExpired]++
				w.endSession(s.id)
				continue
			}
			i++
		}
	}
	if len(w.zk.sessions) > 0 {
		w.armSessions()
	}
}
