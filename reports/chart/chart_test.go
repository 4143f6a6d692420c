package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		f    Format
		v    float64
		want string
	}{
		{Count, 0, "0"}, {Count, 12, "12"}, {Count, 999.4, "999"}, {Count, 999.7, "1.00 k"}, {Count, 5_430_000, "5.43 M"}, {Count, 5e6, "5.00 M"}, {Count, 1.2e9, "1.20 G"},
		{Bytes, 100, "100 B"}, {Bytes, 65536, "64 KiB"}, {Bytes, 1 << 20, "1 MiB"}, {Bytes, 1536, "1.5 KiB"},
		{ByteRate, 4.4e9, "4.40 GB/s"}, {ByteRate, 12, "12 B/s"},
		{Nanoseconds, 0, "0 ns"}, {Nanoseconds, 950, "950 ns"}, {Nanoseconds, 999_700, "1.00 ms"}, {Nanoseconds, 1.83e6, "1.83 ms"}, {Nanoseconds, 2.5e9, "2.50 s"},
		{Percent, 0.019, "1.9 %"}, {Percent, 1, "100 %"}, {Percent, -0.05, "-5 %"},
		{Plain, 1234.5, "1230"}, {Plain, 0.0954, "0.0954"}, {Precise, 99.999, "99.999"},
	} {
		if got := strings.ReplaceAll(c.f(c.v), nbsp, " "); got != c.want {
			t.Errorf("%v: got %q, want %q", c.v, got, c.want)
		}
	}
}

