package replication_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/internal/golden"
	"tidemark/internal/planted"
	"tidemark/replication/catalog"
	"tidemark/replication/internal/scene"
)

// harm is what a story of testdata/planted comes to in a build with its flaw.
var harm = []string{"LOST", "differs from the leader"}

// TestPlantedStories plays the story of every known-bad build. A sound build
// comes out of it well; under the build tag planted the flaw of the story's name
// does its harm, which the file shows.
func TestPlantedStories(t *testing.T) {
	for _, flaw := range planted.Replication {
		if flaw == planted.NoControllerEpoch {
			continue // It takes two controllers: the simulator's.
		}
		t.Run(string(flaw), func(t *testing.T) {
			path := filepath.Join("testdata", "planted", string(flaw)+".txt")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			plant(t, flaw)
			got := scene.Run(catalog.Builtin(), string(text))
			harmed := false
			for _, words := range harm {
				harmed = harmed || strings.Contains(got, words)
			}
			if harmed != planted.Enabled {
				t.Errorf("harm done: %v, flaw planted: %v\n%s", harmed, planted.Enabled, got)
			}
			if planted.Enabled {
				golden.Check(t, path, got)
			}
		})
	}
}
