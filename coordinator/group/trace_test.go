package group

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/golden"
)

// TestTraces plays the stories of testdata and compares what comes of them. The
// commands stand in the files themselves; -rewrite writes the outcomes.
func TestTraces(t *testing.T) {
	stories, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(stories) == 0 {
		t.Fatalf("no stories in testdata: %v", err)
	}
	for _, path := range stories {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			story, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, path, newScene(t, storyOptions(string(story))).play(string(story)))
		})
	}
}

// storyOptions are Kafka's defaults but for what the story's head says.
func storyOptions(story string) Options {
	o := NewOptions()
	for line := range strings.Lines(story) {
		settings, ok := strings.CutPrefix(line, "# with ")
		if !ok {
			continue
		}
		for _, s := range strings.Fields(settings) {
			switch key, value, _ := strings.Cut(s, "="); key {
			case "delay":
				o.InitialRebalanceDelay = duration(value)
			case "size":
				o.MaxSize = number(value)
			case "rule":
				o.TimeoutRule = LargestSessionTimeout
			case "retention":
				o.OffsetsRetention = duration(value)
			}
		}
	}
	o.RetentionInterval = 10 * time.Minute
	return o
}
