package page

import (
	"fmt"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/chart"
)

// tally counts runs by what they are worth.
type tally struct {
	valid, degraded, invalid, failed, pending int
	acked, stored                             int64 // of usable runs whose log was counted
	read, lost, duplicate, reordered, corrupt int64
	fetched                                   int64
}

func (v *view) tally() tally {
	var t tally
	for _, r := range v.Runs {
		switch r.Status {
		case result.Degraded:
			t.degraded++
		case result.Invalid:
			t.invalid++
		default:
			t.valid++
		}
		if r.Status != result.Invalid && r.Ledger.Acked > 0 && r.Ledger.Stored >= 0 {
			t.acked += r.Ledger.Acked
			t.stored += r.Ledger.Stored
		}
		if r.Fetch != nil {
			t.fetched += r.Fetch.Acked
		}
		t.read += r.Check.Read
		t.lost += r.Check.Lost
		t.duplicate += r.Check.Duplicate
		t.reordered += r.Check.Reordered
		t.corrupt += r.Check.Corrupt
	}
	for _, s := range v.State.Runs {
		switch s.State {
		case result.Failed:
			t.failed++
		case result.Planned, result.Running:
			t.pending++
		}
	}
	return t
}

func (t tally) finished() int { return t.valid + t.degraded + t.invalid }

// validity lists every run that is not plainly valid, and what reading back showed.
func validity(v *view) (Panel, error) {
	t := v.tally()
	p := Panel{Title: fmt.Sprintf("%d of %d finished runs are valid", t.valid, t.finished())}
	if t.degraded+t.invalid+t.failed == 0 && t.finished() > 0 {
		p.Title = fmt.Sprintf("All %d finished runs are valid", t.valid)
	}
	var notes []string
	if v.State.Interrupted {
		notes = append(notes, fmt.Sprintf("The invocation was interrupted; %d planned %s did not run.", t.pending, plural(t.pending, "run")))
	} else if !v.State.Finished && t.pending > 0 {
		notes = append(notes, fmt.Sprintf("The invocation is not finished: %d planned %s are still to come.", t.pending, plural(t.pending, "run")))
	}
	notes = append(notes, checkWords(t))
	switch {
	case v.Former:
		notes = append(notes, "The folder's compare.json holds one noise floor for all figures, as it was written earlier; intervals and verdicts here were made of the runs when this report was written, with a floor for each figure.")
	case v.Computed:
		notes = append(notes, "The folder holds no compare.json, as an interrupted invocation leaves it; intervals and verdicts were made of its finished runs when this report was written.")
	}
	p.Notes = notes
	p.Lead = "Degraded runs are used, with their reasons in view; invalid ones are in no figure. Orders and blocks count from 0, as in the names of the folders and in the terminal's lines."
	table := Table{Name: "runs that are not plainly valid", Columns: []Column{
		num("order", ""), text("experiment"), text("cell"), num("block", ""), text("files"), text("status"), text("reasons and warnings"),
	}}
	warned := 0
	for _, r := range v.Runs {
		why := append(append([]string(nil), r.Reasons...), r.Warnings...)
		if r.Status == result.Valid && len(why) == 0 {
			continue
		}
		class := "grey"
		if r.Status == result.Valid {
			class = ""
			warned++
		}
		table.add(class, number(float64(r.Order), fmt.Sprint(r.Order)), word(r.Experiment), word(v.nameOf(r.Experiment, r.Cell, r.Label)), number(float64(r.Block), fmt.Sprint(r.Block)), files(r.Cell, r.Block),
			word(string(r.Status)).class(string(r.Status)), word(strings.Join(why, "; ")))
	}
	for _, s := range v.State.Runs {
		if s.State == result.Failed {
			table.add("grey", number(float64(s.Order), fmt.Sprint(s.Order)), word(""), word(v.nameOf("", s.Cell, s.Cell)), number(float64(s.Block), fmt.Sprint(s.Block)), files(s.Cell, s.Block), word("failed").class("invalid"), word(s.Error))
		}
	}
	p.Caption = listedWords(t, warned)
	if len(table.Rows) > 0 {
		p.Tables, p.Open = []Table{table}, true
	}
	if t.finished() == 0 {
		return p, &MissingError{"no run finished"}
	}
	return p, nil
}

// listedWords account for the rows of the table: which runs are in it, and how many are
// not because nothing is to be said of them.
func listedWords(t tally, warned int) string {
	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{{t.degraded, "degraded"}, {t.invalid, "invalid"}, {t.failed, "failed"}, {warned, "valid with a warning"}} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("Listed: %s. The other %d valid %s without a warning.", list(parts), t.valid-warned, map[bool]string{true: "run is", false: "runs are"}[t.valid-warned == 1])
}

// files is where a run's files are in its folder.
func files(cell string, block int) Cell { return wordf("cells/%s/%d", cell, block) }

// nameOf names the cell of a run by its axes.
func (v *view) nameOf(experiment, cell, fallback string) string {
	for _, e := range v.Experiments {
		if experiment != "" && e.Name != experiment {
			continue
		}
		if c := e.Cell(cell); c != nil {
			if c.Base {
				return "base"
			}
			return axes(c, e.Axes)
		}
	}
	return fallback
}

// checkWords says what became of acknowledged records: what the logs held, what was read
// back, and which part of that was compared with what was sent, and how.
func checkWords(t tally) string {
	var said []string
	if t.acked > 0 {
		said = append(said, fmt.Sprintf("In usable runs %s records were acknowledged, and the logs held %s, by their offsets.", chart.Count(float64(t.acked)), held(t)))
	}
	if t.read > 0 {
		found := "none was lost or read twice"
		if t.lost+t.duplicate+t.reordered+t.corrupt > 0 {
			found = fmt.Sprintf("%d lost, %d duplicated, %d reordered, %d corrupt", t.lost, t.duplicate, t.reordered, t.corrupt)
		}
		said = append(said, fmt.Sprintf("%s records were read by consumers that followed the load, and held against the acknowledgements: %s.", chart.Count(float64(t.read)), found))
	}
	if t.fetched > 0 {
		said = append(said, fmt.Sprintf("%s records were read in the fetch windows, from the start of the log and again from there, and only counted.", chart.Count(float64(t.fetched))))
	}
	if len(said) == 0 {
		return "No run counted or read back what was stored."
	}
	return strings.Join(append(said, "What records contain is compared in trials alone."), " ")
}

// held compares what the logs hold with what was acknowledged. They may hold more:
// records whose answer was lost.
func held(t tally) string {
	switch missing := t.acked - t.stored; {
	case missing > 0:
		return fmt.Sprintf("%d fewer", missing)
	case missing < 0:
		return fmt.Sprintf("all of them and %d without an answer", -missing)
	}
	return "all of them"
}
