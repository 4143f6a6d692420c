package sim

import (
	"maps"
	"slices"
	"time"

	"tidemark/replication"
)

// Rows are the rows of the list of faults that can be played by name. Each is a
// course of events that loses acknowledged records under some settings and must
// not under others; the settings are the scenario's.
func Rows() []string { return slices.Sorted(maps.Keys(rows)) }

// script plays a row: each step waits for its condition, looked at every few
// milliseconds, then acts.
type script struct {
	steps []scriptStep
	at    int
	since time.Duration // when the step before was done
	// cast are the brokers of the row, found as it goes.
	first, second, third *broker
	mark                 int64
}

type scriptStep struct {
	when func(*world) bool
	do   func(*world)
}

// planRow begins the script of a row; no row is no script.
func (w *world) planRow(row string) {
	if steps := rows[row]; len(steps) > 0 {
		w.script = &script{steps: steps}
		w.queue.add(2 * ms).kind = scriptTimer
	}
}

func (w *world) onScript() {
	s := w.script
	for s.at < len(s.steps) && s.steps[s.at].when(w) {
		s.steps[s.at].do(w)
		s.since = w.now
		s.at++
	}
	if s.at < len(s.steps) && !w.healed {
		w.queue.add(w.now + 2*ms).kind = scriptTimer
	}
}

// The rows, by their numbers in the list of faults.
var rows = map[string][]scriptStep{
	// The leader dies while its followers lag: what only it acknowledged is gone.
	"R01": {{acked(60), castLeader}, {yes, cutFollowers}, {ahead(8), crashFirst}, {elected, startFirst}},
	// The ISR shrinks to the leader, more is acknowledged, the leader dies: an
	// unclean election loses it, a clean one waits.
	"R10": {{acked(60), castLeader}, {yes, cutFollowers}, {alone, mark}, {ahead(20), crashFirst}, {electedOr(1500 * ms), startFirst}},
	// The last replica standing: the ISR shrinks to one that then loses its
	// unsynced records, though the two others have them.
	"R12": {
		{acked(60), castLeader}, {yes, isolateFirst}, {elected, castSecond}, {yes, isolateSecond},
		{lastStands, powerCutThird}, {electedOr(900 * ms), healAll},
	},
	// The ISR shrinks to the leader, which acknowledges alone and loses power.
	"R13": {{acked(60), castLeader}, {yes, cutFollowers}, {alone, mark}, {ahead(20), powerCutFirst}, {electedOr(900 * ms), healAll}},
	// A majority acknowledges, one of it loses power and the other is paused: the
	// rest elects among themselves.
	"R27": {
		{acked(60), castLeader}, {yes, castFollowers}, {yes, cutThird}, {ahead(20), powerCutSecond}, {yes, pauseFirst},
		{electedOr(1500 * ms), resumeFirst},
	},
	// Every replica is killed at once, and they come back in any order.
	"R29": {{acked(100), crashAll}, {after(100 * ms), startInAnyOrder}},
	// Every replica loses power at once.
	"R30": {{acked(100), powerCutAll}, {after(100 * ms), startAll}},
}

func yes(*world) bool { return true }

// acked waits for so many acknowledged records.
func acked(n int) func(*world) bool { return func(w *world) bool { return len(w.ghost.acked) >= n } }

func after(d time.Duration) func(*world) bool {
	return func(w *world) bool { return w.now-w.script.since >= d }
}

// ahead waits until the first of the cast has acknowledged so much more than the
// mark.
func ahead(n int64) func(*world) bool {
	return func(w *world) bool {
		a := w.ghost.acked
		return len(a) > 0 && a[len(a)-1].offset >= w.script.mark+n
	}
}

// elected waits for another leader than the one so far.
func elected(w *world) bool {
	l := w.zk.state.leader
	if l == replication.NoBroker || w.brokers[endOf(l)] == w.script.first {
		return false
	}
	b := w.brokers[endOf(l)]
	return b.role == replication.Leader && b.epoch == w.zk.state.leaderEpoch
}

