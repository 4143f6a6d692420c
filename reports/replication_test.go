package reports_test

import (
	"fmt"
	"strings"
	"testing"

	"tidemark/bench/result"
)

// strategic adds an experiment of strategies, with and without a slow follower: of
// each strategy a share of its rate is left, and its response times grow by a load.
func (s *sample) strategic(name string, kind result.Kind, shares map[string]float64) {
	order := []string{"isr", "async", "quorum", "sync"}
	e := s.experiment(name, kind, []result.Axis{{Name: "replication.strategy", Values: order}, {Name: "follower.rate", Values: []string{"max", "10% of acks"}}})
	for i, strategy := range order {
		for k, rate := range []string{"max", "10% of acks"} {
			cell := result.PlanCell{ID: fmt.Sprintf("%s%d%d", name, i, k), Label: strategy + " " + rate, Base: i+k == 0, Driver: "raw", Target: "process", Axes: map[string]string{},
				Config: map[string]string{"replication.strategy": strategy, "follower.rate": rate, "brokers": "3", "replication.factor": "3"}}
			if i > 0 {
				cell.Axes["replication.strategy"] = strategy
			}
			share := 1.0
			if k > 0 {
				cell.Axes["follower.rate"], share = rate, shares[strategy]
			}
			e.Cells = append(e.Cells, cell)
			for b := range s.blocks {
				s.runs = append(s.runs, s.strategicRun(e, cell, b, share))
			}
		}
	}
}

func (s *sample) strategicRun(e *result.PlanExperiment, cell result.PlanCell, block int, share float64) sampleRun {
	r := s.run(e, cell, block, 1024)
	r.Produce = s.window(4e5*share, 1034, 2, 4e9)
	out := sampleRun{Run: r}
	if e.Kind == result.Paced {
		r.Produce.OfferedPerS = 4e5
		out.files.Whole = s.latencies(&r, 1.02-share, 2000)
	}
	for i := range 16 {
		n := r.Produce.AckedPerS / 4
		out.files.Rows = append(out.files.Rows, result.Row{TMs: int64(250 * (i + 1)), Phase: "window", LengthMs: 250, Offered: n, Accepted: n, Acked: n, Debt: -1})
	}
	out.Run = r
	return out
}

// copies adds an experiment of one and three replicas, three at so many times the
// processor time.
func (s *sample) copies(name string, times float64) {
	s.burst(name, 1024, 1e6, []cellSpec{{}, {axis: "replication.factor", value: "3", produce: 0.4, cost: times}})
	e := &s.plan.Experiments[len(s.plan.Experiments)-1]
	e.Axes = []result.Axis{{Name: "replication.factor", Values: []string{"1", "3"}}}
}

// TestReplicationPanel: what is left of each strategy's throughput and what copies
// cost stand in the title, with their intervals in tables and pictures.
func TestReplicationPanel(t *testing.T) {
	s := newSample(t, 5, "cccccc", 6)
	s.copies("copies", 3)
	left := map[string]float64{"isr": 0.6, "async": 0.98, "quorum": 0.97, "sync": 0.1}
	s.strategic("strategies", result.Burst, left)
	s.strategic("latency", result.Paced, left)
	for i := range s.runs { // what waited in the warm-up is answered in the window
		if r := &s.runs[i]; r.Kind == result.Paced && r.Axes["follower.rate"] != "" && r.Axes["replication.strategy"] == "" {
			r.Produce.AckedPerS = r.Produce.OfferedPerS * 107 / 100
		}
	}
	r := load(t, s.write())
	p := panel(t, r, "replication")
	if p.Error != "" || p.Missing != "" {
		t.Fatalf("error %q, missing %q", p.Error, p.Missing)
	}
	for _, want := range []string{"One slow follower leaves isr ", "sync ", "3 replicas cost ×", "the processor time of 1"} {
		if !strings.Contains(p.Title, want) {
			t.Errorf("title %q lacks %q", p.Title, want)
		}
	}
	if !strings.HasPrefix(r.Sections[0].Headline, p.Title) {
		t.Errorf("headline %q does not begin with %q", r.Sections[0].Headline, p.Title)
	}
	var text strings.Builder
	if err := r.Markdown(&text); err != nil || !strings.Contains(text.String(), "\n- *Replication.* One slow follower leaves") {
		t.Errorf("the sentence on the whole suite has no name in the text (%v)", err)
	}
	page := render(t, r)
	found, bounds := strings.Index(page, "<h3>copies"), strings.Index(page, "Bear in mind")
	if all := strings.Index(page, "<dt>Replication</dt>"); all < 0 || all > found || found > bounds {
		t.Errorf("the conclusion has what was found in all at %d, in an experiment at %d and what bounds it at %d", all, found, bounds)
	}
	if about := p.Tables[1].About; !strings.Contains(about, "More than all of it was acknowledged") || !strings.Contains(render(t, r), about) || !strings.Contains(text.String(), about) {
		t.Errorf("107 %% of the offered rate stand without a word: %q", about)
	}
	for _, f := range p.Figures {
		if f.Error != "" || f.SVG == "" {
			t.Errorf("figure %s: %s", f.Heading, f.Error)
		}
	}
	if len(p.Figures) != 3 || len(p.Tables) != 3 {
		t.Fatalf("%d figures and %d tables, want throughput, course and spectra, and a table for each experiment", len(p.Figures), len(p.Tables))
	}
	for i, row := range p.Tables[0].Rows {
		strategy, share := row.Cells[0].Text, row.Cells[5].Value
		if slow := i%2 == 1; slow != (share != nil) {
			t.Fatalf("row %d (%s): share %v", i, strategy, share)
		}
		if share != nil && (*share < left[strategy]*0.93 || *share > left[strategy]*1.07) {
			t.Errorf("%s keeps %v of its throughput, want about %v", strategy, *share, left[strategy])
		}
	}
	if ratio := p.Tables[2].Rows[1].Cells[7].Value; ratio == nil || *ratio < 2.7 || *ratio > 3.3 {
		t.Errorf("three copies cost %v times as much, want about 3", ratio)
	}
	if page := render(t, r); !strings.Contains(page, `id="replication"`) {
		t.Error("the page lacks the panel")
	}
}

// TestReplicationIsMissing: a suite without copies says so and has no such headline.
func TestReplicationIsMissing(t *testing.T) {
	s := newSample(t, 5, "dddddd", 6)
	s.burst("burst", 100, 1e6, []cellSpec{{}, {axis: "acks", value: "all"}})
	r := load(t, s.write())
	if p := panel(t, r, "replication"); p.Missing == "" || strings.Contains(r.Sections[0].Headline, "replicas") {
		t.Errorf("panel %+v and headline %q of a suite without copies", p, r.Sections[0].Headline)
	}
}
