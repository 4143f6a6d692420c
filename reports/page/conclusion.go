package page

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// Statement is one sentence of the conclusion. Kind says what it rests on: faster,
// slower, equivalent or undecided for a verdict, measured for a plain figure, single for
// the figure of one run, and limit for what bounds all others.
type Statement struct {
	Experiment string `json:"experiment,omitempty"`
	Subject    string `json:"subject,omitempty"`
	Kind       string `json:"kind"`
	Text       string `json:"text"`
}

// judged is one comparison of a cell.
type judged struct {
	name string
	c    *dataset.Cell
	p    result.Pair
	// beside says of the cell what has to stand beside the verdict.
	beside []string
}

// conclude says what the intervals allow, and nothing else: every comparison is
// made from verdicts of compare.json. What was found stands first, what is open in one
// sentence; openTable has it comparison by comparison.
func conclude(v *view) []Statement {
	var out []Statement
	for _, e := range v.Experiments {
		for _, s := range subjectsOf(e) {
			limit := func(c *dataset.Cell) bool { return brokerless(e, c) }
			before := func(c *dataset.Cell) bool { return precompressed(c) && !limit(c) }
			out = append(out, concludeOn(e, s, "", func(c *dataset.Cell) bool { return !precompressed(c) && !limit(c) })...)
			out = append(out, concludeOn(e, s, "Batches compressed beforehand: ", before)...)
			out = append(out, concludeOn(e, s, limitFirst, limit)...)
		}
	}
	out = append(append(append(losses(v), replication(v)...), out...), figures(v)...)
	return append(append(out, open(v)...), limits(v)...)
}

// concludeOn says what is decided of some cells of an experiment on one subject; every
// sentence starts with the words that bound it.
func concludeOn(e *dataset.Experiment, s subject, first string, some func(*dataset.Cell) bool) []Statement {
	by := map[result.Verdict][]judged{}
	most := 0
	for _, c := range ordered(e) {
		if p, ok := c.Pair(s.m); ok && !c.AA && some(c) {
			by[p.Verdict] = append(by[p.Verdict], judged{axes(c, e.Axes), c, p, noted(noted(outlying(c.Outliers(s.m)), uneven(e, c, s.m)), validAlone(p))})
			most = max(most, p.N)
		}
	}
	var out []Statement
	say := func(kind result.Verdict, format, what string) {
		if what != "" {
			said := opened(first, fmt.Sprintf(format, what)) + behind(e, s.m, by[kind])
			out = append(out, Statement{heading(e), fmt.Sprintf("%s, paired, %d %s", s.noun, most, plural(most, "block")), string(kind), said})
		}
	}
	say(result.Faster, capital(better(s.m.Name, result.Faster))+" than the base: %s.", effects(by[result.Faster], most))
	say(result.Slower, capital(better(s.m.Name, result.Slower))+" than the base: %s.", effects(by[result.Slower], most))
	say(result.Equivalent, "Equivalent to the base within ±5"+nbsp+"%%: %s.", names(e, s.m, by[result.Equivalent]))
	return out
}

// opened is a sentence behind the words that bound it.
func opened(first, sentence string) string {
	if first == "" {
		return sentence
	}
	return first + strings.ToLower(sentence[:1]) + sentence[1:]
}

// effects lists comparisons by size with their intervals; those over fewer blocks
// than the most carry their own number.
func effects(some []judged, most int) string {
	size := func(j judged) float64 { return math.Abs(math.Log(j.p.Ratio.Median)) }
	sort.SliceStable(some, func(a, b int) bool { return size(some[a]) > size(some[b]) })
	parts := make([]string, len(some))
	for i, j := range some {
		n := ""
		if j.p.N != most {
			n = fmt.Sprintf(", n = %d", j.p.N)
		}
		parts[i] = fmt.Sprintf("%s %s (%s)", j.name, change(j.p.Ratio.Median), strings.Join(append([]string{changes(j.p.Ratio) + n}, j.beside...), "; "))
	}
	return list(parts)
}

// validAlone is a comparison over the blocks whose runs are both valid, where there are
// others; empty where there are none or too few.
func validAlone(p result.Pair) string {
	if p.Valid == nil {
		return ""
	}
	return fmt.Sprintf("the %d valid blocks alone %s, %s", p.Valid.N, change(p.Valid.Median), changes(*p.Valid))
}

// outlying names the blocks in which a cell's run lay far from its others.
func outlying(some []dataset.Outlier) []string {
	if len(some) == 0 {
		return nil
	}
	blocks := make([]string, len(some))
	for i, o := range some {
		blocks[i] = fmt.Sprint(o.Block)
	}
	return []string{fmt.Sprintf("%s in %s %s", plural(len(some), "outlier"), plural(len(some), "block"), list(blocks))}
}

func names(e *dataset.Experiment, m dataset.Metric, some []judged) string {
	parts := make([]string, len(some))
	for i, j := range some {
		parts[i] = j.name
		if said := uneven(e, j.c, m); said != "" {
			parts[i] += " (" + said + ")"
		}
	}
	return list(parts)
}

