package page

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"strconv"
	"strings"

	"tidemark/reports/chart"
)

// Table is the data behind a picture, or a table that is the panel itself.
type Table struct {
	// Name goes into the accessible label and the name of a copied CSV.
	Name string `json:"name"`
	// About is a sentence under the name.
	About   string   `json:"about,omitempty"`
	Columns []Column `json:"columns"`
	Rows    []Line   `json:"rows"`
}

// Column is one column's heading.
type Column struct {
	Name string `json:"name"`
	// Unit is written small under the name, and in brackets in a CSV.
	Unit string `json:"unit,omitempty"`
	// Number aligns to the right and sorts by value.
	Number bool `json:"number,omitempty"`
	// Copied is the unit of the values and of a CSV where each text names its own.
	Copied string `json:"value_unit,omitempty"`
}

// Line is one row of a table.
type Line struct {
	Cells []Cell `json:"cells"`
	// Class is the row's look: "base", "grey" or nothing.
	Class string `json:"class,omitempty"`
}

// Cell is one value: how it reads, and how it sorts and is copied where it is a
// number.
type Cell struct {
	Text  string   `json:"text"`
	Value *float64 `json:"value,omitempty"`
	// Small is a second, quieter part of the text, such as an interval.
	Small string `json:"small,omitempty"`
	// Class is the cell's look: a verdict's or a status' name.
	Class string `json:"class,omitempty"`
}

// word is a cell of text; wordf formats it.
func word(s string) Cell { return Cell{Text: s} }

func wordf(format string, args ...any) Cell { return word(fmt.Sprintf(format, args...)) }

// number is a cell that reads as text and sorts and copies as v; a value that
// does not exist is an empty cell.
func number(v float64, text string) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Cell{Text: "–"}
	}
	return Cell{Text: text, Value: &v}
}

// duration is a time in nanoseconds, written in the unit that fits it; none is an empty
// cell.
func duration(ns float64) Cell {
	if ns <= 0 {
		return number(nan, "")
	}
	return number(ns, chart.Nanoseconds(ns))
}

func (c Cell) small(text string) Cell {
	c.Small = text
	return c
}

func (c Cell) class(name string) Cell {
	c.Class = name
	return c
}

// Sort is the value for the page's script: a number, or the text.
func (c Cell) Sort() string {
	if c.Value == nil {
		return c.Text
	}
	return strconv.FormatFloat(*c.Value, 'g', -1, 64)
}

// add appends a row.
func (t *Table) add(class string, cells ...Cell) {
	t.Rows = append(t.Rows, Line{Class: class, Cells: cells})
}

// text, num, lasting and paired are short for columns: of words, of numbers, of
// durations in nanoseconds, and of verdicts against a base.
func text(name string) Column      { return Column{Name: name} }
func paired(name string) Column    { return Column{Name: name, Unit: "paired, per block"} }
func num(name, unit string) Column { return Column{Name: name, Unit: unit, Number: true} }
func lasting(name string) Column   { return Column{Name: name, Number: true, Copied: "ns"} }

// CSV is the table with full numbers, one heading line first; the page's button
// copies the same.
func (t Table) CSV() (string, error) {
	var b strings.Builder
	w := csv.NewWriter(&b)
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = c.Name
		if unit := cmp.Or(c.Unit, c.Copied); unit != "" {
			head[i] += " (" + unit + ")"
		}
	}
	rows := [][]string{head}
	for _, r := range t.Rows {
		line := make([]string, len(r.Cells))
		for i, c := range r.Cells {
			line[i] = c.Sort()
			if c.Value == nil {
				line[i] = strings.Join(strings.Fields(c.Text+" "+c.Small), " ") // one plain space each
			}
		}
		rows = append(rows, line)
	}
	if err := w.WriteAll(rows); err != nil {
		return "", fmt.Errorf("write csv of %s: %w", t.Name, err)
	}
	return b.String(), nil
}

// Markdown is the table in GitHub's form.
func (t Table) Markdown() string {
	escape := strings.NewReplacer("|", `\|`, "\n", " ").Replace
	var b strings.Builder
	for _, c := range t.Columns {
		b.WriteString("| " + escape(c.Name))
		if c.Unit != "" {
			b.WriteString(", " + escape(c.Unit))
		}
		b.WriteString(" ")
	}
	b.WriteString("|\n")
	for _, c := range t.Columns {
		b.WriteString(map[bool]string{true: "|--:", false: "|---"}[c.Number])
	}
	b.WriteString("|\n")
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			b.WriteString("| " + escape(strings.TrimSpace(c.Text+" "+c.Small)) + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}
