package scene_test

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/replication/catalog"
	"tidemark/replication/internal/scene"
)

func TestMistakesInAStory(t *testing.T) {
	got := scene.Run(catalog.Builtin(), `show
cluster
cluster isr2
cluster isr colour=red
cluster isr brokers=0
cluster isr brokers=3 min=2
# a remark

dance 1
fetch
fetch 9
fetch 2 often
append 2 a
deliver 2
restart 2
commit
tick
tick often
kill 1
ask 2
kill 2
  an earlier outcome
ask 2
check`)
	want := `show
  error: there is no cluster yet
cluster
  error: which strategy?
cluster isr2
  error: no replication strategy "isr2" (there are: async, sync, isr, quorum); did you mean "isr"?
cluster isr colour=red
  error: no option "colour"
cluster isr brokers=0
  error: 0 brokers
cluster isr brokers=3 min=2
  leader 1, epoch 1, ISR [1 2 3] (the partition is new)
# a remark

dance 1
  error: no such command
fetch
  error: no such command
fetch 9
  error: no broker "9"
fetch 2 often
  error: strconv.Atoi: parsing "often": invalid syntax
append 2 a
  error: NOT_LEADER_OR_FOLLOWER
deliver 2
  error: no answer reaches broker 2
restart 2
  error: broker 2 is up
commit
  error: nothing is proposed
tick
  error: how long?
tick often
  error: time: invalid duration "often"
kill 1
ask 2
  error: broker 1 does not answer
kill 2
ask 2
  error: broker 2 has nothing to fetch
check
  nothing is lost: leader 1 has` + " \n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// random is a story of lines in any order, with nothing worse in it than killed
// and paused processes and lost sessions.
func random(seed uint64) string {
	verbs := strings.Fields(strings.Repeat("append ", 8) + strings.Repeat("fetch ", 24) + strings.Repeat("restart resume return tell ", 3) +
		"ask ask deliver lose kill pause expire")
	rng := rand.New(rand.NewPCG(seed, 0))
	strategy := []string{"isr", "isr elr", "sync", "quorum"}[seed%4]
	story := "cluster " + strategy + " min=2 flush=" + []string{"os", "batch"}[rng.IntN(2)] + "\n"
	for i := range 200 {
		switch rng.IntN(20) {
		case 0, 1:
			story += "elect\n"
		case 2:
			story += "tick 6s\n"
		case 3, 4:
			story += []string{"commit\n", "commit\n", "refuse\n"}[rng.IntN(3)]
		default:
			verb := verbs[rng.IntN(len(verbs))]
			story += verb + " " + strconv.Itoa(1+rng.IntN(3))
			if verb == "append" {
				story += " r" + strconv.Itoa(i)
			}
			story += "\n"
		}
	}
	return story + "elect\ncheck\n"
}

// firstLoss plays random stories until one loses something that was acknowledged
// to acks=all or readable, and counts what was acknowledged until then.
func firstLoss(seeds uint64) (seed uint64, told string, acked int) {
	for seed := uint64(1); seed <= seeds; seed++ {
		told := scene.Run(catalog.Builtin(), random(seed))
		acked += strings.Count(told, " acknowledges ")
		if strings.Contains(told, "LOST") {
			return seed, told, acked
		}
	}
	return 0, "", acked
}

// TestRandomStoriesLoseNothing: no machine panics, and no strategy but async
// loses what it promised while disks live. In three brokers' random lines there
// is an acknowledgement now and then, or the test would prove nothing.
func TestRandomStoriesLoseNothing(t *testing.T) {
	const seeds = 1500
	seed, told, acked := firstLoss(seeds)
	if seed != 0 {
		t.Errorf("seed %d:\n%s", seed, told)
	}
	if acked < seeds {
		t.Errorf("%d records acknowledged in %d stories", acked, seeds)
	}
}
