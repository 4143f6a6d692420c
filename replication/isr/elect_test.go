package isr

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/replication"
	"tidemark/replication/internal/vote"
)

func TestElections(t *testing.T) {
	elr := replication.Config{MinISR: 2, ELR: true}
	unclean := replication.Config{MinISR: 2, UncleanElection: true}
	for _, c := range []struct {
		name       string
		candidates string
		cfg        replication.Config
		want       string
	}{
		{"the first leader", "new 1 2! 3", replication.Config{}, "leader 1 isr 1 3"},
		{"nobody lives", "new 1! 2!", replication.Config{}, "leader - isr -"},
		{"the order of assignment, not of the ISR", "3 1! 2 isr 1 2 3", replication.Config{}, "leader 3 isr 2 3"},
		{"not by log end", "1! 2:1/5 3:1/9 isr 1 2 3", replication.Config{}, "leader 2 isr 2 3"},
		{"who leads stays", "1 2 3 isr 1 2 3 leader 2", replication.Config{}, "leader 2 isr 1 2 3"},
		{"a live replica outside the ISR is no use", "1! 2 3 isr 1", replication.Config{}, "leader - isr 1"},
		{"a bounced member leaves", "1! 2~ 3 isr 1 2 3", replication.Config{}, "leader 3 isr 3"},
		{"a bounced leader does too", "1~ 2 3 isr 1 2 3 leader 1", replication.Config{}, "leader 2 isr 2 3"},
		{"a flicker is a bounce here", "1+ 2 isr 1 2 leader 1", replication.Config{}, "leader 2 isr 2"},
		{"bounced members go before absent ones", "1! 2~ 3! isr 1 2 3", replication.Config{}, "leader - isr 1 3"},
		{"the last member leads whatever happened to it", "1 2 3~ isr 3", replication.Config{}, "leader 3 isr 3"},
		{"all bounced at once", "1~ 2~ isr 1 2", replication.Config{}, "leader 1 isr 1"},
		{"no ISR at all", "1 2", replication.Config{}, "leader - isr -"},

		{"unclean: any live replica", "1! 2 3 isr 1", unclean, "leader 2 isr 2 unclean"},
		{"unclean: a member if there is one", "1! 2 3 isr 1 3", unclean, "leader 3 isr 3"},
		{"unclean: nobody lives", "1! 2! isr 1", unclean, "leader - isr 1"},

		{"eligible: a member of the ISR first", "1 2 3 isr 3 elr 1 2", elr, "leader 3 isr 3 elr 1 2"},
		{"eligible: the last member is gone", "1 2! 3! isr 3 elr 1 2", elr, "leader 1 isr 1 elr 3 2"},
		{"eligible: the last member bounced", "1! 2 3~ isr 3 elr 1 2", elr, "leader 2 isr 2 elr 3 1"},
		{"eligible: a flicker is none", "1+ 2! 3~ isr 3 elr 1 2", elr, "leader 1 isr 1 elr 3 2"},
		{"eligible: nobody who can be trusted is here", "1! 2~ 3~ isr 3 elr 1 2", elr, "leader - isr - elr 3 1 2"},
		{"eligible: all bounced, all are asked", "1~ 2~ 3~ isr 3 elr 1 2", elr, "leader - isr - elr 3 1 2 fence 1 2 3"},
		{"eligible: all bounced, one is silent", "1~:1/5 2~:1/9 3~ isr 3 elr 1 2", elr, "leader - isr - elr 3 1 2 fence 3"},
		{"eligible: all bounced and answered", "1~:1/5 2~:1/9 3~:1/2 isr 3 elr 1 2", elr, "leader 2 isr 2 elr 3 1 unclean"},
		{"eligible: the last epoch comes first", "1~:2/5 2~:1/9 3~:1/2 isr 3 elr 1 2", elr, "leader 1 isr 1 elr 3 2 unclean"},
		{"eligible: enough in sync", "1! 2 3 isr 1 2 3", elr, "leader 2 isr 2 3"},
		{"eligible and unclean: asking comes first", "1~ 2~ isr 2 elr 1", replication.Config{MinISR: 2, ELR: true, UncleanElection: true}, "leader - isr - elr 2 1 fence 1 2"},
		{"eligible and unclean: who is away is not waited for", "1! 2~ 3 isr 2 elr 1", replication.Config{MinISR: 2, ELR: true, UncleanElection: true}, "leader 2 isr 2 unclean"},
	} {
		if diff := cmp.Diff(c.want, vote.Outcome(Elect(vote.Candidates(c.candidates), c.cfg))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, c.candidates, diff)
		}
	}
}
