package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClusterSettings: a cluster's settings arrive with their types, and what does
// not fit together is refused by name.
func TestClusterSettings(t *testing.T) {
	s := parse(t, head+"    workload: {brokers: 3, replication.factor: 3, mesh: true, follower.rate: 10% of other}\n  - name: other\n")
	c := s.Experiments[0].Cells()[0]
	if c.Load.Brokers != 3 || c.Load.Replicas != 3 || !c.Load.Mesh || c.Load.FollowerRate != (Rate{Percent: 10, Of: "other"}) {
		t.Errorf("the load is %+v", c.Load)
	}
	if !s.Experiments[0].Dependent() || s.Experiments[1].Dependent() {
		t.Error("the experiment with a follower's rate of another's depends on it, and that on nobody")
	}
	for workload, want := range map[string]string{
		"replication.factor: 3":                                 "replication.factor 3 is more than brokers 1",
		"mesh: true":                                            "mesh needs two brokers",
		"brokers: 3, target: memory":                            "target memory is not started as a cluster",
		"brokers: 3, mesh: true, follower.rate: 5k/s":           "needs a follower",
		"brokers: 3, replication.factor: 3, follower.rate: 1/s": "needs mesh: true",
		"brokers: 0":                                            "not a number from 1 to 100",
		"brokers: 2, replication.factor: 2, mesh: true, follower.rate: 9% of nosuch": "unknown experiment \"nosuch\"",
	} {
		_, err := Parse([]byte(head + "    workload: {" + workload + "}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to say %q", workload, err, want)
		}
	}
}

// TestLaterSettingsKeepIDs: a cell's id is that from before there were clusters.
func TestLaterSettingsKeepIDs(t *testing.T) {
	config := map[string]string{}
	for _, s := range Settings {
		config[s.Name] = s.Default
	}
	all := cellID("e", config)
	for _, name := range later {
		delete(config, name)
	}
	if diff := cmp.Diff(cellID("e", config), all); diff != "" {
		t.Errorf("defaults of later settings change the id (-without +with):\n%s", diff)
	}
	config["brokers"] = "3"
	if cellID("e", config) == all {
		t.Error("three brokers have the id of one")
	}
}
