package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestStrangersEngineInABroker builds the ten-line main of ownengine and lets a
// real client write and read a topic that uses its engine.
func TestStrangersEngineInABroker(t *testing.T) {
	own := filepath.Join(t.TempDir(), "ownengine")
	run(t, "", "go", "build", "-o", own, "tidemark/e2e/ownengine")
	shipped := binary
	binary = own
	defer func() { binary = shipped }()

	b := startBroker(t)
	createTopic(t, b, "own", 1, "storage.append.engine", "doubling")
	produceStrings(t, b, "own", 5000)
	consumeAll(t, newKgo(t, b, kgo.ConsumeTopics("own"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())), 5000)
	b.Stop(t)

	binary = shipped
	plain := startBroker(t)
	_, err := plain.admin().CreateTopic(t.Context(), 1, 1, map[string]*string{"storage.append.engine": ptr("doubling")}, "own")
	if err == nil || !strings.Contains(err.Error(), "INVALID_CONFIG") {
		t.Errorf("the shipped broker answered %v to an engine it lacks, want INVALID_CONFIG", err)
	}
}

func ptr(s string) *string { return &s }
