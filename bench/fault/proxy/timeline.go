package proxy

import "time"

// Fault is one entry of a mesh's timeline: a rule other than the zero one, and when
// it held.
type Fault struct {
	Flow
	Rule  Rule      `json:"rule"`
	Start time.Time `json:"start"`
	// End is zero while the rule holds.
	End time.Time `json:"end,omitzero"`
}

// timeline is guarded by its mesh.
type timeline struct {
	faults []Fault
	open   map[Flow]int // index into faults
}

// change ends the fault that the flow has, and begins another where the rule is one.
func (t *timeline) change(f Flow, r Rule, now time.Time) {
	if i, ok := t.open[f]; ok {
		t.faults[i].End = now
		delete(t.open, f)
	}
	if r != (Rule{}) {
		t.open[f] = len(t.faults)
		t.faults = append(t.faults, Fault{Flow: f, Rule: r, Start: now})
	}
}

// mark notes something that took no time.
func (t *timeline) mark(f Flow, r Rule, now time.Time) {
	t.faults = append(t.faults, Fault{Flow: f, Rule: r, Start: now, End: now})
}
