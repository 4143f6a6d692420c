package quorum

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/replication"
	"tidemark/replication/internal/vote"
)

func TestElections(t *testing.T) {
	for _, c := range []struct{ name, candidates, want string }{
		{"the first leader: all are asked", "new 1 2 3!", "leader - isr - fence 1 2"},
		{"the first leader: a majority answered", "new 1 2:-1/0 3:-1/0", "leader 2 isr 2 3"},
		{"the leader lives", "1 2 3! isr 1 2 3 leader 1", "leader 1 isr 1 2 3"},
		{"a majority is asked", "1! 2 3 isr 1 2 3 leader 1", "leader - isr 1 2 3 fence 2 3"},
		{"one answer is none", "1! 2:1/9 3 isr 1 2 3", "leader - isr 1 2 3 fence 3"},
		{"the longest log of a majority", "1! 2:1/4 3:1/7 isr 1 2 3", "leader 3 isr 1 2 3"},
		{"the last epoch comes first", "1:1/9 2:3/4 3:2/7 isr 1 2 3", "leader 2 isr 1 2 3"},
		{"a silent minority is not waited for", "1 2:1/4 3:1/7 isr 1 2 3", "leader 3 isr 1 2 3"},
		{"another directory does not vote", "1! 2:1/4 3:9/90@7 isr 1 2 3", "leader - isr 1 2 3"},
		{"nor one that was never recorded", "1! 2:1/4 3:1/7 isr 1 2", "leader - isr 1 2"},
		{"a bounced voter votes by what it has", "1~:1/4 2~:1/6 3~:1/5 isr 1 2 3 leader 1", "leader 2 isr 1 2 3"},
		{"two of five", "1! 2! 3! 4:1/1 5:1/2 isr 1 2 3 4 5", "leader - isr 1 2 3 4 5"},
	} {
		if diff := cmp.Diff(c.want, vote.Outcome(Elect(vote.Candidates(c.candidates), replication.Config{MinISR: 1}))); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.name, c.candidates, diff)
		}
	}
}