// figures are plain figures that need no comparison.
func figures(v *view) []Statement {
	var out []Statement
	for _, e := range paced(v) {
		for _, k := range curves(e) {
			if len(k.cells) >= 3 {
				out = append(out, Statement{heading(e), "response time", "measured", loadTitle(k) + "."})
			}
		}
	}
	for _, e := range v.Experiments {
		if e.Kind != result.Sustained {
			continue
		}
		for _, c := range ordered(e) {
			courses := v.courses(c)
			if len(courses) == 0 {
				continue
			}
			kind := "measured"
			if len(courses) == 1 {
				kind = "single"
			}
			said := capital(courseWords(courses)) + "."
			if kernel := kernelWords(c); kernel != "" {
				said += " " + kernel + "."
			}
			out = append(out, Statement{heading(e), "over time, " + cellName(e, c), kind, said})
		}
	}
	return out
}

// limits are the sentences that bound all others.
func limits(v *view) []Statement {
	var out []Statement
	say := func(format string, args ...any) {
		out = append(out, Statement{Kind: "limit", Text: fmt.Sprintf(format, args...)})
	}
	if len(v.experiments(func(e *dataset.Experiment) bool { return e.Kind == result.Burst })) > 0 {
		say("Burst cells write a bounded amount into the page cache; their rates are not what the disk sustains.")
	}
	if shared(v) {
		say("Client and broker shared one machine: a cell whose client works harder leaves the broker less, and the reverse.")
	}
	for _, said := range []string{uncounted(v), unlevel(v)} {
		if said != "" {
			say("%s", said)
		}
	}
	if note := beforehandNote(v, v.Experiments); note != "" {
		say("%s", note)
	}
	if v.Env != nil && v.Env.Disk.Tmpfs {
		say("The data directory is memory (tmpfs); nothing here speaks of a disk.")
	}
	if said := v.floorWords(); said != "" {
		say("The same configuration under two names differed by as much as this (A/A, the end of the 95"+nbsp+"%% interval), and no difference within it is called one: %s.", said)
	}
	for _, j := range falseFindings(v) {
		say("%s came out %s although nothing differs: a difference of that size proves nothing here.", j.name, verdict(j.p.Metric, j.p))
	}
	t := v.tally()
	if t.read+t.acked > 0 {
		say("%s", checkWords(t))
	}
	if t.invalid+t.failed > 0 {
		say("%s", unusedWords(v, t))
	}
	return out
}

// unusedWords count the runs that are in no figure by their reasons.
func unusedWords(v *view, t tally) string {
	count := map[string]int{}
	for _, r := range v.Runs {
		if r.Status == result.Invalid {
			count["invalid, "+strings.Join(r.Reasons, "; ")]++
		}
	}
	for _, r := range v.State.Runs {
		if r.State == result.Failed {
			count["failed, "+r.Error]++
		}
	}
	var reasons []string
	for why, n := range count {
		reasons = append(reasons, fmt.Sprintf("%d %s", n, why))
	}
	sort.Strings(reasons)
	n := t.invalid + t.failed
	are := map[bool]string{true: "is", false: "are"}[n == 1]
	return fmt.Sprintf("%d %s %s invalid or failed and in no figure: %s.", n, plural(n, "run"), are, strings.Join(reasons, " | "))
}

// unlevel counts the saturating runs whose throughput was not level within the window:
// their figures depend on its length.
func unlevel(v *view) string {
	runs, of := 0, 0
	var cells []string
	for _, e := range v.experiments(saturating) {
		for _, c := range ordered(e) {
			n := unlevelRuns(e, c)
			runs, of = runs+n, of+len(c.Usable)
			if 2*n > len(c.Usable) {
				cells = append(cells, e.Name+" "+cellLabel(e, c))
			}
		}
	}
	if runs == 0 {
		return ""
	}
	said := fmt.Sprintf("In %d of %d saturating runs the halves of the window differed by more than a quarter: such a figure depends on the length of the window", runs, of)
	if len(cells) > 0 {
		said += "; it is so in most runs of " + list(cells)
	}
	return said + "."
}

// falseFindings are verdicts of a difference on a base that ran under a second name.
func falseFindings(v *view) []judged {
	var out []judged
	for _, e := range v.Experiments {
		for _, c := range e.Cells {
			for _, s := range subjectsOf(e) {
				p, ok := c.Pair(s.m)
				if ok && c.AA && (p.Verdict == result.Faster || p.Verdict == result.Slower) {
					out = append(out, judged{fmt.Sprintf("%s, %s: %q", e.Name, s.noun, c.Label), c, p, nil})
				}
			}
		}
	}
	return out
}

// shared reports whether any run had its broker on the client's machine.
func shared(v *view) bool {
	for _, r := range v.Runs {
		if r.Target == "process" {
			return true
		}
	}
	return false
}
