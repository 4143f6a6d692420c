package workload

import (
	"strings"
	"testing"

	"tidemark/internal/golden"
)

// TestReferencePage keeps docs/reference/suites.md what the tables say.
func TestReferencePage(t *testing.T) {
	var page strings.Builder
	if err := WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../docs/reference/suites.md", page.String())
}
