package chart

import (
	"fmt"
	"html/template"
	"math"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// LineSeries is one line of a Lines chart.
type LineSeries struct {
	Name   string
	Points []Point
	Ink    Ink
	Shape  Shape // None draws no marks
	Dashes []float64
	// MarksOnly draws no line between the marks.
	MarksOnly bool
	Hollow    bool
	// Label puts the name at the right end of the line.
	Label bool
	// Above puts the name over its last mark instead.
	Above bool
	Thin  bool
}

// Band is a shaded range of the horizontal axis.
type Band struct {
	From, To float64
	Label    string
}

// Rule is a horizontal reference line.
type Rule struct {
	Value float64
	Label string
}

// Lines is a chart of series over one horizontal axis.
type Lines struct {
	Title, Describe string
	X, Y            AxisSpec
	Series          []LineSeries
	Bands           []Band
	Rules           []Rule
	Size            Size // zero means Wide
}

// SVG implements Drawer.
func (l Lines) SVG() (out template.HTML, err error) {
	defer guard(&err)
	xs, ys := l.values()
	if len(xs) == 0 {
		return "", &EmptyError{Want: "run has values for this chart"}
	}
	size := l.Size
	if size == (Size{}) {
		size = Wide
	}
	for _, r := range l.Rules {
		ys = append(ys, r.Value)
	}
	p := newPlot(l.X, l.Y)
	fit(&p.X, l.X, xs)
	fit(&p.Y, l.Y, ys)
	c := newCanvas(size)
	area := draw.Crop(c.area(), 0, -vg.Length(l.rightMargin()), labelBelow, -labelAbove)
	p.Add(plotFunc(func(d draw.Canvas, p *plot.Plot) {
		for _, b := range l.Bands {
			l.band(d, p, b)
		}
		grid{vertical: l.X.Log, horizontal: true}.Plot(d, p)
		for _, r := range l.Rules {
			l.rule(d, p, r)
		}
		for _, s := range l.Series {
			l.line(c, d, p, s)
		}
		l.endLabels(d, p)
		axisLabels(d, l.X.Label, l.Y.Label, vg.Length(size.Height), 0)
	}))
	p.Draw(area)
	return c.finish(l.Title, l.Describe)
}

func (l Lines) values() (xs, ys []float64) {
	add := func(out []float64, v Interval, log bool) []float64 {
		for i, f := range []float64{v.Value, v.Low, v.High} {
			if (i == 0 || v.Bounded) && finite(f, log) {
				out = append(out, f)
			}
		}
		return out
	}
	for _, s := range l.Series {
		for _, p := range s.Points {
			if l.drawable(p) {
				xs, ys = add(xs, p.X, l.X.Log), add(ys, p.Y, l.Y.Log)
			}
		}
	}
	return xs, ys
}

func (l Lines) drawable(p Point) bool {
	return finite(p.X.Value, l.X.Log) && finite(p.Y.Value, l.Y.Log)
}

func (l Lines) rightMargin() float64 {
	margin := 16.0
	for _, s := range l.Series {
		if s.Label || s.Above {
			margin = math.Max(margin, textWidth(s.Name, noteSize, false)+22)
		}
	}
	for _, r := range l.Rules {
		margin = math.Max(margin, textWidth(r.Label, noteSize, false)+22)
	}
	return margin
}

// band shades a range of x that is cut to the axis, and names it at its foot, or
// beside it where it is narrow.
func (l Lines) band(d draw.Canvas, p *plot.Plot, b Band) {
	from, to := math.Max(b.From, p.X.Min), math.Min(b.To, p.X.Max)
	if from >= to {
		return
	}
	x0, x1 := d.X(p.X.Norm(from)), d.X(p.X.Norm(to))
	box(d, Warn, x0, d.Min.Y, x1, d.Max.Y)
	label := lettering(noteSize, false, WarnInk, text.XRight, text.YBottom)
	at := vg.Point{X: x1 - 6, Y: d.Min.Y + 6}
	if vg.Length(textWidth(b.Label, noteSize, false)) > x1-x0-8 {
		label.XAlign, at.X = text.XLeft, x1+6
	}
	d.FillText(label, at, b.Label)
}

func (l Lines) rule(d draw.Canvas, p *plot.Plot, r Rule) {
	if !finite(r.Value, l.Y.Log) || r.Value < p.Y.Min || r.Value > p.Y.Max {
		return
	}
	y := d.Y(p.Y.Norm(r.Value))
	d.StrokeLine2(stroke(Ceiling, 1.25, 5, 3), d.Min.X, y, d.Max.X, y)
}

// line draws one series; a point that cannot be drawn breaks the line.
func (l Lines) line(c *canvas, d draw.Canvas, p *plot.Plot, s LineSeries) {
	at := func(x, y float64) vg.Point {
		return vg.Point{X: d.X(p.X.Norm(x)), Y: d.Y(p.Y.Norm(y))}
	}
	width := 2.0
	if s.Thin {
		width = 1.25
	}
	if !s.MarksOnly {
		for _, part := range l.unbroken(s.Points) {
			points := make([]vg.Point, len(part))
			for i, q := range part {
				points[i] = at(q.X.Value, q.Y.Value)
			}
			d.StrokeLines(stroke(s.Ink, width, s.Dashes...), d.ClipLinesXY(points)...)
		}
	}
	for _, q := range s.Points {
		m := vg.Point{}
		if !l.drawable(q) {
			continue
		}
		if m = at(q.X.Value, q.Y.Value); !d.Contains(m) {
			continue
		}
		if q.Y.Bounded && finite(q.Y.Low, l.Y.Log) && finite(q.Y.High, l.Y.Log) {
			low, high := at(q.X.Value, q.Y.Low), at(q.X.Value, q.Y.High)
			d.StrokeLine2(stroke(s.Ink, 1.5), low.X, max(low.Y, d.Min.Y), high.X, min(high.Y, d.Max.Y))
		}
		drawMark(d, s.Shape, m, 4, s.Ink, s.Hollow)
		c.target(m, 12, 12, l.tip(s, q))
		if s.Above {
			over := vg.Point{X: m.X, Y: m.Y + 9}
			if q.Y.Bounded && finite(q.Y.High, l.Y.Log) {
				over.Y = max(over.Y, at(q.X.Value, q.Y.High).Y+4)
			}
			d.FillText(lettering(noteSize, false, s.Ink, text.XCenter, text.YBottom), over, s.Name)
		}
	}
}

func (l Lines) unbroken(points []Point) [][]Point {
	var out [][]Point
	start := 0
	for i := range len(points) + 1 {
		if i < len(points) && l.drawable(points[i]) {
			continue
		}
		if i > start {
			out = append(out, points[start:i])
		}
		start = i + 1
	}
	return out
}

func (l Lines) tip(s LineSeries, p Point) string {
	if p.Tip != "" {
		return p.Tip
	}
	write := func(f Format, v float64) string {
		if f == nil {
			f = Plain
		}
		return f(v)
	}
	return fmt.Sprintf("%s: %s at %s", s.Name, write(l.Y.Format, p.Y.Value), write(l.X.Format, p.X.Value))
}

// endLabels writes the names of the series beside their last points, and those of
// the rules beside their ends, pushed apart where they would overlap.
func (l Lines) endLabels(d draw.Canvas, p *plot.Plot) {
	type label struct {
		name string
		ink  Ink
		y    float64
	}
	var labels []label
	for _, s := range l.Series {
		for i := len(s.Points) - 1; i >= 0 && s.Label; i-- {
			if l.drawable(s.Points[i]) {
				y := d.Y(p.Y.Norm(s.Points[i].Y.Value))
				labels = append(labels, label{s.Name, s.Ink, min(max(y, d.Min.Y), d.Max.Y).Points()})
				break
			}
		}
	}
	for _, r := range l.Rules {
		if finite(r.Value, l.Y.Log) && r.Value >= p.Y.Min && r.Value <= p.Y.Max && r.Label != "" {
			labels = append(labels, label{r.Label, Ceiling, d.Y(p.Y.Norm(r.Value)).Points()})
		}
	}
	sort.SliceStable(labels, func(a, b int) bool { return labels[a].y < labels[b].y })
	const apart = 15.0
	for i := 1; i < len(labels); i++ {
		labels[i].y = math.Max(labels[i].y, labels[i-1].y+apart)
	}
	for i := len(labels) - 1; i >= 0; i-- {
		limit := d.Max.Y.Points()
		if i+1 < len(labels) {
			limit = labels[i+1].y - apart
		}
		labels[i].y = math.Min(labels[i].y, limit)
	}
	for _, b := range labels {
		d.FillText(lettering(noteSize, false, b.ink, text.XLeft, text.YCenter), vg.Point{X: d.Max.X + 10, Y: vg.Length(b.y)}, b.name)
	}
}

// Keys are the legend entries of the series that have anything to draw.
func (l Lines) Keys() []Key {
	var out []Key
	for _, s := range l.Series {
		if len(l.unbroken(s.Points)) == 0 {
			continue
		}
		out = append(out, Key{Label: s.Name, Ink: s.Ink, Shape: s.Shape, Line: !s.MarksOnly, Dashes: s.Dashes, Hollow: s.Hollow})
	}
	return out
}
