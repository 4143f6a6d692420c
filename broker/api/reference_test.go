package api

import (
	"strings"
	"testing"

	"tidemark/internal/golden"
)

// TestReferencePage keeps docs/reference/api-versions.md what the table says.
func TestReferencePage(t *testing.T) {
	var page strings.Builder
	if err := WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../docs/reference/api-versions.md", page.String())
}
