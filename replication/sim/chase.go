package sim

import "tidemark/replication"

// The faults that wait for a moment: what hurts most seldom comes at a random
// time.

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
