package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Shape is the outline of a mark, so that no meaning hangs on colour alone.
type Shape int

// The shapes of marks.
const (
	Circle Shape = iota
	Square
	Triangle
	Diamond
	Cross
	Down
	None
)

// outline is the mark's path around a middle, in gonum's upward coordinates, with
// the same visual weight for every shape. A cross is two open strokes.
func outline(s Shape, x, y, r float64) (corners [][2]float64) {
	polygon := func(n int, turn, scale float64) {
		for i := range n {
			a := turn + 2*math.Pi*float64(i)/float64(n)
			corners = append(corners, [2]float64{x + r*scale*math.Cos(a), y + r*scale*math.Sin(a)})
		}
	}
	switch s {
	case Square:
		polygon(4, math.Pi/4, 1.25)
	case Triangle:
		polygon(3, math.Pi/2, 1.5)
	case Down:
		polygon(3, -math.Pi/2, 1.5)
	case Diamond:
		polygon(4, 0, 1.35)
	case Cross:
		polygon(4, math.Pi/4, 1.25)
	}
	return corners
}

// drawMark draws one mark. A hollow one is filled with the surface, so that what
// lies under it does not show through.
func drawMark(c draw.Canvas, s Shape, at vg.Point, radius float64, ink Ink, hollow bool) {
	if s == None {
		return
	}
	var p vg.Path
	r := vg.Length(radius)
	if s == Circle {
		p.Move(vg.Point{X: at.X + r, Y: at.Y})
		p.Arc(at, r, 0, 2*math.Pi)
		p.Close()
	}
	corners := outline(s, at.X.Points(), at.Y.Points(), radius)
	point := func(i int) vg.Point { return vg.Point{X: vg.Length(corners[i][0]), Y: vg.Length(corners[i][1])} }
	if s == Cross {
		for i := range 2 {
			c.StrokeLines(stroke(ink, 2), []vg.Point{point(i), point(i + 2)})
		}
		return
	}
	for i := range corners {
		if i == 0 {
			p.Move(point(i))
			continue
		}
		p.Line(point(i))
	}
	if s != Circle {
		p.Close()
	}
	fill, edge := ink, Surface
	if hollow {
		fill, edge = Surface, ink
	}
	c.SetColor(fill)
	c.Fill(p)
	c.SetLineStyle(stroke(edge, 1.5))
	c.Stroke(p)
}

// Key is one entry of a legend: what a mark or a line looks like and means.
type Key struct {
	Label  string
	Ink    Ink
	Shape  Shape // None for a line alone
	Line   bool
	Dashes []float64
	Hollow bool
	Patch  bool // a filled area instead of a mark
}

// Swatch is a picture of the key, the size of a line of text.
func (k Key) Swatch() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" class="swatch" width="26" height="14" viewBox="0 0 26 14" aria-hidden="true">`)
	if k.Patch {
		fmt.Fprintf(&b, `<rect x="1" y="1" width="24" height="12" rx="2" style="fill:%s"/>`, k.Ink.Var())
	}
	if k.Line {
		dash := ""
		for i, d := range k.Dashes {
			if i > 0 {
				dash += ","
			}
			dash += fmt.Sprintf("%g", d)
		}
		if dash != "" {
			dash = ";stroke-dasharray:" + dash
		}
		fmt.Fprintf(&b, `<path d="M0,7L26,7" style="fill:none;stroke-width:2;stroke:%s%s"/>`, k.Ink.Var(), dash)
	}
	fill, edge := k.Ink.Var(), Surface.Var()
	if k.Hollow {
		fill, edge = edge, fill
	}
	if k.Shape == Circle && !k.Patch {
		fmt.Fprintf(&b, `<circle cx="13" cy="7" r="4.5" style="fill:%s;stroke:%s;stroke-width:1.5"/>`, fill, edge)
	} else if corners := outline(k.Shape, 13, 7, 4.5); len(corners) > 0 && !k.Patch {
		b.WriteString(swatchPath(k.Shape, corners, fill, edge, k.Ink.Var()))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// swatchPath mirrors the corners, because SVG counts y downwards.
func swatchPath(s Shape, corners [][2]float64, fill, edge, ink string) string {
	at := func(i int) string { return fmt.Sprintf("%.1f,%.1f", corners[i][0], 14-corners[i][1]) }
	if s == Cross {
		return fmt.Sprintf(`<path d="M%sL%sM%sL%s" style="fill:none;stroke:%s;stroke-width:2"/>`, at(0), at(2), at(1), at(3), ink)
	}
	var d strings.Builder
	for i := range corners {
		d.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + at(i))
	}
	return fmt.Sprintf(`<path d="%sZ" style="fill:%s;stroke:%s;stroke-width:1.5"/>`, d.String(), fill, edge)
}
