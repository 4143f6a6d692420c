package chart

import (
	"image/color"
	"math"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Type sizes, in CSS pixels at a chart's natural size.
const (
	tickSize  = 12
	labelSize = 12
	noteSize  = 12
)

// sans is the face that text is laid out in. Liberation Sans has the metrics of
// Arial and Helvetica, which is what most readers will see.
func sans(size float64, bold bool) font.Font {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Length(size)}
	if bold {
		f.Weight = xfont.WeightBold
	}
	return f
}

// lettering is a text style in the house face.
func lettering(size float64, bold bool, ink color.Color, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color: ink, Font: sans(size, bold), XAlign: x, YAlign: y,
		Handler: plot.DefaultTextHandler,
	}
}

// stroke is a line style.
func stroke(ink color.Color, width float64, dashes ...float64) draw.LineStyle {
	s := draw.LineStyle{Color: ink, Width: vg.Length(width)}
	for _, d := range dashes {
		s.Dashes = append(s.Dashes, vg.Length(d))
	}
	return s
}

// AxisSpec says what an axis shows.
type AxisSpec struct {
	Label string // quantity and unit, "records per second"
	Log   bool
	// Min and Max, where they are not NaN or equal, override what the data asks for.
	Min, Max float64
	// Format writes tick labels. Nil means Plain.
	Format Format
	// Ticks, where given, are the only labelled values.
	Ticks []Tick
	// Free lets a linear axis start where the data does; otherwise it starts at zero.
	Free bool
}

// Tick is one labelled value of an axis.
type Tick struct {
	Value float64
	Label string
}

// newPlot is an empty plot in the house style: no frame, and tick marks
// that continue the grid.
func newPlot(x, y AxisSpec) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	style := func(a *plot.Axis, spec AxisSpec) {
		a.LineStyle = stroke(Axis, 1)
		a.Padding = 0
		a.Tick.LineStyle = stroke(Grid, 1)
		a.Tick.Length = 5
		a.Tick.Label.Color = Muted
		a.Tick.Label.Font = sans(tickSize, false)
		a.Tick.Marker = marker(spec)
		if spec.Log {
			a.Scale = plot.LogScale{}
		}
	}
	style(&p.X, x)
	style(&p.Y, y)
	p.Y.LineStyle.Width = 0
	return p
}

// fit sets the range of an axis: what the spec demands, else what the data
// spans with a little air, from zero where the axis is linear and the data
// positive.
func fit(a *plot.Axis, spec AxisSpec, values []float64) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if finite(v, spec.Log) {
			low, high = math.Min(low, v), math.Max(high, v)
		}
	}
	switch {
	case low > high && spec.Log:
		low, high = 1, 10
	case low > high:
		low, high = 0, 1
	case spec.Log:
		low, high = low/1.25, high*1.25
	default:
		air := (high - low) * 0.06
		if low >= 0 && !spec.Free {
			low = 0
			air = high * 0.06
		} else {
			low -= air
		}
		high += air
	}
	if spec.Min != spec.Max {
		if !math.IsNaN(spec.Min) {
			low = spec.Min
		}
		if !math.IsNaN(spec.Max) {
			high = spec.Max
		}
	}
	if low >= high {
		low, high = low-1, high+1
		if spec.Log {
			low, high = math.Max(low, high/100), high*10
		}
	}
	a.Min, a.Max = low, high
}

// grid draws the lines behind the data at the labelled ticks.
type grid struct{ vertical, horizontal bool }

// Plot implements plot.Plotter.
func (g grid) Plot(c draw.Canvas, p *plot.Plot) {
	style := stroke(Grid, 1)
	if g.vertical {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if x := c.X(p.X.Norm(t.Value)); !t.IsMinor() && c.ContainsX(x) {
				c.StrokeLine2(style, x, c.Min.Y, x, c.Max.Y)
			}
		}
	}
	if g.horizontal {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if y := c.Y(p.Y.Norm(t.Value)); !t.IsMinor() && c.ContainsY(y) {
				c.StrokeLine2(style, c.Min.X, y, c.Max.X, y)
			}
		}
	}
}

// Room for the axis labels, in CSS pixels.
const (
	labelAbove = 24.0
	labelBelow = 22.0
)

// axisLabels writes the label of y above its axis, where it reads without turning
// the head, and that of x below the middle of its own. gonum's labels are not used:
// on logarithmic axes it reserves room for them at the wrong end.
func axisLabels(d draw.Canvas, x, y string, top, bottom vg.Length) {
	if y != "" {
		d.FillText(lettering(labelSize, false, Muted, text.XLeft, text.YTop), vg.Point{X: 0, Y: top}, y)
	}
	if x != "" {
		d.FillText(lettering(labelSize, false, Muted, text.XCenter, text.YBottom), vg.Point{X: (d.Min.X + d.Max.X) / 2, Y: bottom + 3}, x)
	}
}

// box fills a rectangle.
func box(c draw.Canvas, ink color.Color, x0, y0, x1, y1 vg.Length) {
	c.SetColor(ink)
	var p vg.Path
	p.Move(vg.Point{X: x0, Y: y0})
	p.Line(vg.Point{X: x1, Y: y0})
	p.Line(vg.Point{X: x1, Y: y1})
	p.Line(vg.Point{X: x0, Y: y1})
	p.Close()
	c.Fill(p)
}
