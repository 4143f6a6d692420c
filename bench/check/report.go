package check

import (
	"fmt"
	"strings"

	"tidemark/bench/ledger"
)

// Report is what a check found.
type Report struct {
	Counts
	// Lost are the acknowledged records that are gone, by stream.
	LostSpans []LostSpan `json:"lost_spans"`
	// Examples spell out the first anomalies of each partition.
	Examples []Anomaly `json:"examples"`
}

// LostSpan is neighbouring records of one stream that are all lost.
type LostSpan struct {
	Stream ledger.Stream `json:"stream"`
	First  uint64        `json:"first"`
	Count  uint64        `json:"count"`
}

// Report ends the check: everything that is in the partition was read.
func (c *Checker) Report() Report {
	r := Report{Counts: c.counts, Examples: c.examples}
	example := func(a Anomaly) {
		if len(r.Examples) < maxExamples {
			r.Examples = append(r.Examples, a)
		}
	}
	for i := range c.streams {
		s := &c.streams[i]
		for _, p := range s.lost() {
			r.Lost += int64(p.Len())
			r.LostSpans = append(r.LostSpans, LostSpan{s.view.Stream, p.First, p.Len()})
			example(Anomaly{Kind: Lost, Stream: s.view.Stream, First: p.First, Count: p.Len(), Offset: -1, Why: "acknowledged, and not in the log"})
		}
		for _, a := range s.astray {
			r.Inconsistent++
			example(Anomaly{Kind: Inconsistent, Stream: s.view.Stream, First: a.seq, Count: 1, Offset: a.read,
				Why: fmt.Sprintf("at offset %d, acknowledged at %d", a.read, a.told)})
		}
	}
	return r
}

// String is the counts in a line, and the examples below it.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d read; %d lost, %d duplicate, %d reordered, %d corrupt, %d phantom, %d inconsistent; %d without an answer",
		r.Read, r.Lost, r.Duplicate, r.Reordered, r.Corrupt, r.Phantom, r.Inconsistent, r.Unanswered)
	for _, a := range r.Examples {
		b.WriteString("\n  " + a.String())
	}
	return b.String()
}
