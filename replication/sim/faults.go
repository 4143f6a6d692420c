package sim

import (
	"fmt"
	"time"

	"tidemark/internal/trace"
	"tidemark/replication"
)

// FaultKind is a kind of fault.
type FaultKind uint8

// The kinds.
const (
	// Crash: kill -9, the page cache survives; back after For.
	Crash FaultKind = iota
	// PowerCut: what was not synced is gone, or a part of it.
	PowerCut
	// Wipe: the disk comes back empty, under another directory id.
	Wipe
	// Pause: SIGSTOP; everything waits until SIGCONT.
	Pause
	// Slow: everything the broker does takes longer.
	Slow
	// Isolate: cut from everybody, both ways.
	Isolate
	// CutPair: two brokers do not reach each other.
	CutPair
	// CutOneWay: one broker does not reach another.
	CutOneWay
	// CutZooKeeper: cut from ZooKeeper only.
	CutZooKeeper
	// Clog: what is sent from the broker arrives only when the fault ends.
	Clog
	// Swizzle: links clog one by one and are released in another order.
	Swizzle
	// Reset: every connection of the broker breaks.
	Reset
	// ZooKeeperDown: the ensemble answers nothing.
	ZooKeeperDown
	// Expire: the ensemble ends the broker's session; the broker is not told.
	Expire
	// FsyncSlow: an fsync takes fifty times as long.
	FsyncSlow
	// FsyncFail: the next fsync fails; final.
	FsyncFail
	// CleanRestart: a controlled shutdown and a start.
	CleanRestart
	// MoveLeader: the controller elects another member.
	MoveLeader
	// Chase: every leader is crashed soon after it took office, some of them cut
	// off from the other replicas first.
	Chase
	// ChaseJoin: every replica that is proposed for the ISR loses its power or its
	// disk, and is back before the controller hears of the proposal.
	ChaseJoin
	faultKinds
)

var faultNames = [faultKinds]string{
	"crash", "power-cut", "wipe", "pause", "slow", "isolate", "cut-pair", "cut-one-way", "cut-zookeeper", "clog", "swizzle", "reset",
	"zookeeper-down", "expire", "fsync-slow", "fsync-fail", "clean-restart", "move-leader", "chase", "chase-join",
}

// String is the kind's name.
func (k FaultKind) String() string { return faultNames[k] }

// target says whom a fault hits; it is looked up when the fault begins.
type target uint8

const (
	anybody target = iota
	theLeader
	aFollower
	theController
	targets
)

var targetNames = [targets]string{"a broker", "the leader", "a follower", "the controller"}

// Fault is one planned fault.
type Fault struct {
	// Number is its place in the plan; shrinking keeps it.
	Number int
	Kind   FaultKind
	At     time.Duration
	For    time.Duration
	who    target
	// draw picks among those who could be hit.
	draw int
}

// String is the fault in a line.
func (f Fault) String() string {
	return fmt.Sprintf("fault %d: %s of %s at %s for %s", f.Number, f.Kind, targetNames[f.who], f.At.Round(ms), f.For.Round(ms))
}

// planFaults enables a random half of the kinds and draws how often they come.
func planFaults(o Options, r *random) []Fault {
	var enabled []FaultKind
	for k := range faultKinds {
		if r.chance(500) {
			enabled = append(enabled, k)
		}
	}
	var faults []Fault
	for _, k := range [...]FaultKind{Chase, ChaseJoin} { // some runs are all about it
		if r.chance(120) {
			faults = append(faults, Fault{Number: len(faults), Kind: k, At: r.between(50*ms, 500*ms), For: r.between(500*ms, 3*time.Second)})
		}
	}
	if len(enabled) == 0 {
		return faults
	}
	pace := r.between(120*ms, 800*ms)
	for at := r.between(100*ms, 600*ms); at < o.safety*9/10; at += r.around(pace) {
		f := Fault{Number: len(faults), At: at, Kind: enabled[r.below(len(enabled))], who: target(r.below(int(targets))), draw: r.below(1 << 20)}
		// Half of the faults end inside the session, the others outlast it.
		f.For = r.between(10*ms, o.session)
		if r.chance(500) {
			f.For = r.between(o.session, 2*o.session)
		}
		faults = append(faults, f)
	}
	return faults
}

