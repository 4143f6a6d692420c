package page

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"tidemark/reports/chart"
)

//go:embed assets
var assets embed.FS

// inSection is a panel with the prefix of its section's anchors.
type inSection struct {
	Prefix string
	Panel  Panel
}

// parsed is the page's template. It is part of the program, so that a fault in it
// shows in every test and cannot wait for a user.
var parsed = template.Must(template.New("report.gohtml").Funcs(template.FuncMap{
	"in":        func(prefix string, p Panel) inSection { return inSection{prefix, p} },
	"tag":       tag,
	"upper":     capital,
	"rows":      func(t Table) string { return plural(len(t.Rows), "row") },
	"shown":     func(all []Panel) []Panel { return split(all, false) },
	"missing":   func(all []Panel) []Panel { return split(all, true) },
	"cellClass": cellClass,
	"blocks":    blocks,
}).ParseFS(assets, "assets/report.gohtml"))

// HTML writes the report as one self-contained page.
func (r *Report) HTML(w io.Writer) error {
	css, err := assets.ReadFile("assets/report.css")
	if err != nil {
		return fmt.Errorf("read style: %w", err)
	}
	js, err := assets.ReadFile("assets/report.js")
	if err != nil {
		return fmt.Errorf("read script: %w", err)
	}
	return parsed.Execute(w, struct {
		Report *Report
		CSS    template.CSS
		JS     template.JS
	}{r, template.CSS(theme() + string(css)), template.JS(js)})
}

// theme declares the inks for both themes.
func theme() string {
	light := "--page:#f4f6f8;" + chart.Variables(false)
	dark := "--page:#0e1319;" + chart.Variables(true)
	return fmt.Sprintf(":root{color-scheme:light dark;%s}\n@media (prefers-color-scheme:dark){:root{%s}}\n", light, dark)
}

// block is the statements on one experiment, or those on none.
type block struct {
	Heading string
	Topics  []topic
}

// topic is the statements on one subject.
type topic struct {
	Subject    string
	Statements []Statement
}

// blocks groups statements for reading: by experiment, then by subject. What is of no
// experiment stays before or behind the others, as it came.
func blocks(all []Statement) []block {
	var out []block
	for _, s := range all {
		i := slices.IndexFunc(out, func(b block) bool { return b.Heading == s.Experiment })
		if s.Experiment == "" {
			i = len(out) - 1
		}
		if i < 0 || out[i].Heading != s.Experiment {
			i = len(out)
			out = append(out, block{Heading: s.Experiment})
		}
		b := &out[i]
		subject := s.on()
		if n := len(b.Topics); n == 0 || b.Topics[n-1].Subject != subject {
			b.Topics = append(b.Topics, topic{Subject: subject})
		}
		last := &b.Topics[len(b.Topics)-1]
		last.Statements = append(last.Statements, s)
	}
	return out
}

// on is what a statement is on: its subject, or the word that stands beside it.
func (s Statement) on() string { return cmp.Or(capital(s.Subject), tag(s.Kind)) }

// tag is the word beside a statement.
func tag(kind string) string {
	switch kind {
	case "measured", "single":
		return "Measured"
	case "undecided":
		return "Not decided"
	}
	return "Bear in mind"
}

func split(all []Panel, missing bool) []Panel {
	var out []Panel
	for _, p := range all {
		if (p.Missing != "") == missing {
			out = append(out, p)
		}
	}
	return out
}

// cellClass is a cell's class attribute: its own look, and right alignment in a
// column of numbers.
func cellClass(columns []Column, i int, c Cell) template.HTMLAttr {
	class := c.Class
	if i < len(columns) && columns[i].Number {
		class = "num " + class
	}
	if class == "" {
		return ""
	}
	return template.HTMLAttr(fmt.Sprintf(` class="%s"`, template.HTMLEscapeString(class)))
}
