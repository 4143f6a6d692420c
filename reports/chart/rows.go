package chart

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Row is one line of a Rows chart.
type Row struct {
	// Group is the heading the row stands under; rows of one group follow each other.
	Group string
	Label string
	Value Interval
	// Runs are the single runs behind the estimate, drawn as dots under it; those that
	// are Outliers too stand out.
	Runs, Outliers []float64
	// Note stands at the right end: the verdict, or what limits the row.
	Note   string
	Ink    Ink
	Shape  Shape
	Hollow bool
	Bold   bool
	Tip    string
	// Marks, where given, are drawn in place of the estimate: several figures of
	// one row on the same axis.
	Marks []Mark
}

// Mark is one of several figures of a row.
type Mark struct {
	Value float64
	Ink   Ink
	Shape Shape
}

// Line is a vertical reference, such as a calibrated ceiling.
type Line struct {
	Value float64
	Label string
}

// Rows is a chart of estimates one under the other: dot, interval, single runs.
// The values share one horizontal axis.
type Rows struct {
	Title, Describe string
	X               AxisSpec
	Rows            []Row
	Lines           []Line
	// Band, where bounded, is shaded over the whole height: the base's interval.
	Band  Interval
	Width float64 // 0 means Wide
}

const (
	rowHeight   = 28.0
	groupHeight = 30.0
	laneHeight  = 17.0
	// runsBelow is how far under its estimate the single runs of a row are drawn.
	runsBelow = 7.5
	// settle lifts text whose box is centred so that its letters are.
	settle = 1.5
)

// SVG implements Drawer.
func (r Rows) SVG() (out template.HTML, err error) {
	defer guard(&err)
	values := r.values()
	if len(values) == 0 {
		return "", &EmptyError{Want: "cell has a value for this chart"}
	}
	width := r.Width
	if width == 0 {
		width = Wide.Width
	}
	lines := r.visibleLines(values)
	p := newPlot(r.X, AxisSpec{})
	for _, l := range lines {
		values = append(values, l.Value)
	}
	fit(&p.X, r.X, values)
	p.HideY()
	slots, total := r.slots()
	p.Y.Min, p.Y.Max = 0, total

	labels, notes := r.margins()
	inner := width - labels - notes
	lanes := place(lines, func(v float64) float64 { return p.X.Norm(v) * inner }, inner)
	top := float64(lanes.count) * laneHeight
	c := newCanvas(Size{Width: width, Height: total + top + 22 + labelBelow})
	area := draw.Crop(c.area(), vg.Length(labels), -vg.Length(notes), labelBelow, -vg.Length(top))
	p.Add(plotFunc(func(d draw.Canvas, p *plot.Plot) {
		r.background(d, p, slots)
		r.references(d, p, lines, lanes)
		for i, row := range r.Rows {
			y := d.Y(p.Y.Norm(total - slots[i]))
			r.row(c, d, p, row, y, labels)
		}
		axisLabels(d, r.X.Label, "", 0, 0)
	}))
	p.Draw(area)
	return c.finish(r.Title, r.Describe)
}

// Fits reports whether a width leaves at least half of itself to the data, beside labels
// and notes.
func (r Rows) Fits(width float64) bool {
	labels, notes := r.margins()
	return labels+notes <= width/2
}

// plotFunc is a function as a plot.Plotter.
type plotFunc func(draw.Canvas, *plot.Plot)

// Plot implements plot.Plotter.
func (f plotFunc) Plot(c draw.Canvas, p *plot.Plot) { f(c, p) }

// values are all numbers the axis has to hold.
func (r Rows) values() []float64 {
	var out []float64
	add := func(v float64) {
		if finite(v, r.X.Log) {
			out = append(out, v)
		}
	}
	for _, row := range r.Rows {
		add(row.Value.Value)
		if row.Value.Bounded {
			add(row.Value.Low)
			add(row.Value.High)
		}
		for _, v := range row.Runs {
			add(v)
		}
		for _, m := range row.Marks {
			add(m.Value)
		}
	}
	return out
}

// visibleLines leaves out references so far beyond the data that showing them
// would squeeze it; the page names those in words.
func (r Rows) visibleLines(values []float64) []Line {
	most := 0.0
	for _, v := range values {
		most = math.Max(most, v)
	}
	var out []Line
	for _, l := range r.Lines {
		if finite(l.Value, r.X.Log) && l.Value <= most*Reach {
			out = append(out, l)
		}
	}
	return out
}

