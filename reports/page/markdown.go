package page

import (
	"fmt"
	"io"
	"strings"
)

// mostRows is how long a table may be in the Markdown text; the longer ones, such as
// the time lines, are in the HTML and in the run folder.
const mostRows = 60

// Markdown writes the report as text: the same sentences and tables, no pictures.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", r.Title)
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "> A folder could not be read: %s\n\n", p)
	}
	for _, p := range r.Across {
		markPanel(&b, p)
	}
	for _, s := range r.Sections {
		markSection(&b, s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markSection(b *strings.Builder, s Section) {
	fmt.Fprintf(b, "## %s, %s\n\n**%s**\n\n", s.Suite, s.Name, s.Headline)
	for _, p := range s.Problems {
		fmt.Fprintf(b, "> A file of this folder could not be read, and what it holds is in no figure: %s\n\n", p)
	}
	if s.About != "" {
		fmt.Fprintf(b, "%s\n\n", s.About)
	}
	fmt.Fprintf(b, "On %s", s.Machine)
	for _, f := range []struct{ name, value string }{{"taken", s.Taken}, {"commit", s.Commit}} {
		if f.value != "" {
			fmt.Fprintf(b, "; %s %s", f.name, f.value)
		}
	}
	b.WriteString(".\n\n")
	for _, t := range s.Tiles {
		fmt.Fprintf(b, "- %s: **%s** %s\n", t.Name, t.Value, t.Small)
	}
	b.WriteString("\n### Conclusion\n\n")
	for _, c := range s.Conclusion {
		where := c.on()
		if c.Experiment != "" {
			where = c.Experiment + ", " + c.Subject
		}
		fmt.Fprintf(b, "- *%s.* %s\n", where, c.Text)
	}
	if len(s.Undecided.Rows) > 0 {
		fmt.Fprintf(b, "\n<details><summary>Not decided: %d %s</summary>\n\n%s\n</details>\n", len(s.Undecided.Rows), plural(len(s.Undecided.Rows), "comparison"), s.Undecided.Markdown())
	}
	b.WriteString("\n")
	for _, p := range s.Panels {
		markPanel(b, p)
	}
}

func markPanel(b *strings.Builder, p Panel) {
	fmt.Fprintf(b, "### %s\n\n", p.Kind)
	if p.Missing != "" {
		fmt.Fprintf(b, "Not in this report: %s.\n\n", p.Missing)
		return
	}
	if p.Title != p.Kind {
		fmt.Fprintf(b, "**%s**\n\n", p.Title)
	}
	if p.Error != "" {
		fmt.Fprintf(b, "> This panel could not be made: %s\n\n", p.Error)
	}
	for _, f := range p.Figures {
		if f.Error != "" {
			fmt.Fprintf(b, "> Picture %s: %s\n\n", f.Heading, f.Error)
		}
	}
	for _, text := range append([]string{p.Lead, p.Caption}, p.Notes...) {
		if text != "" {
			fmt.Fprintf(b, "%s\n\n", text)
		}
	}
	for _, t := range p.Tables {
		if len(t.Rows) > mostRows {
			fmt.Fprintf(b, "%s: %d rows, see report.html.\n\n", t.Name, len(t.Rows))
			continue
		}
		fmt.Fprintf(b, "%s\n\n", t.Name)
		if t.About != "" {
			fmt.Fprintf(b, "%s\n\n", t.About)
		}
		fmt.Fprintf(b, "%s\n", t.Markdown())
	}
}