// victim is the broker a fault hits.
func (w *world) victim(f *Fault) *broker {
	switch f.who {
	case theLeader:
		if l := w.zk.state.leader; l != replication.NoBroker {
			return w.brokers[endOf(l)]
		}
	case aFollower:
		at := f.draw % len(w.replicas)
		if w.replicas[at] == w.zk.state.leader {
			at = (at + 1) % len(w.replicas)
		}
		return w.brokers[endOf(w.replicas[at])]
	case theController:
		if c := w.zk.controller; c != harness {
			return w.brokers[c]
		}
	}
	return w.brokers[f.draw%len(w.brokers)]
}

// inject begins a fault and schedules its end. In a safe run a fault that could
// take an acknowledged record that the settings promise to keep becomes a milder
// one.
func (w *world) inject(f Fault) {
	b := w.victim(&f)
	other := w.brokers[(int(b.end)+1+f.draw/7%(len(w.brokers)-1))%len(w.brokers)]
	if !w.options.Unsafe && !w.bearable(f.Kind, b) {
		f.Kind = Crash
	}
	if (f.Kind == Crash || f.Kind == PowerCut || f.Kind == Wipe || f.Kind == CleanRestart || f.Kind == Pause) && (!b.up || b.paused) {
		return
	}
	w.faultCount[f.Kind]++
	w.traceFault("begin", f.Kind, b, other)
	switch f.Kind {
	case Crash, PowerCut, Wipe:
		b.kill(f.Kind)
		w.startLater(b, f.For)
	case CleanRestart:
		b.shutDown()
		w.startLater(b, f.For+w.options.session)
	case Pause:
		b.paused, b.resumeAt = true, w.now+f.For
		w.endLater(f, b, other)
	case MoveLeader:
		if c := w.zk.controller; c != harness {
			w.brokers[c].controller.move = b.id
			w.brokers[c].controller.evaluate()
		}
	case Expire:
		if s := b.zkc.session; s != 0 {
			w.endSession(s)
		}
	case FsyncFail:
		b.fsyncFails = true
		w.startLater(b, f.For+w.options.session)
	case Reset:
		for e := range endpoints {
			w.reset(b.end, endpoint(e))
		}
	default:
		w.setFault(f, b, other, true)
		w.endLater(f, b, other)
	}
}

// setFault turns a fault with a beginning and an end on or off.
func (w *world) setFault(f Fault, b, other *broker, on bool) {
	switch f.Kind {
	case Slow:
		b.slowness = 1
		if on {
			b.slowness = time.Duration(2 + f.draw%30)
		}
	case Isolate:
		for e := range endpoints {
			if endpoint(e) != b.end && endpoint(e) < firstClient {
				w.setCut(b.end, endpoint(e), on)
				w.setCut(endpoint(e), b.end, on)
			}
		}
	case CutPair:
		w.setCut(b.end, other.end, on)
		w.setCut(other.end, b.end, on)
	case CutOneWay:
		w.setCut(b.end, other.end, on)
	case CutZooKeeper:
		w.setCut(b.end, zkEnd, on)
		w.setCut(zkEnd, b.end, on)
	case Clog:
		w.clog(b, f.For, on)
	case Swizzle:
		for i, each := range w.brokers {
			w.clog(each, f.For*time.Duration(1+(i*5+f.draw)%len(w.brokers))/time.Duration(len(w.brokers)), on)
		}
	case ZooKeeperDown:
		w.zk.down = on
		if !on { // an ensemble that comes back gives every session its whole time
			for i := range w.zk.sessions {
				w.zk.sessions[i].deadline = w.now + w.options.session
			}
		}
	case FsyncSlow:
		b.fsyncSlow = on
	case Chase:
		w.chasing = on
	case ChaseJoin:
		w.chasingJoin = on
	}
}

// chase goes for a leader that took office.
func (w *world) chase(b *broker) {
	if !w.chasing || w.healed {
		return
	}
	in := w.random.between(0, 45*ms)
	if w.random.chance(500) {
		in += 10 * ms
		for _, id := range w.replicas {
			if e := endOf(id); e != b.end {
				w.setCut(b.end, e, true)
				w.setCut(e, b.end, true)
			}
		}
	}
	j := w.queue.add(w.now + in)
	j.kind, j.to = chaseTimer, b.end
}