// Reach is how far beyond the largest value, as a factor, a reference line may
// lie and still be drawn.
const Reach = 2

// slots are the middles of the rows, counted downwards from the top, and the
// height of all.
func (r Rows) slots() (middles []float64, total float64) {
	for i, row := range r.Rows {
		if row.Group != "" && (i == 0 || r.Rows[i-1].Group != row.Group) {
			total += groupHeight
		}
		middles = append(middles, total+rowHeight/2)
		total += rowHeight
	}
	return middles, total
}

// margins are the widths of the label and the note columns.
func (r Rows) margins() (labels, notes float64) {
	for _, row := range r.Rows {
		labels = math.Max(labels, textWidth(row.Label, labelSize+1, row.Bold)+14)
		labels = math.Max(labels, textWidth(row.Group, labelSize, false)+14)
		if row.Note != "" && (len(row.Marks) > 0 || finite(row.Value.Value, r.X.Log)) { // else it stands inside
			notes = math.Max(notes, textWidth(row.Note, noteSize, false)+16)
		}
	}
	return math.Max(labels, 60), math.Max(notes, 22)
}

func textWidth(s string, size float64, bold bool) float64 {
	return lettering(size, bold, Text, text.XLeft, text.YCenter).Width(s).Points()
}

// background draws the grid, the base's band, group headings and their rules.
func (r Rows) background(d draw.Canvas, p *plot.Plot, slots []float64) {
	if r.Band.Bounded && finite(r.Band.Low, r.X.Log) && finite(r.Band.High, r.X.Log) {
		box(d, Shade, d.X(p.X.Norm(r.Band.Low)), d.Min.Y, d.X(p.X.Norm(r.Band.High)), d.Max.Y)
	}
	grid{vertical: true}.Plot(d, p)
	for i, row := range r.Rows {
		if row.Group == "" || i > 0 && r.Rows[i-1].Group == row.Group {
			continue
		}
		y := d.Y(p.Y.Norm(p.Y.Max - slots[i] + rowHeight/2 + groupHeight/2 - 4))
		label := lettering(labelSize, false, Muted, text.XLeft, text.YCenter)
		d.FillText(label, vg.Point{X: 0, Y: y}, row.Group)
		rule := y + 13
		if i > 0 {
			d.StrokeLine2(stroke(Grid, 1), 0, rule, d.Max.X, rule)
		}
	}
}

// references draws the vertical lines with their labels above the data, the labels
// last and on a ground of their own, so that no line runs through one.
func (r Rows) references(d draw.Canvas, p *plot.Plot, lines []Line, lanes lanes) {
	top := func(i int) vg.Length { return d.Max.Y + vg.Length(float64(lanes.of[i])*laneHeight) }
	for i, l := range lines {
		x := d.X(p.X.Norm(l.Value))
		d.StrokeLine2(stroke(Ceiling, 1.25, 5, 3), x, d.Min.Y, x, top(i)+4)
	}
	for i, l := range lines {
		x, top := d.X(p.X.Norm(l.Value)), top(i)
		label := lettering(noteSize, false, Ceiling, text.XRight, text.YCenter)
		at := vg.Point{X: x - 5, Y: top + 8}
		if lanes.right[i] {
			label.XAlign, at.X = text.XLeft, x+5
		}
		width := vg.Length(textWidth(l.Label, noteSize, false))
		left := at.X + vg.Length(label.XAlign)*width
		box(d, Surface, left-2, top+1, left+width+2, top+laneHeight-1)
		d.FillText(label, at, l.Label)
	}
}

// row draws one row: label, single runs, interval, mark, note.
func (r Rows) row(c *canvas, d draw.Canvas, p *plot.Plot, row Row, y vg.Length, labels float64) {
	name := Text
	if row.Ink == Grey {
		name = Grey
	}
	d.FillText(lettering(labelSize+1, row.Bold, name, text.XRight, text.YCenter), vg.Point{X: vg.Length(labels - 12), Y: y + settle}, row.Label)
	if len(row.Marks) > 0 {
		r.marks(c, d, p, row, y)
		return
	}
	if !finite(row.Value.Value, r.X.Log) {
		d.FillText(lettering(noteSize, false, Grey, text.XLeft, text.YCenter), vg.Point{X: d.Min.X + 8, Y: y + settle}, row.Note)
		c.target(vg.Point{X: vg.Length(c.size.Width / 2), Y: y}, c.size.Width, rowHeight-2, row.Tip)
		return
	}
	x := r.across(d, p)
	under := y - runsBelow
	for _, v := range row.Runs {
		if finite(v, r.X.Log) && !slices.Contains(row.Outliers, v) {
			drawMark(d, Circle, vg.Point{X: x(v), Y: under}, 2.9, Grey, false)
		}
	}
	for _, v := range row.Outliers {
		if finite(v, r.X.Log) {
			drawMark(d, Cross, vg.Point{X: x(v), Y: under}, 3.4, WarnInk, false)
		}
	}
	if row.Value.Bounded {
		low, high := x(row.Value.Low), x(row.Value.High)
		d.StrokeLine2(stroke(row.Ink, 2), low, y, high, y)
		for _, end := range []vg.Length{low, high} {
			d.StrokeLine2(stroke(row.Ink, 1.5), end, y-4, end, y+4)
		}
	}
	drawMark(d, row.Shape, vg.Point{X: x(row.Value.Value), Y: y}, 5.5, row.Ink, row.Hollow)
	r.note(c, d, row, y, row.Ink)
}

