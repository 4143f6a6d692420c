package page

import (
	"fmt"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// manyBlocks is where an estimate of the blocks needed stops being advice.
const manyBlocks = 100

// openPair is a comparison without a verdict of a difference or of equivalence.
type openPair struct {
	e *dataset.Experiment
	c *dataset.Cell
	s subject
	p result.Pair
}

// opens are all of an invocation, and how many comparisons there are.
func opens(v *view) (out []openPair, of int) {
	for _, e := range v.Experiments {
		for _, s := range subjectsOf(e) {
			for _, c := range ordered(e) {
				p, ok := c.Pair(s.m)
				if !ok || c.AA {
					continue
				}
				if of++; p.Verdict == result.Undecided || p.Verdict == result.TooFew {
					out = append(out, openPair{e, c, s, p})
				}
			}
		}
	}
	return out, of
}

// open is the sentence on what is not decided.
func open(v *view) []Statement {
	all, of := opens(v)
	if of == 0 {
		return []Statement{{Kind: "undecided", Text: "No cell was compared with a base, so nothing is claimed about differences."}}
	}
	if len(all) == 0 {
		return nil
	}
	few, reasons := 0, map[result.Withheld]int{}
	for _, o := range all {
		if o.p.Verdict == result.TooFew {
			few++
		}
		for _, w := range o.p.Withheld {
			reasons[w]++
		}
	}
	var parts []string
	for _, r := range []struct {
		n    int
		word string
	}{
		{reasons[result.ByInterval], "%d whose interval includes \"no difference\""},
		{reasons[result.ByCorrection], "%d not after Holm's correction"},
		{reasons[result.ByNoiseFloor], "%d within the noise floor"},
		{few, "%d with fewer than six blocks in common with the base, of which nothing is claimed"},
	} {
		if r.n > 0 {
			parts = append(parts, fmt.Sprintf(r.word, r.n))
		}
	}
	said := fmt.Sprintf("%d of %d comparisons with a base (throughput, latency, processor time)", len(all), of)
	if len(parts) > 0 {
		said += ": " + list(parts)
	}
	if n := reasons[result.ByInterval] + reasons[result.ByCorrection] + reasons[result.ByNoiseFloor] + few; n > len(all) {
		said += "; some for two reasons"
	}
	return []Statement{{Kind: "undecided", Text: said + ". The table has each, and what would decide it."}}
}

// openTable has every comparison that is not decided, why, and what would decide it.
func openTable(v *view) Table {
	t := Table{Name: "not decided", Columns: []Column{
		text("experiment"), text("cell"), text("figure"), paired("change"), num("n", "blocks"), text("not decided because"), text("would decide"),
	}}
	all, _ := opens(v)
	for _, o := range all {
		name := nameCell(o.e, o.c)
		if o.p.Verdict == result.TooFew {
			t.add("", word(o.e.Name), name, word(o.s.noun), word("–"), number(float64(o.p.N), fmt.Sprint(o.p.N)), word("fewer than six blocks in common"), word("six or more"))
			continue
		}
		why := word(withheldWords(o.p))
		if beside := noted(outlying(o.c.Outliers(o.s.m)), uneven(o.e, o.c, o.s.m)); len(beside) > 0 {
			why = why.small(strings.Join(beside, "; "))
		}
		t.add("", word(o.e.Name), name, word(o.s.noun), word(change(o.p.Ratio.Median)).small(changes(o.p.Ratio)), number(float64(o.p.N), fmt.Sprint(o.p.N)), why, word(needWords(o.p)))
	}
	return t
}

// withheldWords say why a pair is not decided, every reason that holds.
func withheldWords(p result.Pair) string {
	var parts []string
	for _, w := range p.Withheld {
		switch w {
		case result.ByInterval:
			parts = append(parts, "the interval includes \"no difference\"")
		case result.ByCorrection:
			parts = append(parts, "not after Holm's correction")
		case result.ByNoiseFloor:
			parts = append(parts, "within the noise floor of "+floorRange(p.Floor))
		}
	}
	return list(parts)
}

// needWords say how many blocks would decide an undecided pair.
func needWords(p result.Pair) string {
	switch {
	case p.NeedN == 0:
		return "no number of blocks: the base differs from itself by as much"
	case p.NeedN > manyBlocks:
		return fmt.Sprintf("more than %d blocks", manyBlocks)
	}
	return fmt.Sprintf("about %d blocks", p.NeedN)
}
