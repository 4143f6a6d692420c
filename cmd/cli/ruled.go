package cli

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// column is a column of a ruled table; figures stand at its right. A spare one is left out
// where the table would not fit.
type column struct {
	head         string
	right, spare bool
}

// row is a line of a ruled table; its note goes below it, across the columns.
type row struct {
	cells []string
	note  string
}

// ruled is a table that fits so many columns of a terminal if it can; 0 is any number.
type ruled struct {
	within  int
	columns []column
	rows    []row
}

// print prints the rows in columns as wide as they must be. Where that is too wide the gaps
// are narrow, and then spare columns are left out, the last one first.
func (r ruled) print(w io.Writer) error {
	shown := make([]int, len(r.columns))
	for i := range shown {
		shown[i] = i
	}
	widths, gap := r.widths(), 2
	if r.tooWide(widths, shown, gap) {
		gap = 1
	}
	for i := len(shown) - 1; i >= 0; i-- {
		if r.columns[i].spare && r.tooWide(widths, shown, gap) {
			shown = slices.Delete(shown, i, i+1)
		}
	}
	var b strings.Builder
	heads := make([]string, len(r.columns))
	for i, c := range r.columns {
		heads[i] = c.head
	}
	b.WriteString(r.line(heads, widths, shown, gap))
	b.WriteString("  " + strings.Repeat("─", total(widths, shown, gap)-2) + "\n")
	for _, row := range r.rows {
		b.WriteString(r.line(row.cells, widths, shown, gap) + row.note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// widths are how wide columns are.
func (r ruled) widths() []int {
	widths := make([]int, len(r.columns))
	for i, c := range r.columns {
		widths[i] = utf8.RuneCountInString(c.head)
		for _, row := range r.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row.cells[i]))
		}
	}
	return widths
}

func (r ruled) tooWide(widths, shown []int, gap int) bool {
	return r.within > 0 && total(widths, shown, gap) > r.within
}

// total is how wide a line is: two spaces, and the columns that are shown with gaps.
func total(widths, shown []int, gap int) int {
	sum := 2 - gap
	for _, i := range shown {
		sum += gap + widths[i]
	}
	return sum
}

func (r ruled) line(cells []string, widths, shown []int, gap int) string {
	var l strings.Builder
	for n, i := range shown {
		cell, fill := cells[i], strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cells[i]))
		if r.columns[i].right {
			cell = fill + cell
		} else {
			cell += fill
		}
		if n > 0 {
			l.WriteString(strings.Repeat(" ", gap))
		}
		l.WriteString(cell)
	}
	return "  " + strings.TrimRight(l.String(), " ") + "\n"
}

// noteWidth is where notes are broken: they fit a terminal of 80 columns.
const noteWidth = 74

// note is a text below a row, broken between words.
func note(text string) string {
	var b strings.Builder
	lead, length := "  └ ", 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word) + 1
		if length > 0 && length+n > noteWidth {
			b.WriteString("\n")
			lead, length = "    ", 0
		}
		if length == 0 {
			b.WriteString(lead + word)
		} else {
			b.WriteString(" " + word)
		}
		length += n
	}
	return b.String() + "\n"
}
