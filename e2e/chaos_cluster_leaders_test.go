package e2e

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"tidemark/bench/chaos"
	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// What follows asks how soon another leads where more than one thing goes wrong.

// ledWithin waits until a broker leads a cell in a later epoch than one, and fails where
// that takes longer than three sessions from since on.
func ledWithin(t *testing.T, trial *chaos.Trial, cell int, broker, above int32, since time.Time) time.Duration {
	t.Helper()
	what := fmt.Sprintf("broker %d leads cell %d in an epoch above %d", broker, cell, above)
	must(t, trial.Await(t.Context(), what, time.Until(since.Add(3*chaosSession)), func() bool {
		leader, epoch := trial.Leader(cell)
		return leader == broker && epoch > above
	}))
	return time.Since(since).Round(time.Millisecond)
}

// epochsOf are the leader epochs of the first cells.
func epochsOf(trial *chaos.Trial, cells int) (epochs []int32) {
	for cell := range cells {
		_, epoch := trial.Leader(cell)
		epochs = append(epochs, epoch)
	}
	return epochs
}

// TestChaosClusterControllerLeads kills a broker that is both controller and leader while
// another has lost ZooKeeper (C01, C03): the third takes the office and leads, and what
// was acknowledged is there.
func TestChaosClusterControllerLeads(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	for range often(1, 5) {
		first, err := r.Controller(t.Context())
		must(t, err)
		trial := begin(t, r, first, moderate()...)
		cut, last := r.Others(first)[0], r.Others(first)[1]
		more(t, trial, 0, 1000)
		epochs := epochsOf(trial, len(moderate()))
		since := time.Now()
		must(t, r.Kill(first))
		must(t, r.Cut(t.Context(), proxy.Broker(cut), proxy.Store, false, 0))
		const quorum = 2 // two of three have no session: nobody may lead
		for cell := range quorum {
			t.Logf("%s: broker %d leads after %v", trial.Topic(cell), last, ledWithin(t, trial, cell, last, epochs[cell], since))
		}
		judge(t, settled(t, trial), keeps, keeps, keeps)
	}
}

// TestChaosClusterStoreStandsStill kills a leader while the metadata store stands still
// again and again, each time for more than two ticks and less than a session: that time
// counts for nobody, and the dead one's session ends all the same.
func TestChaosClusterStoreStandsStill(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, moderate()...)
	more(t, trial, 0, 1000)
	_, epoch := trial.Leader(0)
	s, err := r.State()
	must(t, err)
	since := time.Now()
	must(t, r.Kill(1))
	done := make(chan struct{})
	defer func() { <-done }()
	go func() {
		defer close(done)
		for time.Since(since) < 3*chaosSession-time.Second {
			time.Sleep(chaosSession / 2)
			if _, now := trial.Leader(0); now > epoch {
				return
			}
			for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT} {
				if _, err := s.Store.ID.Signal(signal); err != nil {
					t.Error(err)
				}
				time.Sleep(1100 * time.Millisecond)
			}
		}
	}()
	_, at, err := trial.AwaitEpoch(t.Context(), 0, epoch, 3*chaosSession)
	must(t, err)
	t.Logf("another leads after %v", at.Sub(since).Round(time.Millisecond))
	<-done
	judge(t, settled(t, trial), keeps, keeps, keeps)
}
