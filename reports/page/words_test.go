package page

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

func spaced(s string) string { return strings.ReplaceAll(s, nbsp, " ") }

func TestChange(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		want  string
	}{
		{1, "±0 %"}, {1.0001, "±0 %"}, {1.034, "+3.4 %"}, {0.966, "−3.4 %"}, {1.0994, "+9.9 %"}, {1.0996, "+10 %"}, {1.5, "+50 %"}, {0.55, "−45 %"},
		{1.999, "+100 %"}, {2, "×2.00"}, {0.5, "×0.50"}, {12.34, "×12.3"}, {0, "–"}, {-1, "–"}, {math.NaN(), "–"}, {math.Inf(1), "–"},
	} {
		if got := spaced(change(c.ratio)); got != c.want {
			t.Errorf("%v: got %q, want %q", c.ratio, got, c.want)
		}
	}
	wide := result.Interval{Median: 0.48, Low: 0.44, High: 0.53}
	if got := changes(wide); got != "×0.44 to ×0.53" {
		t.Errorf("both ends of an interval must be written alike, got %q", got)
	}
	if got := spaced(changes(result.Interval{Median: 1, Low: 0.9998, High: 1.0002})); got != "±0 %" {
		t.Errorf("a range that reads the same at both ends is said once, got %q", got)
	}
	if got := spaced(floorRange(1.0002)); got != "less than ±0.1 %" {
		t.Errorf("a floor that rounds to nothing: got %q", got)
	}
}

// TestVerdict: the words follow the verdict and the metric's direction, and never
// say more than the verdict.
func TestVerdict(t *testing.T) {
	pair := func(v result.Verdict, ratio float64, n, need int) result.Pair {
		return result.Pair{Verdict: v, N: n, NeedN: need, Ratio: result.Interval{Median: ratio}}
	}
	for _, c := range []struct {
		metric string
		p      result.Pair
		want   string
	}{
		{result.MetricProduce, pair(result.Faster, 1.12, 6, 0), "12 % faster"},
		{result.MetricProduce, pair(result.Slower, 0.45, 6, 0), "×0.45, slower"},
		{result.MetricP99, pair(result.Faster, 0.7, 6, 0), "30 % lower"},
		{result.MetricP99, pair(result.Slower, 1.3, 6, 0), "30 % higher"},
		{result.MetricProduceCost, pair(result.Faster, 0.9, 6, 0), "10 % cheaper"},
		{result.MetricFetchCost, pair(result.Slower, 1.2, 6, 0), "20 % dearer"},
		{result.MetricProduce, pair(result.Equivalent, 1.02, 6, 0), "equivalent"},
		{result.MetricProduce, pair(result.Undecided, 1.2, 6, 14), "undecided, needs ≈ 14 blocks"},
		{result.MetricProduce, pair(result.Undecided, 1.02, 6, 400), "undecided, needs > 100 blocks"},
		{result.MetricProduce, pair(result.Undecided, 1.2, 6, 0), "undecided, no blocks would do"},
		{result.MetricProduce, pair(result.TooFew, 3, 2, 0), "too few (n = 2)"},
		{result.MetricProduce, pair("", 3, 2, 0), "too few (n = 2)"},
	} {
		if got := spaced(verdict(c.metric, c.p)); got != c.want {
			t.Errorf("%s, %s: got %q, want %q", c.metric, c.p.Verdict, got, c.want)
		}
	}
}

// TestVerdictOnTheBaseAgain: no number of blocks is asked for where nothing differs.
func TestVerdictOnTheBaseAgain(t *testing.T) {
	p := result.Pair{Verdict: result.Undecided, N: 6, NeedN: 14, Ratio: result.Interval{Median: 1.1}}
	c := &dataset.Cell{}
	if got := verdictOf(c, result.MetricProduce, p); !strings.Contains(got, "14") {
		t.Errorf("another cell: %s", got)
	}
	if c.AA = true; verdictOf(c, result.MetricProduce, p) != "no difference shown" {
		t.Errorf("the base again: %s", verdictOf(c, result.MetricProduce, p))
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]float64{"65536": 65536, "64KiB": 65536, "64k": 65536, "1MiB": 1 << 20, "1.5 MiB": 1.5 * (1 << 20), "1MB": 1e6, "100B": 100, "": 0, "lots": 0, "3 apples": 0} {
		if got := parseSize(in); got != want {
			t.Errorf("%q: got %v, want %v", in, got, want)
		}
	}
}

