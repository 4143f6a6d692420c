package async

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/replication"
	"tidemark/replication/internal/vote"
)

func TestElections(t *testing.T) {
	for _, c := range []struct{ name, candidates, want string }{
		{"the first leader", "new 1 2 3", "leader 1 isr 1 2 3"},
		{"the leader lives", "1 2 3! isr 1 2 3 leader 2", "leader 2 isr 1 2"},
		{"all live replicas are asked", "1! 2 3:1/4 isr 1 2 3", "leader - isr 1 2 3 fence 2"},
		{"the longest log", "1! 2:1/4 3:1/7 isr 1", "leader 3 isr 3 unclean"},
		{"the last epoch comes first", "1! 2:2/4 3:1/7 isr 1", "leader 2 isr 2 unclean"},
		{"the first of equals", "3:1/4 1! 2:1/4 isr 1", "leader 3 isr 3 unclean"},
		{"a bounced leader is asked like the others", "1~:1/9 2:1/4 3:1/7 isr 1 2 3 leader 1", "leader 1 isr 1 unclean"},
		{"nobody lives", "1! 2! isr 1 2", "leader - isr 1 2"},
	} {
		if diff := cmp.Diff(c.want, vote.Outcome(Elect(vote.Candidates(c.candidates), replication.Config{MinISR: 3}))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, c.candidates, diff)
		}
	}
}
