package page

import (
	"errors"
	"fmt"
	"html/template"

	"tidemark/reports/chart"
)

// Panel is one part of a report: a heading that says what is seen, pictures,
// a caption with the sample and the interval, and the numbers.
type Panel struct {
	// ID is the anchor, the same in every report.
	ID string `json:"id"`
	// Kind names the plot, "Throughput per cell"; Title is the sentence above it
	// that says what is seen.
	Kind string `json:"kind"`
	// Short is the panel's name in the list of contents.
	Short   string   `json:"-"`
	Title   string   `json:"title"`
	Lead    string   `json:"lead,omitempty"`
	Figures []Figure `json:"-"`
	Caption string   `json:"caption,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	Tables  []Table  `json:"tables,omitempty"`
	// Open shows the tables without a click.
	Open bool `json:"-"`
	// Error stands in the place of what could not be made; the rest is kept.
	Error string `json:"error,omitempty"`
	// Missing says why a panel has nothing to show, where that is no fault: the
	// experiment had no such cells.
	Missing string `json:"missing,omitempty"`
}

// Figure is one picture with its legend.
type Figure struct {
	Heading string
	Keys    []chart.Key
	SVG     template.HTML
	// Half is a picture of half the page's width.
	Half bool
	// Error stands in the place of a picture that could not be drawn.
	Error string
}

// MissingError says that an experiment has nothing for a panel, which is no fault
// of the experiment.
type MissingError struct{ Why string }

// Error implements error.
func (e *MissingError) Error() string { return e.Why }

// draw makes a figure; what goes wrong is shown in its place.
func draw(heading string, keys []chart.Key, d chart.Drawer) Figure {
	svg, err := d.SVG()
	f := Figure{Heading: heading, Keys: keys, SVG: svg}
	if err != nil {
		f.Keys, f.Error = nil, err.Error()
	}
	return f
}

// maker builds one panel.
type maker struct {
	id, kind, short string
	make            func(*view) (Panel, error)
}

// build runs one maker so that neither an error nor a panic of it reaches the
// other panels.
func (m maker) build(v *view) (p Panel) {
	defer func() {
		if r := recover(); r != nil {
			p = Panel{ID: m.id, Kind: m.kind, Short: m.short, Title: m.kind, Error: fmt.Sprintf("this panel broke: %v", r)}
		}
	}()
	p, err := m.make(v)
	p.ID, p.Kind, p.Short = m.id, m.kind, m.short
	if p.Title == "" {
		p.Title = m.kind
	}
	var missing *MissingError
	switch {
	case errors.As(err, &missing):
		p.Missing = missing.Why
	case err != nil:
		p.Error = err.Error()
	}
	return p
}
