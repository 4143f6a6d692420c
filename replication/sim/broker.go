package sim

import (
	"time"

	"tidemark/replication"
)

// broker is one broker: what its disk holds and, while it is up, its process.
type broker struct {
	*world
	end endpoint
	id  int32

	// On disk; survives a crash as far as disk.go lets it.
	log          replicaLog
	fence        int32 // fenced leader epoch
	fenceSynced  int32 // what of it a power cut leaves
	hwCheckpoint int64
	cleanMarker  int64 // the registration left cleanly, NoBrokerEpoch if none
	lastSession  int64 // of the last registration

	// up: the process runs. paused: it does not, until resumeAt.
	up, paused bool
	resumeAt   time.Duration
	// life counts the processes; timers of an earlier one are dead.
	life uint32
	// slowness multiplies what it takes to do anything.
	slowness time.Duration
	// fsyncFails, fsyncSlow: what the next fsync does.
	fsyncFails, fsyncSlow bool
	nextDirectory         int64

	process
}

// process is what a crash takes.
type process struct {
	zkc        zkClient
	machine    replication.Machine
	controller controller
	// brokerEpoch is the registration, NoBrokerEpoch before the first.
	brokerEpoch int64
	// toldUnder is the registration under which it was last told whom to follow, or to lead.
	toldUnder int64
	// registered: the registration stands, as far as the process knows.
	registered bool
	// controllerEpoch is the highest that told this broker anything.
	controllerEpoch int32
	// controllerEnd is who it believes to be the controller.
	controllerEnd endpoint
	// metadata is what it tells clients.
	metaLeader int32
	metaEpoch  int32

	role       replication.Role
	epoch      int32
	leader     int32
	hw         int64
	epochStart int64
	chased     int32 // the epoch in which it was chased for its first commit
	wasTold    *partitionState

	fetch    fetcher
	parked   [maxBrokers]parkedFetch
	waiters  []waiter
	proposal proposal
	// flushing: an fsync is under way; stale: the log was cut since.
	flushing, flushStale bool
	flushEnd             int64
	fenceAsker           endpoint
	fetchKnows           int32 // the leader epoch that the follower at hand knows, for the checker
	leaving              bool  // a controlled shutdown is under way
	effects              []replication.Effect
}

// start begins a new process on what the disk holds.
func (b *broker) start() {
	if b.up {
		return
	}
	b.life++
	b.recover()
	b.lowerCheckpoint(b.log.end())
	b.ghost.promiseKept(b)
	effects := b.effects
	b.process = process{
		brokerEpoch: replication.NoBrokerEpoch, controllerEnd: harness, metaLeader: replication.NoBroker,
		leader: replication.NoBroker, epoch: replication.NoEpoch, metaEpoch: replication.NoEpoch, effects: effects[:0],
	}
	b.up = true
	b.controller = controller{b: b, move: replication.NoBroker}
	b.timer(pingTimer, b.random.between(0, b.options.session/6))
	b.timer(tickTimer, b.random.between(0, b.options.tick))
	b.connect(0)
}

// recover is what opening the log does after an fsync failed: pages that never
// reached the disk are not trusted.
func (b *broker) recover() {
	if b.log.syncFailed {
		end := b.log.end()
		b.log.truncate(b.log.synced)
		b.log.syncFailed = false
		b.ghost.forgot(b, end)
		b.ghost.reckon()
	}
}

// lowerCheckpoint takes the high watermark's checkpoint down to where the log is
// going to end, before anything is appended there: what comes next may not be
// committed, and a restart before the next checkpoint would take it for that.
func (b *broker) lowerCheckpoint(end int64) {
	b.hwCheckpoint = min(b.hwCheckpoint, end)
}

// timer schedules a timer of this process.
func (b *broker) timer(kind jobKind, in time.Duration) *job {
	j := b.queue.add(b.now + in*b.slowness)
	j.kind, j.to, j.life = kind, b.end, b.life
	return j
}

// registeredAs is called when the registration stands. A process that lost its
// session and not its memory goes on under the new broker epoch.
func (b *broker) registeredAs(epoch int64) {
	b.brokerEpoch, b.registered, b.lastSession = epoch, true, b.zkc.session
	if b.machine != nil {
		b.step(replication.Event{Kind: replication.ConfigChanged, Config: b.config()})
		return
	}
	b.machine = b.spec.New(b.config())
	if b.log.end() == 0 && b.fence <= 0 && b.log.lastEpoch() < 0 && b.hwCheckpoint <= 0 && b.life == 1 {
		return // a new log
	}
	b.hw = max(0, min(b.hwCheckpoint, b.log.end()))
	b.step(replication.Event{
		Kind: replication.Restarted, Offset: b.log.end(), Synced: b.log.synced, HighWatermark: b.hwCheckpoint,
		Epochs: b.log.epochs.Entries(), FencedEpoch: b.fence, BrokerEpoch: epoch, Dir: dirID(b.log.directory),
	})
}

