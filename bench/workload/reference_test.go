package workload

import (
	"slices"
	"strings"
	"testing"

	"tidemark/broker/config"
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

// TestNamesAreTheBrokers: a name that the broker refuses or ignores is no axis.
func TestNamesAreTheBrokers(t *testing.T) {
	for _, name := range topicNames {
		if _, ok := config.FindTopic(name); !ok {
			t.Errorf("topic property %s is not one of the broker's", name)
		}
	}
	for _, d := range config.TopicDefs() {
		if !slices.Contains(topicNames, d.TopicName) {
			t.Errorf("topic property %s of the broker is unknown to suites", d.TopicName)
		}
	}
	for _, name := range brokerNames {
		if _, ok := config.Find(name); !ok {
			t.Errorf("broker property %s is not one of the broker's", name)
		}
	}
}
