package suites

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/workload"
)

func TestEverySuiteParses(t *testing.T) {
	if diff := cmp.Diff([]string{"durability", "full", "offsets", "quick", "replication", "smoke", "transactions"}, Names()); diff != "" {
		t.Errorf("suites (-want +got):\n%s", diff)
	}
	for _, name := range Names() {
		text, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := workload.Parse(text)
		if err != nil {
			t.Errorf("%s:%v", name, err)
			continue
		}
		if s.Name.Value != name {
			t.Errorf("%s.yaml calls itself %s", name, s.Name.Value)
		}
	}
	if _, err := Read("nosuch"); err == nil {
		t.Error("a suite that is not there was read")
	}
}
