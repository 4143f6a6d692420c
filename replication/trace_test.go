package replication_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/golden"
	"tidemark/replication/catalog"
	"tidemark/replication/internal/scene"
)

// TestTraces plays every story of testdata and holds it against what is written
// there; -rewrite writes it anew. How to read and write one: package
// internal/scene.
func TestTraces(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, path, scene.Run(catalog.Builtin(), string(text)))
		})
	}
}
