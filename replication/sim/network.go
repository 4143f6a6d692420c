package sim

import "time"

// link is one direction between two endpoints. Messages on it keep their order,
// as on a TCP connection, and are lost all at once when it breaks.
type link struct {
	// cut: nothing gets through; what is under way is lost.
	cut bool
	// clogged: what is sent waits until then.
	clogged time.Duration
	// generation grows with every break; what was sent before it is gone.
	generation uint32
	// last is when the last message on its way arrives.
	last time.Duration
	// low and high bound the time a message takes.
	low, high time.Duration
}

// network is all links.
type network struct {
	links [endpoints][endpoints]link
}

// post returns a message from one endpoint to another that will arrive in time,
// for the caller to fill in; nil where it gets lost. A lost message is a broken
// connection: neither end learns of it other than by silence.
func (w *world) post(kind jobKind, from, to endpoint) *job {
	l := &w.net.links[from][to]
	if w.options.dropPerMille > 0 && w.faultsOn && w.random.chance(w.options.dropPerMille) {
		w.reset(from, to)
		w.reach[ReachConnectionReset]++
	}
	if l.cut {
		return nil
	}
	delay := w.random.between(l.low, l.high)
	if from.isBroker() {
		delay *= w.brokers[from].slowness
	}
	late := w.faultsOn && w.random.chance(w.options.latePerMille)
	if late {
		delay += w.random.between(20*ms, 400*ms) // sent again by TCP
	}
	at := max(w.now+delay, l.last+1, l.clogged)
	if !late || from == zkEnd || to == zkEnd || w.random.chance(500) {
		l.last = at
	} // else on a connection that its sender gives up: later messages overtake it
	j := w.queue.add(at)
	j.kind, j.from, j.to, j.link = kind, from, to, l.generation
	j.cause = w.cause
	return j
}

// reset breaks the connection: what is under way in both directions is lost.
func (w *world) reset(a, b endpoint) {
	w.net.links[a][b].generation++
	w.net.links[b][a].generation++
}

// arrives says whether the link still carries what was sent on it.
func (w *world) arrives(j *job) bool {
	l := &w.net.links[j.from][j.to]
	return !l.cut && l.generation == j.link
}

// setCut cuts or heals one direction.
func (w *world) setCut(from, to endpoint, cut bool) {
	l := &w.net.links[from][to]
	if l.cut == cut {
		return
	}
	l.cut = cut
	w.reset(from, to)
}

// healNetwork removes every cut and clog.
func (w *world) healNetwork() {
	for a := range endpoints {
		for b := range endpoints {
			w.setCut(endpoint(a), endpoint(b), false)
			w.net.links[a][b].clogged = 0
		}
	}
}