func TestShorten(t *testing.T) {
	for in, want := range map[string]string{"5.00 M": "5 M", "1.50 k": "1.5 k", "1.25 M": "1.25 M", "100": "100", "0.10": "0.1", "10.0": "10", "200 ns": "200 ns", "1.05": "1.05"} {
		if got := Shorten(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestSteps(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want []float64
	}{
		{"round steps from zero", linearSteps(0, 6), []float64{0, 1, 2, 3, 4, 5, 6}},
		{"a small range", linearSteps(0.96, 1.04), []float64{0.96, 0.98, 1, 1.02, 1.04}},
		{"an empty range", linearSteps(3, 3), nil},
		{"no range", linearSteps(0, math.Inf(1)), nil},
		{"few decades get 1, 2, 5", logSteps(1, 20), []float64{1, 2, 5, 10, 20}},
		{"many decades get powers", logSteps(1, 1e5), []float64{1, 10, 100, 1e3, 1e4, 1e5}},
		{"a logarithm needs positive bounds", logSteps(0, 10), nil},
	} {
		near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(1, math.Abs(b)) })
		if d := cmp.Diff(c.want, c.got, near); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestInks: an ink is found again by its light value, so no two may share one, and
// both themes declare all of them.
func TestInks(t *testing.T) {
	seen := map[string]string{}
	for _, i := range inks() {
		key := fmt.Sprintf("#%06x", i.light)
		if other, ok := seen[key]; ok {
			t.Errorf("inks %s and %s share the light value %s", i.name, other, key)
		}
		if key == "#000000" || key == "#ffffff" {
			t.Errorf("ink %s is %s, which the SVG library leaves out as a default", i.name, key)
		}
		seen[key] = i.name
		if got := colourVariable(strings.ToUpper(key)); got != i.Var() {
			t.Errorf("%s becomes %s, want %s", key, got, i.Var())
		}
		for _, dark := range []bool{false, true} {
			if !strings.Contains(Variables(dark), "--"+i.name+":#") {
				t.Errorf("ink %s is not declared (dark: %v)", i.name, dark)
			}
		}
	}
	for _, dark := range []bool{false, true} {
		for _, i := range append([]Ink{Text, Muted, Faster, Slower, Same, Ceiling, WarnInk, Grey}, series...) {
			if c := contrast(i, Surface, dark); c < 3 {
				t.Errorf("ink %s has contrast %.2f on the surface (dark: %v), want 3 and more", i.name, c, dark)
			}
		}
	}
}

// contrast is WCAG's ratio of two inks.
func contrast(a, b Ink, dark bool) float64 {
	luminance := func(i Ink) float64 {
		rgb := i.light
		if dark {
			rgb = i.dark
		}
		sum := 0.0
		for n, weight := range []float64{0.2126, 0.7152, 0.0722} {
			c := float64(rgb>>(16-8*n)&0xff) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a)+0.05, luminance(b)+0.05
	return math.Max(x, y) / math.Min(x, y)
}

func sampleRows() Rows {
	return Rows{
		Title: "rows <&> \"quoted\"", Describe: "a & b", X: AxisSpec{Label: "records per second", Format: Count},
		Rows: []Row{
			{Label: "base", Value: Interval{Value: 5e6, Low: 4.9e6, High: 5.2e6, Bounded: true}, Runs: []float64{4.9e6, 5e6, 5.2e6}, Ink: Base, Shape: Diamond, Bold: true},
			{Group: "a <b>", Label: "x & y", Value: Interval{Value: 6e6}, Note: "20 % faster", Ink: Faster, Shape: Triangle, Tip: "tip <i>"},
			{Group: "a <b>", Label: "gone", Value: Interval{Value: math.NaN()}, Note: "no usable run", Ink: Grey},
			{Group: "marks", Label: "several", Marks: []Mark{{1e6, Series(0), Circle}, {2e6, Series(1), Cross}}},
		},
		Lines: []Line{{5.5e6, "near"}, {5.6e6, "nearer"}, {9e9, "far beyond"}},
		Band:  Interval{Value: 5e6, Low: 4.9e6, High: 5.2e6, Bounded: true},
	}
}

func sampleLines() Lines {
	return Lines{
		Title: "lines", X: AxisSpec{Label: "rate", Format: Count}, Y: AxisSpec{Label: "time", Log: true, Format: Nanoseconds},
		Series: []LineSeries{
			{Name: "p50", Points: []Point{At(1, 100), At(2, 0), At(3, 200), At(4, math.NaN()), At(5, 300)}, Ink: Series(0), Shape: Circle, Label: true},
			{Name: "p99", Points: []Point{{X: Interval{Value: 1}, Y: Interval{Value: 150, Low: 120, High: 190, Bounded: true}}, At(5, 310)}, Ink: Series(1), Shape: Square, Label: true},
			{Name: "dots", Points: []Point{At(2, 250)}, MarksOnly: true, Above: true, Ink: Series(2), Shape: Down, Hollow: true},
		},
		Bands: []Band{{From: 4, To: 9, Label: "saturated"}, {From: 0, To: 0.5, Label: "before the axis"}},
		Rules: []Rule{{Value: 220, Label: "limit"}},
	}
}

// TestWellFormed draws the charts with everything they can hold and reads them
// back as XML.
func TestWellFormed(t *testing.T) {
	for name, d := range map[string]Drawer{"rows": sampleRows(), "lines": sampleLines(), "scatter": sampleScatter()} {
		svg, err := d.SVG()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		dec := xml.NewDecoder(strings.NewReader(string(svg)))
		texts := 0
		for {
			tok, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := tok.(xml.StartElement); ok && e.Name.Local == "text" {
				texts++
				checkText(t, name, e)
			}
		}
		if texts < 8 {
			t.Errorf("%s: %d texts, want the labels of axes and data", name, texts)
		}
		if strings.Contains(string(svg), "NaN") || strings.Contains(string(svg), "Inf") {
			t.Errorf("%s: a value that is no number reached the picture", name)
		}
	}
}

// checkText: every string is pinned to the width it was laid out with and takes its
// font and colour from the page.
func checkText(t *testing.T, name string, e xml.StartElement) {
	t.Helper()
	attr := map[string]string{}
	for _, a := range e.Attr {
		attr[a.Name.Local] = a.Value
	}
	if attr["textLength"] == "" || attr["textLength"] == "0.1" {
		t.Errorf("%s: text without its width: %v", name, attr)
	}
	if strings.Contains(attr["style"], "font-family") || !strings.Contains(attr["style"], "fill:var(--") {
		t.Errorf("%s: text with a font or colour of its own: %s", name, attr["style"])
	}
}

func TestTooltips(t *testing.T) {
	svg, err := sampleRows().SVG()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tip &lt;i&gt;", "base: 5.00 M [4.90 M, 5.20 M]", `aria-label="rows &lt;&amp;&gt; &#34;quoted&#34;"`, "<desc>a &amp; b</desc>"} {
		if !strings.Contains(strings.ReplaceAll(string(svg), nbsp, " "), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if strings.Contains(string(svg), "far beyond") {
		t.Error("a reference far beyond the data is drawn and squeezes it")
	}
}

func TestEmpty(t *testing.T) {
	for name, d := range map[string]Drawer{
		"no rows": Rows{}, "no value": Rows{Rows: []Row{{Label: "x", Value: Interval{Value: math.NaN()}}}},
		"no spots": Scatter{}, "no positive spot": Scatter{Y: AxisSpec{Log: true}, Spots: []Spot{{Name: "x"}}},
		"no series": Lines{}, "no positive value": Lines{Y: AxisSpec{Log: true}, Series: []LineSeries{{Points: []Point{At(1, 0), At(2, -1)}}}},
	} {
		var empty *EmptyError
		if _, err := d.SVG(); !errors.As(err, &empty) {
			t.Errorf("%s: error %v, want EmptyError", name, err)
		}
	}
}

// TestOneValue: a single value, or equal ones, still make an axis.
func TestOneValue(t *testing.T) {
	for name, d := range map[string]Drawer{
		"one row":       Rows{Rows: []Row{{Label: "x", Value: Interval{Value: 0}}}},
		"one spot":      Scatter{Spots: []Spot{{Name: "x", X: Interval{Value: 7}, Y: Interval{Value: 7}}}},
		"one point":     Lines{Series: []LineSeries{{Points: []Point{At(7, 7)}}}},
		"one point log": Lines{X: AxisSpec{Log: true}, Y: AxisSpec{Log: true}, Series: []LineSeries{{Points: []Point{At(7, 7)}}}},
		"equal, free":   Lines{Y: AxisSpec{Free: true}, Series: []LineSeries{{Points: []Point{At(1, 5), At(2, 5)}}}},
	} {
		if _, err := d.SVG(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPlace: labels of close reference lines stand on lanes of their own, and those
// without room at the left turn to the right.
func TestPlace(t *testing.T) {
	lines := []Line{{10, "first"}, {12, "second"}, {400, "third"}, {795, "at the edge"}}
	got := place(lines, func(v float64) float64 { return v }, 800)
	if d := cmp.Diff([]int{1, 0, 0, 0}, got.of); d != "" {
		t.Errorf("lanes (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]bool{true, true, false, false}, got.right); d != "" {
		t.Errorf("sides (-want +got):\n%s", d)
	}
	if got.count != 2 {
		t.Errorf("%d lanes, want 2", got.count)
	}
}

// TestBreaks: a value that cannot be drawn breaks a line instead of bending it.
func TestBreaks(t *testing.T) {
	l := sampleLines()
	parts := l.unbroken(l.Series[0].Points)
	if len(parts) != 3 {
		t.Errorf("%d parts, want 3: around a zero and a NaN on a logarithmic axis", len(parts))
	}
}

// TestKeys: a series without a drawable point has no entry in the legend.
func TestKeys(t *testing.T) {
	l := sampleLines()
	l.Series = append(l.Series, LineSeries{Name: "none", Points: []Point{At(1, 0)}})
	var got []string
	for _, k := range l.Keys() {
		got = append(got, k.Label)
	}
	if d := cmp.Diff([]string{"p50", "p99", "dots"}, got); d != "" {
		t.Errorf("keys (-want +got):\n%s", d)
	}
}

func TestSwatches(t *testing.T) {
	for shape := Circle; shape <= None; shape++ {
		k := Key{Label: "x", Ink: Series(int(shape)), Shape: shape, Line: shape == None, Dashes: []float64{5, 3}}
		if err := xml.Unmarshal([]byte(k.Swatch()), new(struct{})); err != nil {
			t.Errorf("swatch of shape %d: %v", shape, err)
		}
	}
}

// TestPlaceHidesNothing: whatever three lines at the right say, no label covers another, and no
// line is hidden by a label on its way up to its own.
func TestPlaceHidesNothing(t *testing.T) {
	const width = 700.0
	for _, at := range [][]float64{{390, 415, 540}, {600, 620, 690}, {500, 500.5, 501}, {540, 415, 390}, {300, 690, 500}} {
		var lines []Line
		for i, v := range at {
			lines = append(lines, Line{v, []string{"pread and write, reader discards 5.70 GB/s", "sendfile, reader discards 6.18 GB/s", "write of a mapping, reader discards 7.99 GB/s"}[i]})
		}
		got := place(lines, func(v float64) float64 { return v }, width)
		span := func(i int) (from, to float64) {
			w := textWidth(lines[i].Label, noteSize, false) + 10
			if got.right[i] {
				return at[i], at[i] + w
			}
			return at[i] - w, at[i]
		}
		for i := range lines {
			from, to := span(i)
			for k := range lines {
				otherFrom, otherTo := span(k)
				if i != k && got.of[i] == got.of[k] && from < otherTo && otherFrom < to {
					t.Errorf("%v: labels %d and %d cover each other on lane %d", at, i, k, got.of[i])
				}
				if i != k && got.of[k] > got.of[i] && from < at[k] && at[k] < to {
					t.Errorf("%v: the label of line %d hides line %d", at, i, k)
				}
			}
		}
	}
	if got := place([]Line{{20, "a label wider than what lies left of its line"}}, func(v float64) float64 { return v }, width); !got.right[0] {
		t.Error("a label without room at the left belongs at the right")
	}
}