func (b *broker) config() replication.Config {
	c := b.cfg
	c.Self, c.BrokerEpoch, c.Dir = b.id, b.brokerEpoch, dirID(b.log.directory)
	return c
}

// dirID is the id of a log directory as the machine knows it.
func dirID(n int64) (d replication.DirID) {
	for i := range 8 {
		d[15-i] = byte(n >> (8 * i))
	}
	return d
}

// leaseHolds says whether the session cannot have expired yet: an answer to a
// ping sent at t keeps it until t and the session time. Leaders stop a third of
// it earlier.
func (b *broker) leaseHolds() bool {
	return b.zkc.session != 0 && b.now < b.zkc.answered+b.options.session*2/3
}

// mayLead says whether a leader may still answer as one: its session may not have
// expired, and in a later session it leads only once it is told so again.
func (b *broker) mayLead() bool { return b.leaseHolds() && b.toldUnder == b.brokerEpoch }

// onBroker runs what a job asks of a running broker.
func (b *broker) onBroker(j *job) {
	switch j.kind {
	case tickTimer:
		b.onTick()
	case pingTimer:
		b.onPing()
	case operationTimer:
		b.onOperationTimeout(j.correlation)
	case electTimer:
		b.request(opReadController, nil)
	case resignTimer:
		if b.controller.epoch == j.controllerEpoch {
			b.controller.resign()
			b.request(opReadController, nil) // it may be free, or be this broker's again
		}
	case controllerTimer:
		b.onControllerTimer()
	case shutdownTimer:
		b.onShutdownTimer()
	case fetchTimer:
		b.onFetchTimer(j)
	case parkTimer:
		b.onParkTimer(j)
	case flushTimer:
		b.onFlushTimer(j)
	case proposalTimer:
		b.onProposalTimeout(j)
	case fetchRequest:
		b.onFetchRequest(j)
	case fetchResponse:
		b.onFetchResponse(j)
	case leaderAndISR:
		b.onLeaderAndISR(j)
	case leaderAndISRAnswer:
		b.onToldAnswer(j)
	case alterPartition:
		b.onAlterPartition(j)
	case alterPartitionAnswer:
		b.onAlterAnswer(j)
	case fenceReplica:
		b.onFenceReplica(j)
	case fenceReplicaAnswer:
		b.onFenceAnswer(j)
	case controlledShutdown:
		b.onControlledShutdown(j)
	case updateMetadata:
		b.onUpdateMetadata(j)
	case zkConnected:
		b.onConnected(j)
	case zkAnswer:
		b.onZkAnswer(j)
	case zkWatch:
		b.onWatch(j)
	case produceRequest:
		b.onProduce(j)
	case consumeRequest:
		b.onConsume(j)
	case metadataRequest:
		b.onMetadata(j)
	}
}

// onTick is the passing of time: the machine's, the checkpoint's, and that of
// waiting producers.
func (b *broker) onTick() {
	b.timer(tickTimer, b.options.tick)
	if b.machine == nil {
		return
	}
	if b.random.chance(300) {
		b.hwCheckpoint = b.hw
	}
	b.expireWaiters()
	b.step(replication.Event{Kind: replication.Tick})
}

// onFlushTimer ends an fsync.
func (b *broker) onFlushTimer(j *job) {
	b.flushing = false
	fails := b.fsyncFails
	b.fsyncFails = false
	if !b.log.sync(j.offset, fails && b.faultsOn) {
		// A failed fsync is final: the only log directory goes offline, and the
		// broker with it.
		b.reach[ReachFsyncFailed]++
		b.traceFsync("KAFKA_STORAGE_ERROR")
		b.crash()
		return
	}
	b.traceFsync("")
	end, stale := b.log.synced, b.flushStale
	b.flushStale = false
	if b.flushEnd > end {
		b.beginFlush()
	}
	if stale {
		return // a flush that began before a truncation proves nothing
	}
	b.step(replication.Event{Kind: replication.Flushed, Offset: end})
}

func (b *broker) beginFlush() {
	b.flushing = true
	low, high := b.options.fsyncLow, b.options.fsyncHigh
	if b.fsyncSlow && b.faultsOn {
		low, high = low*50, high*50
	}
	b.timer(flushTimer, b.random.between(low, high)).offset = min(b.flushEnd, b.log.end())
}

// stop is the end of a process. Once all is healed, something starts it again.
func (b *broker) stop() {
	b.up, b.paused = false, false
	b.life++
	if b.healed {
		b.startLater(b, b.options.tick)
	}
}

// crash ends the process; the page cache stays. What it had sent may still
// arrive, and what was sent to it does not.
func (b *broker) crash() {
	if !b.up {
		return
	}
	b.stop()
	for other := range b.net.links[b.end] {
		b.net.links[b.end][other].last = 0 // the next process has connections of its own
	}
	for other := range endpoints {
		b.net.links[other][b.end].generation++
	}
}
