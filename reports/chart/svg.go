package chart

import (
	"bytes"
	"fmt"
	"html"
	"html/template"
	"math"
	"regexp"
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// canvas is gonum's SVG canvas that also remembers how wide each string came
// out in the font it was laid out with, and the tooltips of the marks.
type canvas struct {
	*vgsvg.Canvas
	size   Size
	widths []float64
	hits   []hit
}

// hit is an invisible target that carries a tooltip. Its origin is the lower
// left corner of the canvas, as everywhere in gonum.
type hit struct {
	x, y, width, height float64
	tip                 string
}

func newCanvas(s Size) *canvas {
	w, h := vg.Length(s.Width), vg.Length(s.Height)
	return &canvas{Canvas: vgsvg.NewWith(vgsvg.UseWH(w, h)), size: s}
}

// area is the whole canvas as gonum draws on it.
func (c *canvas) area() draw.Canvas {
	return draw.Canvas{
		Canvas: c,
		Rectangle: vg.Rectangle{
			Max: vg.Point{X: vg.Length(c.size.Width), Y: vg.Length(c.size.Height)},
		},
	}
}

// FillString implements vg.Canvas.
func (c *canvas) FillString(f font.Face, at vg.Point, s string) {
	c.widths = append(c.widths, f.Width(s).Points())
	c.Canvas.FillString(f, at, s)
}

// target adds a tooltip over a mark whose middle is at p.
func (c *canvas) target(p vg.Point, width, height float64, tip string) {
	if tip == "" {
		return
	}
	c.hits = append(c.hits, hit{
		x: p.X.Points() - width/2, y: p.Y.Points() - height/2,
		width: width, height: height, tip: tip,
	})
}

var (
	styleText   = regexp.MustCompile(`font-family:[^;"]*;font-variant:[^;"]*;font-weight:([^;"]*);font-style:[^;"]*`)
	openText    = regexp.MustCompile(`<text `)
	rgbColour   = regexp.MustCompile(`#[0-9A-Fa-f]{6}`)
	emptyGroups = regexp.MustCompile(`<g transform="[^"]*">\s*</g>\n?`)
)

// finish turns what was drawn into the element that goes into a page. label is
// the picture's name and describe says what is seen, both for readers who do
// not see it.
func (c *canvas) finish(label, describe string) (template.HTML, error) {
	var raw bytes.Buffer
	if _, err := c.WriteTo(&raw); err != nil {
		return "", fmt.Errorf("write svg: %w", err)
	}
	body := raw.String()
	start := strings.Index(body, "<g ")
	if start < 0 {
		return "", fmt.Errorf("write svg: the canvas holds no drawing")
	}
	body = strings.TrimSuffix(strings.TrimSpace(body[start:]), "</svg>")
	body = emptyGroups.ReplaceAllString(body, "")
	body = styleText.ReplaceAllStringFunc(body, func(s string) string {
		if strings.Contains(s, "font-weight:bold") {
			return "font-weight:600"
		}
		return "font-weight:400"
	})
	body = c.fixWidths(body)
	body = rgbColour.ReplaceAllStringFunc(body, colourVariable)

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="%s" viewBox="0 0 %g %g" style="max-width:%gpx">`,
		html.EscapeString(label), c.size.Width, c.size.Height, c.size.Width)
	fmt.Fprintf(&b, "<desc>%s</desc>\n", html.EscapeString(describe))
	b.WriteString(body)
	for _, h := range c.hits {
		fmt.Fprintf(&b, `<rect class="hit" x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill-opacity="0"><title>%s</title></rect>`+"\n",
			h.x, c.size.Height-h.y-h.height, h.width, h.height, html.EscapeString(h.tip))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()), nil
}

// fixWidths pins every string to the width it was laid out with, so that a
// reader whose machine has other fonts sees the same layout.
func (c *canvas) fixWidths(body string) string {
	n := 0
	return openText.ReplaceAllStringFunc(body, func(open string) string {
		if n >= len(c.widths) {
			return open
		}
		width := math.Max(c.widths[n], 0.1)
		n++
		return fmt.Sprintf(`%stextLength="%.1f" lengthAdjust="spacingAndGlyphs" `, open, width)
	})
}

// colourVariable gives the CSS variable of the ink whose light value this is,
// or the colour itself.
func colourVariable(hex string) string {
	for _, i := range inks() {
		if strings.EqualFold(hex, fmt.Sprintf("#%06x", i.light)) {
			return i.Var()
		}
	}
	return hex
}
