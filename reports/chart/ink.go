package chart

import (
	"fmt"
	"strings"
)

// Ink is a colour by its meaning. It satisfies color.Color with its light value,
// which is also its key: after drawing, each light value in the SVG is replaced
// by the CSS variable of its ink, so the light values must all differ.
type Ink struct {
	name        string
	light, dark uint32 // 0xRRGGBB
}

// RGBA implements color.Color.
func (i Ink) RGBA() (r, g, b, a uint32) {
	wide := func(shift uint) uint32 { return (i.light >> shift & 0xff) * 0x101 }
	return wide(16), wide(8), wide(0), 0xffff
}

// Var is the ink as a CSS value, with its light colour as the fallback for an
// SVG that was cut out of the page.
func (i Ink) Var() string { return fmt.Sprintf("var(--%s,#%06x)", i.name, i.light) }

// The inks. Series colours are told apart by people with any of the common
// colour-vision deficiencies (after Okabe and Ito), have a contrast of at least
// 3:1 against their surface in both themes, and never stand alone: a series also
// has its own mark and dash.
var (
	Text    = Ink{"text", 0x1b2733, 0xe6edf3}
	Muted   = Ink{"muted", 0x596875, 0x9aa8b5}
	Grid    = Ink{"grid", 0xe3e8ec, 0x2a343e}
	Axis    = Ink{"axis", 0xaab4bd, 0x56636f}
	Surface = Ink{"surface", 0xfefefe, 0x151c23}
	Shade   = Ink{"shade", 0xeef2f5, 0x1e272f}
	Warn    = Ink{"warn", 0xfbe9d9, 0x3a2a1c}
	WarnInk = Ink{"warn-ink", 0xa24a06, 0xf0a868}
	Ceiling = Ink{"ceiling", 0x7a4b8f, 0xc79bdd}
	Grey    = Ink{"grey", 0x707c87, 0x77848f}

	Base   = Ink{"base", 0x1b2734, 0xe6edf2}
	Faster = Ink{"faster", 0x0a6fb3, 0x5cb3ee}
	Slower = Ink{"slower", 0xc65102, 0xff9a56}
	Same   = Ink{"same", 0x46545f, 0xaab8c4}

	series = []Ink{
		{"s1", 0x0b6fb4, 0x5cb2ee},
		{"s2", 0xc75203, 0xff9b57},
		{"s3", 0x0b8060, 0x3fcaa0},
		{"s4", 0x9a3f86, 0xe08fcc},
		{"s5", 0x8a6a00, 0xe3bd3c},
		{"s6", 0x3b4cc0, 0x9aa8ff},
		{"s7", 0x5c6b78, 0xa3b1bd},
	}
)

// Series is the ink of the n-th series, counted from zero, round and round.
func Series(n int) Ink { return series[n%len(series)] }

// inks lists every ink once.
func inks() []Ink {
	return append([]Ink{
		Text, Muted, Grid, Axis, Surface, Shade, Warn, WarnInk, Ceiling, Grey,
		Base, Faster, Slower, Same,
	}, series...)
}

// Variables writes the CSS declarations of every ink for one theme.
func Variables(dark bool) string {
	var b strings.Builder
	for _, i := range inks() {
		rgb := i.light
		if dark {
			rgb = i.dark
		}
		fmt.Fprintf(&b, "--%s:#%06x;", i.name, rgb)
	}
	return b.String()
}
