package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// screen is the size of the terminal behind a writer; nothing where there is none, so that
// what is piped is never broken.
type screen struct{ columns, lines int }

func screenBehind(w io.Writer) (s screen) {
	if f, ok := w.(*os.File); ok {
		s.columns, s.lines = screenOf(f)
	}
	return s
}

// onTerminal says whether what is written can be overwritten.
func onTerminal(w any) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

// A column that is broken is tried from mostBroken on, and is at least leastBroken wide.
const mostBroken, leastBroken = 160, 12

// render prints a table on the terminal behind w.
func render(w io.Writer, t table.Writer, broken int) error {
	return renderWithin(w, t, screenBehind(w).columns, broken)
}

// renderWithin prints a table. Where it is wider than so many columns, 0 for any number,
// the cells of one of its columns, counted from 1, are broken between words.
func renderWithin(w io.Writer, t table.Writer, columns, broken int) error {
	lines := t.Render()
	for most := mostBroken; columns > 0 && widest(lines) > columns && most >= leastBroken; most -= 2 {
		t.SetColumnConfigs([]table.ColumnConfig{{Number: broken, WidthMax: most, WidthMaxEnforcer: text.WrapSoft}})
		lines = t.Render()
	}
	_, err := fmt.Fprintln(w, lines)
	return err
}

// widest is how many columns the widest line takes.
func widest(lines string) (columns int) {
	for line := range strings.Lines(lines) {
		columns = max(columns, utf8.RuneCountInString(strings.TrimRight(line, " \n")))
	}
	return columns
}

// within cuts what does not fit on the screen, and says how much of it.
func (s screen) within(lines string) string {
	if s.columns == 0 || s.lines < 2 {
		return lines
	}
	all := strings.Split(strings.TrimSuffix(lines, "\n"), "\n")
	if left := len(all) - (s.lines - 2); len(all) > s.lines-1 {
		all = append(all[:s.lines-2:s.lines-2], fmt.Sprintf("  %d more lines; a topic's name behind status shows it alone", left))
	}
	for i, line := range all {
		if runes := []rune(line); len(runes) > s.columns {
			all[i] = string(runes[:s.columns-1]) + "…"
		}
	}
	return strings.Join(all, "\n") + "\n"
}
