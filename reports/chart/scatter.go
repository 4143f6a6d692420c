package chart

import (
	"html/template"
	"math"
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
// Every mark is named beside it; names do not overlap.
type Scatter struct {
	Title, Describe string
	X, Y            AxisSpec
	Spots           []Spot
	// Diagonal is a dashed line on which both quantities are equal, with its name.
	Diagonal string
	Size     Size // zero means Wide
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
		s.diagonal(d, p)
		s.draw(c, d, p)
		axisLabels(d, s.X.Label, s.Y.Label, vg.Length(size.Height), 0)
	}))
	p.Draw(draw.Crop(c.area(), 0, -16, labelBelow, -labelAbove))
	return c.finish(s.Title, s.Describe)
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

// diagonal draws the line of equal values as far as both axes reach.
func (s Scatter) diagonal(d draw.Canvas, p *plot.Plot) {
	low, high := math.Max(p.X.Min, p.Y.Min), math.Min(p.X.Max, p.Y.Max)
	if s.Diagonal == "" || low >= high {
		return
	}
	at := func(v float64) vg.Point { return vg.Point{X: d.X(p.X.Norm(v)), Y: d.Y(p.Y.Norm(v))} }
	from, to := at(low), at(high)
	d.StrokeLine2(stroke(Ceiling, 1.25, 5, 3), from.X, from.Y, to.X, to.Y)
	d.FillText(lettering(noteSize, false, Ceiling, text.XRight, text.YTop), vg.Point{X: to.X - 10, Y: to.Y - 2}, s.Diagonal)
}

// Sizes of a scatter's parts, in CSS pixels.
const (
	spotRadius  = 5.0
	arrowLength = 26.0
	lineHeight  = 15.0
)

// placed is a spot and where its mark is.
type placed struct {
	Spot
	at vg.Point
}

// draw draws intervals, marks and names, in this order, so that no line crosses a
// mark.
func (s Scatter) draw(c *canvas, d draw.Canvas, p *plot.Plot) {
	place := func(x, y float64) vg.Point { return vg.Point{X: d.X(p.X.Norm(x)), Y: d.Y(p.Y.Norm(y))} }
	var spots []placed
	var taken []rect
	for _, o := range s.Spots {
		if !s.drawable(o) {
			continue
		}
		x, y := o.at()
		m := place(x, y)
		if o.X.Bounded && finite(o.X.Low, s.X.Log) && finite(o.X.High, s.X.Log) {
			d.StrokeLine2(stroke(o.Ink, 1.5), max(place(o.X.Low, y).X, d.Min.X), m.Y, min(place(o.X.High, y).X, d.Max.X), m.Y)
		}
		if o.Below {
			arrow(d, o.Ink, m)
		} else if o.Y.Bounded && finite(o.Y.Low, s.Y.Log) && finite(o.Y.High, s.Y.Log) {
			d.StrokeLine2(stroke(o.Ink, 1.5), m.X, max(place(x, o.Y.Low).Y, d.Min.Y), m.X, min(place(x, o.Y.High).Y, d.Max.Y))
		}
		spots, taken = append(spots, placed{o, m}), append(taken, around(m, o.Below))
	}
	for _, o := range spots {
		drawMark(d, o.Shape, o.at, spotRadius, o.Ink, o.Hollow)
		c.target(o.at, 16, 16, o.Tip)
	}
	// From the right to the left: a name begins over its mark, so that the line to a
	// name in a higher lane passes on the left of those that have theirs.
	sort.SliceStable(spots, func(i, k int) bool { return spots[i].at.X > spots[k].at.X })
	for i, o := range spots {
		taken = append(taken, s.name(d, spots, i, o, taken)...)
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

// around is what a mark takes, with its arrow.
func around(m vg.Point, below bool) rect {
	x, y := m.X.Points(), m.Y.Points()
	r := rect{x - spotRadius - 2, y - spotRadius - 2, x + spotRadius + 2, y + spotRadius + 2}
	if below {
		r.bottom = y - arrowLength - 2
	}
	return r
}

// name writes a spot's name at the nearest free place above or below its mark, with
// a thin line to it where it stands apart, and returns what both take.
func (s Scatter) name(d draw.Canvas, spots []placed, i int, o placed, taken []rect) []rect {
	width := textWidth(o.Name, noteSize, false)
	left := o.at.X.Points() - width/2
	for k, other := range spots {
		x, apart := other.at.X.Points(), math.Abs((other.at.Y - o.at.Y).Points())
		if k != i && x > left-spotRadius && x < left+width+spotRadius && apart < nameLanes*lineHeight/2 {
			left = o.at.X.Points() - spotRadius // a neighbour: no room for the middle
			break
		}
	}
	left = math.Max(math.Min(left, d.Max.X.Points()-width), d.Min.X.Points()+3)
	best, line := s.room(d, o, left, width, taken)
	if line.top > line.bottom {
		d.StrokeLine2(stroke(o.Ink, 0.75), o.at.X, vg.Length(line.bottom), o.at.X, vg.Length(line.top))
	}
	d.FillText(lettering(noteSize, false, o.Ink, text.XLeft, text.YCenter), vg.Point{X: vg.Length(left), Y: vg.Length((best.bottom + best.top) / 2)}, o.Name)
	return []rect{best, line}
}

// nameLanes is how many lines of names are tried above and below a mark.
const nameLanes = 12

// room finds the place of a name, and of the line between it and its mark, which
// has no height where the name is beside it.
func (s Scatter) room(d draw.Canvas, o placed, left, width float64, taken []rect) (name, line rect) {
	x, y := o.at.X.Points(), o.at.Y.Points()
	above, below := y+spotRadius+5, y-spotRadius-5
	if o.Below {
		below = y - arrowLength - 5
	}
	for lane := range nameLanes {
		apart := float64(lane) * lineHeight
		up := rect{left - 3, above + apart, left + width + 3, above + apart + lineHeight}
		down := rect{left - 3, below - apart - lineHeight, left + width + 3, below - apart}
		for _, try := range []struct{ name, line rect }{
			{up, rect{x - 1, above, x + 1, up.bottom}}, {down, rect{x - 1, down.top, x + 1, below}},
		} {
			if try.name.bottom >= d.Min.Y.Points() && try.name.top <= d.Max.Y.Points()+labelAbove/2 &&
				!meetsAny(try.name, taken) && (lane == 0 || !meetsAny(try.line, taken)) {
				return try.name, try.line
			}
		}
	}
	return rect{left - 3, above, left + width + 3, above + lineHeight}, rect{} // better over another name than not at all
}

func meetsAny(r rect, taken []rect) bool {
	for _, t := range taken {
		if r.meets(t) {
			return true
		}
	}
	return false
}
