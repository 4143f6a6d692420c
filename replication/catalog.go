package replication

import (
	"fmt"
	"strings"

	"tidemark/internal/nearest"
)

// Catalog is an immutable list of strategies, found by name.
type Catalog struct{ specs []Spec }

// With returns the catalog with one more strategy; one of the same name is
// replaced.
func (c Catalog) With(s Spec) Catalog {
	specs := append([]Spec(nil), c.specs...)
	for i := range specs {
		if specs[i].Name == s.Name {
			specs[i] = s
			return Catalog{specs}
		}
	}
	return Catalog{append(specs, s)}
}

// Specs lists the strategies; the slice is the caller's.
func (c Catalog) Specs() []Spec { return append([]Spec(nil), c.specs...) }

// Find finds a strategy by name; the error lists the known names and asks for the
// nearest.
func (c Catalog) Find(name string) (Spec, error) {
	names := make([]string, len(c.specs))
	for i, s := range c.specs {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	return Spec{}, fmt.Errorf("no replication strategy %q (there are: %s)%s", name, strings.Join(names, ", "), nearest.Suggest(name, names))
}