// across turns values into places on the axis, cut to its ends.
func (r Rows) across(d draw.Canvas, p *plot.Plot) func(float64) vg.Length {
	return func(v float64) vg.Length {
		if !finite(v, r.X.Log) {
			return d.Min.X
		}
		return min(max(d.X(p.X.Norm(v)), d.Min.X), d.Max.X)
	}
}

// marks draws a row of several figures on a thread from the left edge.
func (r Rows) marks(c *canvas, d draw.Canvas, p *plot.Plot, row Row, y vg.Length) {
	x := r.across(d, p)
	end := d.Min.X
	for _, m := range row.Marks {
		end = max(end, x(m.Value))
	}
	d.StrokeLine2(stroke(Grid, 2), d.Min.X, y, end, y)
	for _, m := range row.Marks {
		if finite(m.Value, r.X.Log) {
			drawMark(d, m.Shape, vg.Point{X: x(m.Value), Y: y}, 5, m.Ink, false)
		}
	}
	r.note(c, d, row, y, Muted)
}

// note writes what stands at a row's right end and lays the tooltip over it all.
func (r Rows) note(c *canvas, d draw.Canvas, row Row, y vg.Length, ink Ink) {
	if row.Note != "" {
		d.FillText(lettering(noteSize, false, ink, text.XLeft, text.YCenter), vg.Point{X: d.Max.X + 14, Y: y + settle}, row.Note)
	}
	tip := row.Tip
	if tip == "" {
		tip = fmt.Sprintf("%s: %s", row.Label, r.format(row.Value))
	}
	middle := vg.Point{X: vg.Length(c.size.Width / 2), Y: y}
	c.target(middle, c.size.Width, rowHeight-2, tip)
}

// format writes an estimate with its interval.
func (r Rows) format(v Interval) string {
	f := r.X.Format
	if f == nil {
		f = Plain
	}
	if !v.Bounded {
		return f(v.Value)
	}
	return fmt.Sprintf("%s [%s, %s]", f(v.Value), f(v.Low), f(v.High))
}

// lanes tells on which line above the data each reference label stands, and on
// which side of its line.
type lanes struct {
	of    []int
	right []bool
	count int
}

// place puts the labels so that none covers another or another's line: to the left of
// their line where there is room, from the leftmost upwards, so that each ends above the
// lines that it reaches over; then the others to the right, from the rightmost.
func place(lines []Line, x func(float64) float64, width float64) lanes {
	type label struct{ at, from, to float64 }
	labels := make([]label, len(lines))
	out := lanes{of: make([]int, len(lines)), right: make([]bool, len(lines))}
	var order []int
	for i, l := range lines {
		w, at := textWidth(l.Label, noteSize, false)+10, x(l.Value)
		labels[i] = label{at, at - w, at}
		if out.right[i] = at < w && at+w <= width; out.right[i] {
			labels[i] = label{at, at, at + w}
		}
		order = append(order, i)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case out.right[a] != out.right[b]:
			return map[bool]int{true: 1, false: -1}[out.right[a]]
		case out.right[a]:
			return cmp.Compare(labels[b].at, labels[a].at)
		}
		return cmp.Compare(labels[a].at, labels[b].at)
	})
	for n, i := range order {
		for _, k := range order[:n] {
			if l, placed := labels[i], labels[k]; l.from < placed.to && placed.from < l.to || l.from <= placed.at && placed.at <= l.to {
				out.of[i] = max(out.of[i], out.of[k]+1)
			}
		}
		out.count = max(out.count, out.of[i]+1)
	}
	return out
}
