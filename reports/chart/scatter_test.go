package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// sampleScatter has a crowd at one height, a bound, and what cannot be drawn.
func sampleScatter() Scatter {
	s := Scatter{
		Title: "scatter", Describe: "a crowd", X: AxisSpec{Label: "rate", Format: Count},
		Y: AxisSpec{Label: "chance", Log: true, Format: Percent, Min: 0.01, Max: 1.25},
		Spots: []Spot{
			{Name: "often", X: Interval{Value: 900, Low: 850, High: 950, Bounded: true}, Y: Interval{Value: 1, Low: 0.95, High: 1, Bounded: true}, Ink: Series(0), Shape: Circle, Tip: "tip <i>"},
			{Name: "nowhere", X: Interval{Value: math.NaN()}, Y: Interval{Value: 1}},
			{Name: "zero", X: Interval{Value: 5}, Y: Interval{Value: 0}},
		},
	}
	for i := range 6 {
		s.Spots = append(s.Spots, Spot{Name: fmt.Sprintf("never lost %d", i), Below: true, X: Interval{Value: 300 + 9*float64(i)},
			Y: Interval{High: 0.049, Bounded: true}, Ink: Series(1), Shape: Square, Hollow: true})
	}
	return s
}

// texts reads back where each text of a picture is: left, width and baseline.
func texts(t *testing.T, svg string) map[string][3]float64 {
	t.Helper()
	out := map[string][3]float64{}
	dec := xml.NewDecoder(strings.NewReader(svg))
	var at *[3]float64
	for {
		tok, err := dec.Token()
		if err != nil {
			return out
		}
		switch e := tok.(type) {
		case xml.StartElement:
			if e.Name.Local != "text" {
				continue
			}
			at = &[3]float64{}
			for _, a := range e.Attr {
				v, _ := strconv.ParseFloat(a.Value, 64) // other attributes are no numbers
				switch a.Name.Local {
				case "x":
					at[0] = v
				case "textLength":
					at[1] = v
				case "y":
					at[2] = v
				}
			}
		case xml.CharData:
			if at != nil {
				out[string(e)] = *at
				at = nil
			}
		}
	}
}

// TestScatterNames: every mark that can be drawn has its name, and no two names lie
// over each other.
func TestScatterNames(t *testing.T) {
	svg, err := sampleScatter().SVG()
	if err != nil {
		t.Fatal(err)
	}
	at := texts(t, string(svg))
	var names []string
	for _, s := range sampleScatter().Spots {
		_, ok := at[s.Name]
		if drawn := s.Name != "nowhere" && s.Name != "zero"; ok != drawn {
			t.Errorf("%s is named: %v, want %v", s.Name, ok, drawn)
		}
		if ok {
			names = append(names, s.Name)
		}
	}
	for i, a := range names {
		for _, b := range names[:i] {
			p, q := at[a], at[b]
			if math.Abs(p[2]-q[2]) < noteSize && p[0] < q[0]+q[1] && q[0] < p[0]+p[1] {
				t.Errorf("%q at %v and %q at %v lie over each other", a, p, b, q)
			}
		}
	}
	if !strings.Contains(string(svg), "tip &lt;i&gt;") {
		t.Error("the tooltip is missing")
	}
}

// TestScatterBound: a bound is drawn where it is, with an arrow down, and does not
// stretch the axis to where nothing was seen.
func TestScatterBound(t *testing.T) {
	with, without := sampleScatter(), sampleScatter()
	for i := range without.Spots {
		without.Spots[i].Below = false
		without.Spots[i].Y.Value = max(without.Spots[i].Y.Value, without.Spots[i].Y.High)
		without.Spots[i].Y.Bounded = false
	}
	a, err := with.SVG()
	if err != nil {
		t.Fatal(err)
	}
	b, err := without.SVG()
	if err != nil {
		t.Fatal(err)
	}
	if x, y := strings.Count(string(a), "<path"), strings.Count(string(b), "<path"); x < y+2*6 {
		t.Errorf("%d paths with six arrows, %d without: want a stem and a head for each", x, y)
	}
}
