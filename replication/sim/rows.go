package sim

// script plays a row of the list of faults: each step waits for its condition,
// looked at every few milliseconds, then acts.
type script struct {
	steps []scriptStep
	at    int
}

type scriptStep struct {
	when func(*world) bool
	do   func(*world)
}

func (w *world) onScript() {
	s := w.script
	for s.at < len(s.steps) && s.steps[s.at].when(w) {
		s.steps[s.at].do(w)
		s.at++
	}
	if s.at < len(s.steps) && !w.healed {
		w.queue.add(w.now + 2*ms).kind = scriptTimer
	}
}

// planRow begins the script of a row; no row is no script.
func (w *world) planRow(row string) {
	steps := rows[row]
	if len(steps) == 0 {
		return
	}
	w.script = &script{steps: steps}
	w.queue.add(2 * ms).kind = scriptTimer
}

var rows = map[string][]scriptStep{}
