package sim

import (
	"context"
	"flag"
	"testing"

	"tidemark/replication/catalog"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "play this seed only and print its trace")
	onlyFlag  = flag.String("only", "", "")
	tailFlag  = flag.Int("tail", 200, "")
	seedsFlag = flag.Int("seeds", 300, "seeds of each strategy")
)

func TestSeeds(t *testing.T) {
	for _, spec := range catalog.Builtin().Specs() {
		t.Run(spec.Name, func(t *testing.T) {
			bad := 0
			for seed := uint64(1); seed <= uint64(*seedsFlag); seed++ {
				r := Run(context.Background(), seed, Scenario{Spec: spec})
				if r.Violation != nil {
					t.Errorf("seed %d: %v", seed, r.Violation)
					if bad++; bad > 8 {
						return
					}
				}
			}
		})
	}
}

func TestOneSeed(t *testing.T) {
	for _, spec := range catalog.Builtin().Specs() {
		if *onlyFlag != "" && spec.Name != *onlyFlag {
			continue
		}
		tail := NewTail(*tailFlag)
		r := Record(context.Background(), *seedFlag, Scenario{Spec: spec}, tail)
		t.Logf("%s %d events, %d acked, kinds %d, violation %v", r.Options, r.Events, r.Acked, r.Kinds, r.Violation)
		if testing.Verbose() {
			for _, l := range tail.Lines() {
				t.Log(l)
			}
		}
		for i, n := range r.Reach {
			if n > 0 {
				t.Logf("%-50s %d", Reach(i), n)
			}
		}
	}
}
