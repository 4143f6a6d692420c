package config

import (
	"strings"
	"testing"

	"tidemark/internal/golden"
)

// TestReferencePage keeps docs/reference/config.md what the tables say.
func TestReferencePage(t *testing.T) {
	var page strings.Builder
	if err := WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "../../docs/reference/config.md", page.String())
}
