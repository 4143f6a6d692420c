package sim

import (
	"context"
	"testing"

	"tidemark/replication"
	"tidemark/replication/catalog"
)

func find(t testing.TB, name string) replication.Spec {
	t.Helper()
	spec, err := catalog.Builtin().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// TestRows plays the rows that must lose acknowledged records under some settings
// and must not under others. A row that should lose and does not did not bite;
// one that should keep and loses is a bug.
func TestRows(t *testing.T) {
	seeds := scaled(40)
	for name, c := range map[string]struct {
		strategy string
		scenario Scenario
		loses    bool
	}{
		"R01 async":            {"async", Scenario{Row: "R01", Acks: "all"}, true},
		"R01 isr acks=1":       {"isr", Scenario{Row: "R01", Acks: "1"}, true},
		"R10 m=2":              {"isr", Scenario{Row: "R10", Acks: "all", MinISR: 2}, false},
		"R10 unclean":          {"isr", Scenario{Row: "R10", Acks: "all", MinISR: 1, ELR: "off", UncleanElection: true}, true},
		"R11 clean":            {"isr", Scenario{Row: "R10", Acks: "all", MinISR: 1, ELR: "off"}, false},
		"R12 without ELR":      {"isr", Scenario{Row: "R12", Acks: "all", MinISR: 2, ELR: "off", Flush: "os"}, true},
		"R12 with ELR":         {"isr", Scenario{Row: "R12", Acks: "all", MinISR: 2, ELR: "on", ISRUpdate: "controller", Flush: "os"}, false},
		"R12 synced":           {"isr", Scenario{Row: "R12", Acks: "all", MinISR: 2, ELR: "off", Flush: "batch"}, false},
		"R13 m=1":              {"isr", Scenario{Row: "R13", Acks: "all", MinISR: 1, ELR: "off", Flush: "os"}, true},
		"R13 m=2":              {"isr", Scenario{Row: "R13", Acks: "all", MinISR: 2, ELR: "on", ISRUpdate: "controller", Flush: "os"}, false},
		"R27 quorum in memory": {"quorum", Scenario{Row: "R27", Acks: "all", MinISR: 1, Flush: "os"}, true},
		"R27 quorum synced":    {"quorum", Scenario{Row: "R27", Acks: "all", MinISR: 1, Flush: "batch"}, false},
		"R29 isr in memory":    {"isr", Scenario{Row: "R29", Acks: "all", Flush: "os"}, false},
		"R29 sync in memory":   {"sync", Scenario{Row: "R29", Acks: "all", Flush: "os"}, false},
		"R29 quorum in memory": {"quorum", Scenario{Row: "R29", Acks: "all", Flush: "os"}, false},
		"R30 async":            {"async", Scenario{Row: "R30", Acks: "all", Flush: "os"}, true},
		"R30 isr in memory":    {"isr", Scenario{Row: "R30", Acks: "all", Flush: "os"}, true},
		"R30 sync in memory":   {"sync", Scenario{Row: "R30", Acks: "all", Flush: "os"}, true},
		"R30 quorum in memory": {"quorum", Scenario{Row: "R30", Acks: "all", Flush: "os"}, true},
		"R30 isr synced":       {"isr", Scenario{Row: "R30", Acks: "all", Flush: "batch"}, false},
		"R30 sync synced":      {"sync", Scenario{Row: "R30", Acks: "all", Flush: "batch"}, false},
		"R30 quorum synced":    {"quorum", Scenario{Row: "R30", Acks: "all", Flush: "batch"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.scenario.Spec = find(t, c.strategy)
			total := Many{Scenario: c.scenario, From: 1, Seeds: seeds}.Run(context.Background())
			for _, v := range total.Violations {
				t.Errorf("seed %d: %v", v.Seed, v.Violation)
			}
			lost, losing := total.Lost, total.Losing
			if c.scenario.Acks == "1" {
				lost, losing = total.LostLeader, total.LosingLeader
			}
			t.Logf("%d of %d seeds lost %d of %d acknowledged records", losing, seeds, lost, total.Acked)
			switch {
			case total.Acked == 0:
				t.Error("nothing was acknowledged: the row shows nothing")
			case c.loses && lost == 0:
				t.Error("nothing was lost: the faults did not bite")
			case !c.loses && lost > 0:
				t.Errorf("%d acknowledged records were lost in %d seeds", lost, losing)
			}
		})
	}
}

// TestUnsafeLoses: faults beyond the promise lose acknowledged records, and the
// checker takes none of it for a bug of the strategy.
func TestUnsafeLoses(t *testing.T) {
	specs := catalog.Builtin().Specs()
	if scaled(120) < 120 {
		specs = specs[:1] // the race detector has one goroutine a world to look at
	}
	for _, spec := range specs {
		for _, flush := range []string{"os", "batch"} {
			s := Scenario{Spec: spec, Flush: flush, ELR: "off", MinISR: 1, Unsafe: true, UncleanElection: true}
			total := Many{Scenario: s, From: 1, Seeds: 120}.Run(context.Background())
			t.Logf("%s, flush=%s: %d of %d seeds lost %d of %d records", spec.Name, flush, total.Losing, total.Seeds, total.Lost, total.Acked)
			if total.Losing == 0 {
				t.Errorf("%s, flush=%s: nothing was lost: the faults do not bite", spec.Name, flush)
			}
			for _, v := range total.Violations {
				t.Errorf("%s seed %d: %v", spec.Name, v.Seed, v.Violation)
			}
		}
	}
}
