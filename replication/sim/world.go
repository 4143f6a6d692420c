package sim

import (
	"context"
	"time"

	"tidemark/internal/trace"
	"tidemark/replication"
)

// world is one run: brokers, ZooKeeper, links, clients and the checker, all in
// one goroutine.
type world struct {
	spec    replication.Spec
	cfg     replication.Config // of every replica, without Self
	options Options
	random  *random
	queue   queue
	now     time.Duration
	events  int

	net           network
	zk            zookeeper
	brokers       []*broker
	clients       []*client
	replicas      []int32
	assignment    []replication.Member
	sessionsArmed bool

	faultsOn, healed, draining bool
	chasing, chasingJoin       bool
	faultCount                 [faultKinds]int
	running                    []Fault
	script                     *script

	ghost     ghost
	touched   uint32
	reach     Counts
	violation *Violation

	trace *recording
	cause trace.ID
}

// all marks every broker as touched.
const all = 1<<maxBrokers - 1

const partitionName = "t-0"

func newWorld(seed uint64, s Scenario) *world {
	w := &world{spec: s.Spec, random: newRandom(seed), faultsOn: true}
	w.options = expand(s, w.random)
	o := &w.options
	w.cfg = replication.Config{
		MinISR: o.MinISR, LagTimeMax: o.lag, SyncedAcks: o.Flush != "os", Truncation: o.truncation,
		ELR: o.ELR, UncleanElection: o.Unclean,
	}
	w.ghost.init(w)
	for a := range endpoints {
		for b := range endpoints {
			l := &w.net.links[a][b]
			l.low = o.delayLow
			l.high = w.random.between(o.delayLow, o.delayHigh)
		}
	}
	first := w.random.below(o.Brokers)
	for i := range replicationFactor {
		id := int32((first+i)%o.Brokers) + 1
		w.replicas = append(w.replicas, id)
		w.assignment = append(w.assignment, replication.Member{Broker: id, BrokerEpoch: replication.NoBrokerEpoch, Dir: dirID(int64(id))})
	}
	w.zk.zxid, w.zk.controller = 100, harness
	w.zk.state = &partitionState{leader: replication.NoBroker, lastLeader: replication.NoBroker}
	for i := range o.Brokers {
		b := &broker{world: w, end: endpoint(i), id: int32(i + 1), slowness: 1}
		b.log.directory = int64(b.id)
		b.fence, b.fenceSynced = replication.NoEpoch, replication.NoEpoch
		b.hwCheckpoint, b.cleanMarker = replication.NoOffset, replication.NoBrokerEpoch
		w.brokers = append(w.brokers, b)
		b.start()
	}
	w.addClients()
	for _, f := range o.Faults {
		j := w.queue.add(f.At)
		j.kind, j.index = faultTimer, int32(f.Number)
	}
	w.queue.add(o.writeback).kind = writebackTimer
	w.planRow(s.Row)
	return w
}

func (w *world) addClients() {
	o := &w.options
	for i := range o.Producers + o.Consumers {
		c := &client{world: w, end: firstClient + endpoint(i), leader: endpoint(w.random.below(o.Brokers)), leaderEpoch: replication.NoEpoch}
		kind, in := produceTimer, o.producePeriod
		if i >= o.Producers {
			kind, in, c.consumer = consumeTimer, o.consumePeriod, true
		} else {
			c.acks = o.Acks[i]
		}
		w.clients = append(w.clients, c)
		c.later(kind, w.random.around(in))
	}
}

func (w *world) assigned(broker int32) bool {
	for _, id := range w.replicas {
		if id == broker {
			return true
		}
	}
	return false
}

// interrupted is looked at every so many events.
const interruptEvery = 1 << 14

// run runs events until the time given, a violation, or the end of the context.
func (w *world) run(ctx context.Context, until time.Duration) {
	for w.violation == nil {
		if w.events%interruptEvery == 0 && ctx.Err() != nil {
			return
		}
		if len(w.queue.heap) == 0 || w.queue.heap[0].at > until {
			w.now = until
			return
		}
		at, slot, _ := w.queue.take()
		w.now = max(w.now, at)
		j := w.queue.jobs[slot]
		if b := w.addressee(j); b != nil && b.paused && j.kind != startTimer && j.kind != endFaultTimer {
			w.queue.again(b.resumeAt+1, slot)
			continue
		}
		w.events++
		w.cause = j.cause
		w.dispatch(j)
		w.queue.release(slot)
		if w.touched != 0 {
			w.check()
		}
	}
}

// addressee is the broker a job is for.
func (w *world) addressee(j *job) *broker {
	if j.kind >= produceTimer || !j.to.isBroker() {
		return nil
	}
	return w.brokers[j.to]
}

func (w *world) dispatch(j *job) {
	isMessage := j.kind >= fetchRequest && j.kind <= metadataAnswer
	if isMessage && j.from != j.to && !w.arrives(j) {
		return
	}
	switch {
	case j.kind == startTimer:
		w.brokers[j.to].start()
	case j.kind == sessionTimer:
		w.onSessionTimer()
	case j.kind == faultTimer:
		w.onFault(int(j.index))
	case j.kind == endFaultTimer:
		if !w.healed {
			w.endFault(j)
		}
	case j.kind == chaseTimer:
		w.onChase(w.brokers[j.to])
	case j.kind == scriptTimer:
		w.onScript()
	case j.kind == writebackTimer:
		w.onWriteback()
	case j.to == zkEnd:
		w.onZooKeeper(j)
	case j.to.isBroker() && j.kind < produceTimer:
		if b := w.brokers[j.to]; b.up && (j.life == 0 || j.life == b.life || j.kind == zkConnected || j.kind == zkAnswer) {
			b.onBroker(j)
		}
	default:
		w.clients[j.to-firstClient].onClient(j)
	}
}

func (w *world) onFault(number int) {
	if w.healed {
		return
	}
	for _, f := range w.options.Faults {
		if f.Number == number {
			w.inject(f)
		}
	}
}

// onWriteback is the kernel writing old pages back: what was there the last time
// is on disk now.
func (w *world) onWriteback() {
	w.queue.add(w.now + w.random.around(w.options.writeback)).kind = writebackTimer
	for _, b := range w.brokers {
		if !w.cfg.SyncedAcks && !b.log.syncFailed {
			b.log.sync(b.log.end()*3/4, false)
		}
		if b.random.chance(300) {
			b.fenceSynced = b.fence
		}
	}
}
