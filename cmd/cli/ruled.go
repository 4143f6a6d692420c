package cli

import (
	"io"
	"strings"
	"unicode/utf8"
)

// column is a column of a ruled table; figures stand at its right.
type column struct {
	head  string
	right bool
}

// row is a line of a ruled table; its note goes below it, across the columns.
type row struct {
	cells []string
	note  string
}

// printRuled prints rows in columns as wide as they must be.
func printRuled(w io.Writer, columns []column, rows []row) error {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c.head)
		for _, r := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(r.cells[i]))
		}
	}
	heads, total := make([]string, len(columns)), 0
	for i, c := range columns {
		heads[i] = c.head
		total += widths[i] + 2
	}
	var b strings.Builder
	line := func(cells []string) {
		var l strings.Builder
		for i, cell := range cells {
			fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if columns[i].right {
				cell = fill + cell
			} else {
				cell += fill
			}
			l.WriteString("  " + cell)
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(heads)
	b.WriteString("  " + strings.Repeat("─", total-2) + "\n")
	for _, r := range rows {
		line(r.cells)
		if r.note != "" {
			b.WriteString(r.note)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
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
