package inspect

import (
	"encoding/json"
	"fmt"
	"io"
)

// printer writes lines of named values, as text or as JSON objects. After an
// error it writes nothing more.
type printer struct {
	w        io.Writer
	json     bool
	path     string
	problems int
	err      error
}

// field is one named value of a line.
type field struct {
	name  string
	value any
}

// begin names the file that the lines to come are about.
func (p *printer) begin(path string) {
	p.path = path
	if !p.json {
		p.printf("%s\n", path)
	}
}

// line prints one line about the file: in text the values behind their names, in
// JSON an object with the file and the kind of line before them.
func (p *printer) line(kind string, fields ...field) {
	if !p.json {
		p.printf("  %s", kind)
		for _, f := range fields {
			p.printf(" %s: %v", f.name, f.value)
		}
		p.printf("\n")
		return
	}
	p.printf("{%s:%s,%s:%s", quote("file"), quote(p.path), quote("type"), quote(kind))
	for _, f := range fields {
		p.printf(",%s:%s", quote(f.name), quote(f.value))
	}
	p.printf("}\n")
}

func quote(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		b, _ = json.Marshal(err.Error()) // A string always marshals.
	}
	return b
}

// problem prints and counts something that is wrong.
func (p *printer) problem(format string, args ...any) {
	p.problems++
	p.line("PROBLEM", field{"what", fmt.Sprintf(format, args...)})
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}
