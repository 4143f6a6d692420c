package run

import (
	"fmt"
	"runtime"

	"tidemark/bench/load"
	"tidemark/bench/result"
)

// The validity gates.
const (
	leastAchieved   = 0.95 // of an offered rate
	mostSteal       = 0.01
	mostOthers      = 0.15 // of the machine; the kernel's writeback threads stay below
	mostThread      = 0.80 // of a core, for the busiest client thread of a paced run
	mostLateness    = 0.10 // the harness's own p99 lateness as a share of p99 response
	leastLateNs     = 100_000
	nearlyAll       = 0.90 // of all processors: the machine is the limit
	leastWindowNs   = 300_000_000
	unknownBound    = "unknown"
	convergedWithin = 0.25
)

// judge fills the run's status, reasons, warnings and bound_by from what was
// measured. A saturating run is meant to keep client and broker busy, so that
// only decides bound_by; a paced run is not.
func judge(r *result.Run, produce, fetch *load.Outcome) {
	r.Status, r.Reasons = result.Valid, []string{}
	degrade := func(format string, args ...any) {
		if r.Status == result.Valid {
			r.Status = result.Degraded
		}
		r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...))
	}
	invalid := func(format string, args ...any) {
		r.Status = result.Invalid
		r.Reasons = append(r.Reasons, fmt.Sprintf(format, args...))
	}
	l := r.Ledger
	switch {
	case !l.Balanced():
		invalid("ledger does not balance: %d accepted, %d acknowledged, %d failed, %d in flight", l.Accepted, l.Acked, l.Failed, l.InFlight)
	case l.Acked == 0:
		invalid("nothing was acknowledged")
	}
	if l.Stored >= 0 && (l.Stored < l.Acked || l.Stored > l.Acked+l.Failed+l.InFlight) {
		invalid("%d records were acknowledged, the log holds %d", l.Acked, l.Stored)
	}
	if l.Failed > 0 {
		degrade("%d records failed", l.Failed)
	}
	if l.InFlight > 0 {
		degrade("%d records had no answer at the deadline", l.InFlight)
	}
	if c := r.Check; c.Lost+c.Duplicate+c.Reordered+c.Corrupt > 0 {
		invalid("reading back: %d lost, %d duplicate, %d reordered, %d corrupt", c.Lost, c.Duplicate, c.Reordered, c.Corrupt)
	}
	if r.StealRatio > mostSteal {
		degrade("%.1f %% of CPU time was stolen by the hypervisor", 100*r.StealRatio)
	}
	if r.OthersRatio > mostOthers {
		degrade("other programs took %.0f %% of the machine", 100*r.OthersRatio)
	}
	if r.Kind == result.Paced {
		judgePaced(r, degrade)
	} else if r.Produce != nil && r.Produce.WindowNs < leastWindowNs {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the window was only %d ms long", r.Produce.WindowNs/1_000_000))
	}
	if fetch != nil && fetch.Window.Acked == 0 {
		invalid("nothing was read back")
	}
	r.WarmUp = warmUp(r, produce)
	r.BoundBy = boundBy(r, produce)
}

func judgePaced(r *result.Run, degrade func(string, ...any)) {
	w := r.Produce
	if w == nil {
		return
	}
	if achieved := float64(w.AckedPerS) / float64(max(1, w.OfferedPerS)); achieved < leastAchieved {
		degrade("achieved %.0f %% of the offered rate: the target was saturated, its latency is that of a queue", 100*achieved)
	}
	if w.Dropped > 0 {
		degrade("%d records were due before the last %v %% of the window and never sent", w.Dropped, 100*result.LastPart)
	}
	if w.CPU.ClientMaxThread > mostThread {
		degrade("a client thread was busy for %.0f %% of the window", 100*w.CPU.ClientMaxThread)
	}
	if own := w.OwnLatenessNs; own != nil && w.ResponseNs != nil && own.P99 > leastLateNs &&
		float64(own.P99) > mostLateness*float64(w.ResponseNs.P99) {
		degrade("the harness itself was late: own_lateness_ns.p99 is %d µs of a response_ns.p99 of %d µs", own.P99/1000, w.ResponseNs.P99/1000)
	}
}

// warmUp says whether throughput was level from the start of the window: its
// first half against its second.
func warmUp(r *result.Run, o *load.Outcome) string {
	if o == nil || o.WarmUpNs == 0 {
		return "none"
	}
	var rows []result.Row
	for _, row := range o.Rows {
		if row.Phase == "window" {
			rows = append(rows, row)
		}
	}
	if len(rows) < 4 {
		return "fixed"
	}
	rate := func(rows []result.Row) float64 {
		var n, ms int64
		for _, row := range rows {
			n, ms = n+row.Acked, ms+row.LengthMs
		}
		return float64(n) / float64(max(1, ms))
	}
	first, second := rate(rows[:len(rows)/2]), rate(rows[len(rows)/2:])
	if second > 0 && (first/second > 1+convergedWithin || first/second < 1-convergedWithin) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("throughput was not level: the second half of the window ran at %.0f %% of the first", 100*second/max(1e-9, first)))
		return "not_converged"
	}
	return "converged"
}

// boundBy names what was used up, as far as CPU accounting can tell.
func boundBy(r *result.Run, o *load.Outcome) string {
	w := r.Produce
	switch {
	case w == nil:
		return unknownBound
	case r.Kind == result.Paced && float64(w.AckedPerS) >= leastAchieved*float64(w.OfferedPerS):
		return "schedule"
	}
	window := float64(w.WindowNs)
	broker, client := float64(w.CPU.TargetNs())/window, float64(w.CPU.ClientNs())/window
	switch {
	case broker+client > nearlyAll*float64(runtime.NumCPU()):
		if client > broker {
			return "client_cpu"
		}
		return "broker_cpu"
	case w.CPU.ClientMaxThread > nearlyAll:
		return "client_cpu"
	case r.OthersRatio > mostOthers:
		return "others"
	case w.CPU.TargetNs() > 0 && broker+client < nearlyAll*float64(runtime.NumCPU())/2:
		return "waiting" // on the disk, or on each other
	}
	return unknownBound
}
