package engines

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/internal/nearest"
)

// Catalog is an explicit list of engines in the order shown to people. It is
// immutable: With… return a new one.
type Catalog struct {
	appends []AppendSpec
	reads   []ReadSpec
}

// WithAppend returns the catalog with one more write method; a spec of the same
// name is replaced.
func (c Catalog) WithAppend(s AppendSpec) Catalog {
	c.appends = with(c.appends, s, func(s AppendSpec) string { return s.Name })
	return c
}

// WithRead returns the catalog with one more read method; a spec of the same
// name is replaced.
func (c Catalog) WithRead(s ReadSpec) Catalog {
	c.reads = with(c.reads, s, func(s ReadSpec) string { return s.Name })
	return c
}

// Appends lists the write methods; the slice is the caller's.
func (c Catalog) Appends() []AppendSpec { return append([]AppendSpec(nil), c.appends...) }

// Reads lists the read methods; the slice is the caller's.
func (c Catalog) Reads() []ReadSpec { return append([]ReadSpec(nil), c.reads...) }

// Append finds a write method by name; the error lists the known names.
func (c Catalog) Append(name string) (AppendSpec, error) {
	return find(c.appends, name, "append", func(s AppendSpec) string { return s.Name })
}

// Read finds a read method by name; the error lists the known names.
func (c Catalog) Read(name string) (ReadSpec, error) {
	return find(c.reads, name, "read", func(s ReadSpec) string { return s.Name })
}

func with[S any](specs []S, s S, name func(S) string) []S {
	out := append([]S(nil), specs...)
	for i := range out {
		if name(out[i]) == name(s) {
			out[i] = s
			return out
		}
	}
	return append(out, s)
}

// calls are the engines by the system calls that they are better known for.
var calls = map[string]string{"mmap": "mapped", "write": "buffered", "splice": "sendfile", "zerocopy": "sendfile"}

func find[S any](specs []S, want, kind string, name func(S) string) (S, error) {
	known := make([]string, len(specs))
	for i, s := range specs {
		if name(s) == want {
			return s, nil
		}
		known[i] = name(s)
	}
	meant := nearest.Suggest(want, known)
	if call := calls[want]; meant == "" && slices.Contains(known, call) {
		meant = fmt.Sprintf("; did you mean %q?", call)
	}
	var none S
	return none, fmt.Errorf("no %s engine %q (there are: %s)%s", kind, want, strings.Join(known, ", "), meant)
}
