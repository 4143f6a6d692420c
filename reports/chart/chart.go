// Package chart draws the pictures of a report: gonum/plot underneath, one
// house style on top, an inline SVG out.
//
// It knows values, labels and colours by meaning, never runs or result files.
// Every chart is a plain struct with an SVG method that returns a complete
// <svg> element and an error, and draws nothing else: titles, captions, legends
// and data tables are the page's. The SVG carries a title and a description for
// screen readers, a tooltip per mark that works without JavaScript, and CSS
// variables in place of colours, so that one picture serves light and dark.
//
// A chart is confined to one goroutine while it is being drawn.
package chart

import (
	"fmt"
	"html/template"
	"math"
)

// Size is the extent of a chart in CSS pixels at its natural size; the page
// scales it down where there is less room.
type Size struct{ Width, Height float64 }

// Wide and Half are the two widths used by the page: a whole row, or one of two
// charts beside each other. The heights are the usual ones; a chart may change
// them.
var (
	Wide = Size{Width: 1080, Height: 400}
	Half = Size{Width: 528, Height: 340}
)

// Interval is an estimate with its bounds. Bounded tells whether Low and High
// mean anything; without it only Value is drawn.
type Interval struct {
	Value, Low, High float64
	Bounded          bool
}

// Point is one mark of a line chart. Tip is its tooltip; an empty one gets the
// coordinates.
type Point struct {
	X, Y Interval
	Tip  string
}

// At is a point without bounds.
func At(x, y float64) Point {
	return Point{X: Interval{Value: x}, Y: Interval{Value: y}}
}

// Format writes a value for an axis or a label.
type Format func(float64) string

// EmptyError says that a chart was asked to draw nothing. The page shows it in
// the place of the picture.
type EmptyError struct{ Want string }

// Error names what is missing.
func (e *EmptyError) Error() string { return "nothing to draw: no " + e.Want }

// Drawer is what every chart is.
type Drawer interface {
	// SVG returns the finished element, or why there is none.
	SVG() (template.HTML, error)
}

// finite reports whether v can be drawn, and is positive where the axis is
// logarithmic.
func finite(v float64, log bool) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && (!log || v > 0)
}

// guard turns a panic of the plotting library, which is how it reports values
// outside an axis, into the panel's own error.
func guard(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("draw chart: %v", p)
	}
}