// chaseJoin goes for the replicas that a proposal adds.
func (w *world) chaseJoin(leader *broker, e replication.Effect) {
	if !w.chasingJoin || w.healed || e.Why == replication.Lagging {
		return
	}
	for _, m := range e.Members {
		b := w.brokers[endOf(m.Broker)]
		if b == leader || replication.Contains(w.zk.state.isr, m.Broker) || !b.up || b.paused {
			continue
		}
		kind := PowerCut
		if w.random.chance(500) {
			kind = Wipe
		}
		if !w.options.Unsafe && !w.bearable(kind, b) {
			return
		}
		w.faultCount[kind]++
		w.traceFault("begin", kind, b, b)
		b.kill(kind)
		w.startLater(b, w.random.between(ms, 20*ms))
		if c := leader.controllerEnd; c != harness && c != leader.end {
			w.net.links[leader.end][c].clogged = w.now + w.random.between(0, 100*ms)
		}
	}
}

// chaseCommit goes for a leader at the moment its first commit in office stands.
func (w *world) chaseCommit(b *broker) {
	if !w.chasing || w.healed || b.chased == b.epoch {
		return
	}
	b.chased = b.epoch
	if w.random.chance(500) {
		j := w.queue.add(w.now + w.random.between(1, ms))
		j.kind, j.to = chaseTimer, b.end
	}
}

func (w *world) onChase(b *broker) {
	for _, id := range w.replicas {
		if e := endOf(id); e != b.end {
			w.setCut(b.end, e, false)
			w.setCut(e, b.end, false)
		}
	}
	if b.up && !b.paused && !w.healed {
		b.kill(Crash)
		if s := b.lastSession; s != 0 && w.random.chance(700) {
			w.endSession(s) // as if the session had been about to end
		}
		w.startLater(b, w.random.between(10*ms, 200*ms))
	}
}

func (w *world) clog(b *broker, time time.Duration, on bool) {
	for e := range endpoints {
		l := &w.net.links[b.end][e]
		l.clogged = 0
		if on {
			l.clogged = w.now + time
		}
	}
}

func (w *world) endLater(f Fault, b, other *broker) {
	j := w.queue.add(w.now + f.For)
	j.kind, j.to, j.from, j.index = endFaultTimer, b.end, other.end, int32(len(w.running))
	w.running = append(w.running, f)
}

func (w *world) endFault(j *job) {
	f, b, other := w.running[j.index], w.brokers[j.to], w.brokers[j.from]
	w.traceFault("end", f.Kind, b, other)
	if f.Kind == Pause {
		b.paused = false
		return
	}
	w.setFault(f, b, other, false)
}

func (w *world) startLater(b *broker, in time.Duration) {
	j := w.queue.add(w.now + in)
	j.kind, j.to = startTimer, b.end
}

// kill ends the process, and does to the disk what the fault does.
func (b *broker) kill(kind FaultKind) {
	b.crash()
	b.cleanMarker = replication.NoBrokerEpoch
	end := b.log.end()
	switch kind {
	case PowerCut:
		b.powerCut()
	case Wipe:
		b.nextDirectory++
		b.log.wipe(int64(b.id) + 100*b.nextDirectory)
		b.fence, b.fenceSynced, b.hwCheckpoint = replication.NoEpoch, replication.NoEpoch, replication.NoOffset
		b.ghost.promised[b.end] = replication.NoEpoch
		b.ghost.forgot(b, end)
	}
	if kind != Crash {
		b.ghost.reckon()
	}
}

func (b *broker) powerCut() {
	end := b.log.end()
	if b.log.powerCut(b.random) > 0 {
		b.reach[ReachUnsyncedLost]++
	}
	if b.fence > b.fenceSynced && b.random.chance(700) {
		b.fence = b.fenceSynced
		b.reach[ReachFenceForgotten]++
	}
	if b.random.chance(500) {
		b.hwCheckpoint = replication.NoOffset
	}
	b.ghost.forgot(b, end)
}

// heal ends every fault and starts every broker.
func (w *world) heal() {
	w.faultsOn, w.healed = false, true
	w.healNetwork()
	if w.zk.down {
		w.setFault(Fault{Kind: ZooKeeperDown}, nil, nil, false)
	}
	for _, b := range w.brokers {
		b.paused, b.slowness, b.fsyncFails, b.fsyncSlow = false, 1, false, false
		if !b.up {
			b.start()
		}
	}
	w.traceFault("end", faultKinds, nil, nil)
}

func (w *world) traceFault(phase string, k FaultKind, b, other *broker) {
	if w.trace == nil {
		return
	}
	e := trace.Event{Kind: trace.Fault, Phase: phase, What: "all"}
	if k < faultKinds {
		e.What, e.New = k.String(), []int32{b.id}
		if k == CutPair || k == CutOneWay {
			e.New = append(e.New, other.id)
		}
	}
	w.cause = w.emit(harness, e)
}
