package allsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/replication"
	"tidemark/replication/internal/vote"
)

func TestElections(t *testing.T) {
	for _, c := range []struct {
		name       string
		candidates string
		min        int
		want       string
	}{
		{"the first leader", "new 1 2 3", 3, "leader 1 isr 1 2 3"},
		{"any live member", "1! 2 3 isr 1 2 3", 3, "leader 2 isr 2 3 elr 1"},
		{"who leads stays", "1 2 3! isr 1 2 3 leader 2", 3, "leader 2 isr 1 2 elr 3"},
		{"with m=1 the smaller set is a full one", "1! 2 3! isr 1 2 3", 1, "leader 2 isr 2"},
		{"a flicker takes nobody out", "1+ 2 3 isr 1 2 3 leader 1", 3, "leader 1 isr 1 2 3"},
		{"a bounced member is taken out", "1~ 2 3 isr 1 2 3 leader 1", 3, "leader 2 isr 2 3 elr 1"},
		{"the last member is never taken out", "1! 2! 3! isr 3 elr 1 2", 3, "leader - isr 3 elr 1 2"},
		{"the last bounced: one of the last full set", "1! 2 3~ isr 3 elr 1 2", 3, "leader 2 isr 2 elr 3 1"},
		{"all bounced, one still away", "1! 2~ 3~ isr 3 elr 1 2", 3, "leader - isr 3 elr 1 2"},
		{"all bounced: all are asked", "1~:1/4 2~ 3~ isr 3 elr 1 2", 3, "leader - isr 3 elr 1 2 fence 2 3"},
		{"all bounced: the longest log", "1~:1/4 2~:1/6 3~:1/6 isr 3 elr 1 2", 3, "leader 2 isr 2 elr 3 1 unclean"},
		{"all three at once", "1~:1/4 2~:2/1 3~:1/6 isr 1 2 3", 3, "leader 2 isr 2 elr 1 3 unclean"},
		{"a replica outside is no use", "1! 2! 3 isr 1 2", 2, "leader - isr 1 2"},
	} {
		got := vote.Outcome(Elect(vote.Candidates(c.candidates), replication.Config{MinISR: c.min}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, c.candidates, diff)
		}
	}
}