// electedOr waits for it no longer than d.
func electedOr(d time.Duration) func(*world) bool {
	return func(w *world) bool { return elected(w) || w.now-w.script.since >= d }
}

// alone waits until the ISR is the leader.
func alone(w *world) bool { return len(w.zk.state.isr) == 1 }

// lastStands waits until one broker alone is the ISR and leads.
func lastStands(w *world) bool {
	s := w.zk.state
	return len(s.isr) == 1 && s.leader == s.isr[0].Broker
}

func castLeader(w *world) {
	w.script.mark = w.ghost.acked[len(w.ghost.acked)-1].offset
	w.script.first = w.brokers[w.replicaOr(w.zk.state.leader)]
}

func castSecond(w *world) { w.script.second = w.brokers[w.replicaOr(w.zk.state.leader)] }

func castFollowers(w *world) {
	for _, id := range w.replicas {
		switch b := w.brokers[endOf(id)]; {
		case b == w.script.first:
		case w.script.second == nil:
			w.script.second = b
		default:
			w.script.third = b
		}
	}
}

// replicaOr is the leader's endpoint, or that of the first replica where nobody
// leads.
func (w *world) replicaOr(leader int32) endpoint {
	if leader == replication.NoBroker {
		leader = w.replicas[0]
	}
	return endOf(leader)
}

func mark(w *world) { w.script.mark = w.script.first.log.end() }

func (w *world) cutBoth(a, b endpoint, cut bool) {
	w.setCut(a, b, cut)
	w.setCut(b, a, cut)
}

func cutFollowers(w *world) {
	for _, id := range w.replicas {
		if e := endOf(id); e != w.script.first.end {
			w.cutBoth(w.script.first.end, e, true)
		}
	}
}

func cutThird(w *world) {
	w.cutBoth(w.script.third.end, w.script.first.end, true)
	w.cutBoth(w.script.third.end, w.script.second.end, false)
}

func (w *world) isolate(b *broker) { w.setFault(Fault{Kind: Isolate}, b, nil, true) }

func isolateFirst(w *world)  { w.isolate(w.script.first) }
func isolateSecond(w *world) { w.isolate(w.script.second) }

func crashFirst(w *world) { w.script.first.kill(Crash) }

func startFirst(w *world) { healAll(w) }

// cutPower takes the power, and with it everything that was not synced.
func (w *world) cutPower(b *broker) {
	b.kill(PowerCut)
	end := b.log.end()
	b.log.truncate(min(end, b.log.synced))
	b.ghost.forgot(b, end)
	b.ghost.reckon()
}

func powerCutFirst(w *world) {
	w.cutPower(w.script.first)
	w.startLater(w.script.first, 50*ms)
}

func powerCutSecond(w *world) {
	w.cutPower(w.script.second)
	w.startLater(w.script.second, 20*ms)
}

func powerCutThird(w *world) {
	third := w.brokers[endOf(w.zk.state.isr[0].Broker)]
	w.script.first = third
	w.cutPower(third)
	w.startLater(third, 50*ms)
}

func powerCutAll(w *world) {
	for _, id := range w.replicas {
		w.cutPower(w.brokers[endOf(id)])
	}
}

func crashAll(w *world) {
	for _, id := range w.replicas {
		w.brokers[endOf(id)].kill(Crash)
	}
}

func startInAnyOrder(w *world) {
	for _, b := range w.brokers {
		w.startLater(b, w.random.between(ms, 2*w.options.session))
	}
}

func startAll(w *world) {
	for _, b := range w.brokers {
		b.start()
	}
}

func pauseFirst(w *world) {
	w.script.first.paused, w.script.first.resumeAt = true, w.now+1600*ms
}

func resumeFirst(w *world) {
	w.script.first.paused = false
	healAll(w)
}

// healAll ends what the row did, before the run heals everything.
func healAll(w *world) {
	w.healNetwork()
	startAll(w)
}