// TestTrend: a slope is found where there is one and not where there is none.
func TestTrend(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var orders, flat, rising []float64
	for i := range 80 {
		noise := rng.NormFloat64() * 0.02
		orders, flat, rising = append(orders, float64(i)), append(flat, 1+noise), append(rising, 1+noise+float64(i)*0.001)
	}
	if said := trend(orders, flat); !strings.Contains(said, "no drift") {
		t.Errorf("noise alone: %s", said)
	}
	if said := trend(orders, rising); !strings.Contains(said, "drifted upwards") {
		t.Errorf("8 %% over the invocation: %s", said)
	}
	if said := trend(orders[:5], rising[:5]); !strings.Contains(said, "too few") {
		t.Errorf("five runs: %s", said)
	}
}

// TestPanelsStandAlone: neither an error nor a panic of one panel leaves it.
func TestPanelsStandAlone(t *testing.T) {
	for _, c := range []struct {
		name           string
		make           func(*view) (Panel, error)
		broken, absent string
	}{
		{"error", func(*view) (Panel, error) { return Panel{Title: "half"}, errors.New("torn") }, "torn", ""},
		{"panic", func(*view) (Panel, error) { panic("loose end") }, "this panel broke: loose end", ""},
		{"missing", func(*view) (Panel, error) { return Panel{}, fmt.Errorf("x: %w", &MissingError{"none ran"}) }, "", "none ran"},
	} {
		p := maker{"id", "Kind", "Short", c.make}.build(nil)
		if p.Error != c.broken || p.Missing != c.absent || p.ID != "id" || p.Title == "" {
			t.Errorf("%s: got %+v", c.name, p)
		}
	}
}

// TestCellEscapes: what comes out of a run folder cannot become markup.
func TestCellEscapes(t *testing.T) {
	var tb Table
	tb.Name, tb.Columns = "x|y", []Column{text("a|b")}
	tb.add("", word("1 | 2\n3"))
	if md := tb.Markdown(); strings.Contains(md, " | 2") || strings.Contains(md, "2\n3") {
		t.Errorf("a cell breaks the Markdown table:\n%s", md)
	}
	var b strings.Builder
	r := &Report{Title: "<script>", Sections: []Section{{Suite: "<b>", Panels: []Panel{{ID: "p", Kind: "k", Title: "<i>", Tables: []Table{{Columns: []Column{text("<u>")}, Rows: []Line{{Cells: []Cell{word("<s>").class(`"x`)}}}}}}}}}}
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<b>", "<i>", "<u>", "<s>", `class=""x`, "<title><script>"} {
		if strings.Contains(b.String(), bad) {
			t.Errorf("the page holds %q unescaped", bad)
		}
	}
}

// TestDurations: a time is read in the unit that fits it, three digits of it, and copied
// in nanoseconds under a heading that says so.
func TestDurations(t *testing.T) {
	var tb Table
	tb.Columns = []Column{lasting("p50")}
	for ns, want := range map[float64]string{546: "546 ns", 48_012: "48.0 µs", 1_623_000: "1.62 ms", 0: "–"} {
		c := duration(ns)
		if got := spaced(c.Text); got != want {
			t.Errorf("%v ns: got %q, want %q", ns, got, want)
		}
	}
	tb.add("", duration(546))
	if got, err := tb.CSV(); err != nil || got != "p50 (ns)\n546\n" {
		t.Errorf("copied as %q, %v", got, err)
	}
	if head, _, _ := strings.Cut(tb.Markdown(), "\n"); head != "| p50 |" {
		t.Errorf("the heading gives a unit that the texts do not have: %q", head)
	}
}
