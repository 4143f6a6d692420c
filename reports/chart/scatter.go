package chart

import (
	"html/template"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Spot is one mark of a Scatter chart with its name beside it.
type Spot struct {
	Name string
	X, Y Interval
	// Below says that Y is known to lie at or below Y.High and no more: the mark
	// is an arrow down from there.
	Below bool
	Ink   Ink
	Shape Shape
	// Hollow marks a spot that is less sure than the others.
	Hollow bool
	Tip    string
}

// Scatter is a chart of marks over two quantities, each with its interval on both.
// Every mark is at its place and named. Where names or horizontal intervals would lie
// over each other they are set apart upwards, each on a thin stem from its mark.
type Scatter struct {
	Title, Describe string
	X, Y            AxisSpec
	Spots           []Spot
	Size            Size // zero means Wide
}

// SVG implements Drawer.
func (s Scatter) SVG() (out template.HTML, err error) {
	defer guard(&err)
	xs, ys := s.values()
	if len(xs) == 0 {
		return "", &EmptyError{Want: "mark has both values"}
	}
	size := s.Size
	if size == (Size{}) {
		size = Wide
	}
	p := newPlot(s.X, s.Y)
	fit(&p.X, s.X, xs)
	fit(&p.Y, s.Y, ys)
	c := newCanvas(size)
	p.Add(plotFunc(func(d draw.Canvas, p *plot.Plot) {
		grid{vertical: true, horizontal: true}.Plot(d, p)
		s.draw(c, d, p)
		axisLabels(d, s.X.Label, s.Y.Label, vg.Length(size.Height), 0)
	}))
	p.Draw(draw.Crop(c.area(), 0, -vg.Length(s.rightMargin()), labelBelow, -labelAbove))
	return c.finish(s.Title, s.Describe)
}

// rightMargin leaves room for a name behind the last interval.
func (s Scatter) rightMargin() float64 {
	margin := 16.0
	for _, o := range s.Spots {
		margin = math.Max(margin, textWidth(o.Name, noteSize, false)+8)
	}
	return margin
}

// at is where a spot's mark is: a bound stands at its upper end.
func (s Spot) at() (x, y float64) {
	if s.Below {
		return s.X.Value, s.Y.High
	}
	return s.X.Value, s.Y.Value
}

func (s Scatter) drawable(o Spot) bool {
	x, y := o.at()
	return finite(x, s.X.Log) && finite(y, s.Y.Log)
}

func (s Scatter) values() (xs, ys []float64) {
	add := func(out []float64, log bool, values ...float64) []float64 {
		for _, v := range values {
			if finite(v, log) {
				out = append(out, v)
			}
		}
		return out
	}
	for _, o := range s.Spots {
		if !s.drawable(o) {
			continue
		}
		x, y := o.at()
		xs, ys = add(xs, s.X.Log, x), add(ys, s.Y.Log, y)
		if o.X.Bounded {
			xs = add(xs, s.X.Log, o.X.Low, o.X.High)
		}
		if o.Y.Bounded && !o.Below {
			ys = add(ys, s.Y.Log, o.Y.Low, o.Y.High)
		}
	}
	return xs, ys
}

// Sizes of a scatter's parts, in CSS pixels.
const (
	spotRadius  = 5.0
	arrowLength = 26.0
	spotLane    = 16.0
	halfLane    = spotLane/2 - 0.5
	// mostLanes bounds how far marks are set apart.
	mostLanes = 14
)

// placed is a spot on the canvas. Its name and horizontal interval stand in a lane, at
// the height of its mark or above.
type placed struct {
	Spot
	x, y      float64 // the mark
	low, high float64 // the horizontal interval
	lane      float64 // height of interval and name
	left      float64 // of the name
	width     float64 // of the name
}

// draw draws stems and intervals first, then marks and names, so that no line crosses
// a mark.
func (s Scatter) draw(c *canvas, d draw.Canvas, p *plot.Plot) {
	spots := s.place(d, p)
	line := func(ink Ink, width, x0, y0, x1, y1 float64) {
		d.StrokeLine2(stroke(ink, width), vg.Length(x0), vg.Length(y0), vg.Length(x1), vg.Length(y1))
	}
	height := func(v float64) float64 {
		return math.Min(math.Max(d.Y(p.Y.Norm(v)).Points(), d.Min.Y.Points()), d.Max.Y.Points())
	}
	for _, o := range spots {
		if o.lane > o.y {
			line(o.Ink, 0.75, o.x, o.y, o.x, o.lane+3)
		}
		line(o.Ink, 1.5, o.low, o.lane, o.high, o.lane)
		if o.Below {
			arrow(d, o.Ink, vg.Point{X: vg.Length(o.x), Y: vg.Length(o.y)})
		} else if o.Y.Bounded && finite(o.Y.Low, s.Y.Log) && finite(o.Y.High, s.Y.Log) {
			line(o.Ink, 1.5, o.x, height(o.Y.Low), o.x, height(o.Y.High))
		}
	}
	for _, o := range spots {
		at := vg.Point{X: vg.Length(o.x), Y: vg.Length(o.y)}
		drawMark(d, o.Shape, at, spotRadius, o.Ink, o.Hollow)
		c.target(at, 16, 16, o.Tip)
		d.FillText(lettering(noteSize, false, o.Ink, text.XLeft, text.YCenter), vg.Point{X: vg.Length(o.left), Y: vg.Length(o.lane)}, o.Name)
	}
}

// arrow points from a mark downwards.
func arrow(d draw.Canvas, ink Ink, from vg.Point) {
	tip := vg.Point{X: from.X, Y: from.Y - arrowLength}
	d.StrokeLine2(stroke(ink, 1.5), from.X, from.Y, tip.X, tip.Y)
	d.StrokeLines(stroke(ink, 1.5), []vg.Point{{X: tip.X - 4, Y: tip.Y + 6}, tip, {X: tip.X + 4, Y: tip.Y + 6}})
}

// rect is a part of the canvas that is taken.
type rect struct{ left, bottom, right, top float64 }

func (r rect) meets(o rect) bool {
	return r.left < o.right && o.left < r.right && r.bottom < o.top && o.bottom < r.top
}

// span is what a spot's interval takes, label what its name does, stem the line from
// the mark up to them.
func (o placed) span() rect {
	return rect{math.Min(o.low, o.x-2), o.lane - halfLane, math.Max(o.high, o.x+2), o.lane + halfLane}
}

func (o placed) label() rect {
	return rect{o.left - 3, o.lane - halfLane, o.left + o.width + 3, o.lane + halfLane}
}

func (o placed) stem() rect { return rect{o.x - 1, o.y, o.x + 1, o.lane} }

// mark is what the mark takes, with its arrow.
func (o placed) mark() rect {
	const r = spotRadius + 2
	taken := rect{o.x - r, o.y - r, o.x + r, o.y + r}
	if o.Below {
		taken.bottom = o.y - arrowLength - 2
	}
	return taken
}

// collides reports whether two spots would be hard to read together. Stems and
// intervals may pass under marks, which lie where they lie; nothing crosses a name.
func (o placed) collides(q placed) bool {
	for _, p := range [][2]placed{{o, q}, {q, o}} {
		if p[0].label().meets(p[1].label()) || p[0].label().meets(p[1].span()) || p[0].label().meets(p[1].stem()) || p[0].label().meets(p[1].mark()) || p[0].span().meets(p[1].span()) {
			return true
		}
	}
	return false
}

// place finds a lane and a side for the name of each spot, from the right to the
// left: names stand on the right of their intervals, so that the stem to a higher
// lane passes on the left of the names below it.
func (s Scatter) place(d draw.Canvas, p *plot.Plot) (out []placed) {
	across := func(v float64) float64 {
		return math.Min(math.Max(d.X(p.X.Norm(v)).Points(), d.Min.X.Points()), d.Max.X.Points())
	}
	for _, o := range s.Spots {
		if !s.drawable(o) {
			continue
		}
		x, y := o.at()
		q := placed{Spot: o, x: across(x), y: d.Y(p.Y.Norm(y)).Points(), width: textWidth(o.Name, noteSize, false)}
		if q.low, q.high = q.x, q.x; o.X.Bounded && finite(o.X.Low, s.X.Log) && finite(o.X.High, s.X.Log) {
			q.low, q.high = across(o.X.Low), across(o.X.High)
		}
		out = append(out, q)
	}
	sort.SliceStable(out, func(i, k int) bool { return out[i].x > out[k].x })
	for i := range out {
		out[i].settle(out[:i], d.Min.X.Points(), d.Max.Y.Points())
	}
	return out
}

// settle takes the lowest lane in which the spot collides with none of the others, with
// its name behind its interval, or before it where no lane has room for that. A name
// behind always fits the margin.
func (o *placed) settle(others []placed, leftmost, top float64) {
	behind, before := math.Max(o.high, o.x+spotRadius)+7, math.Min(o.low, o.x-spotRadius)-7-o.width
	for _, left := range []float64{behind, math.Max(before, leftmost)} {
		o.left, o.lane = left, o.y
		for range mostLanes {
			if !slices.ContainsFunc(others, o.collides) {
				return
			}
			if o.lane += spotLane; o.lane > top+halfLane {
				break
			}
		}
	}
	o.left, o.lane = behind, o.y // better over another name than not at all
}
