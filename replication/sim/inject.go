package sim

import (
	"time"

	"tidemark/replication"
)

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
		switch {
		case !b.up:
			b.start()
		case b.leaving: // its timer may have been set while it was slow
			b.timer(shutdownTimer, w.options.session/2)
		}
	}
	w.traceFault("end", faultKinds, nil, nil)
}
