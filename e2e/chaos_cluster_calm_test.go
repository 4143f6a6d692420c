package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"tidemark/bench/chaos"
	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// What follows is done to a cluster on purpose, by those who run it, or happens to its
// metadata store.

// cautious are cells of every strategy, and one that waits for the leader alone.
func cautious() []chaos.Cell {
	return append(moderate(), chaos.Cell{Name: "acks1", Strategy: "isr", Acks: "1", PerSecond: 2000},
		chaos.Cell{Name: "async", Strategy: "async", Acks: "all", PerSecond: 2000, Plain: true})
}

// inSync waits until a cell of isr and one of sync have all replicas.
func inSync(t *testing.T, trial *chaos.Trial) {
	t.Helper()
	must(t, trial.AwaitInSync(t.Context(), 0, 3))
	must(t, trial.AwaitInSync(t.Context(), 1, 3))
}

// TestChaosClusterRollingRestart shuts brokers down under load, one after the other,
// and starts them again (R31): leadership moves first, so that nothing is lost whatever
// an acknowledgement waits for, and nothing is there twice.
func TestChaosClusterRollingRestart(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, cautious()...)
	for i := range 5 {
		more(t, trial, 0, 500)
		must(t, r.Restart(t.Context(), int32(1+i%3)))
		inSync(t, trial)
	}
	judge(t, settled(t, trial), keeps, keeps, keeps, keeps, keeps)
}

// TestChaosClusterChasedLeader kills whoever leads, again and again (R31).
func TestChaosClusterChasedLeader(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, moderate()...)
	for range often(2, 5) {
		leader, epoch := trial.Leader(0)
		must(t, r.Kill(leader))
		newLeader(t, trial, 0, epoch)
		more(t, trial, 0, 500)
		must(t, r.Restart(t.Context(), leader))
		inSync(t, trial)
	}
	judge(t, settled(t, trial), keeps, keeps, keeps)
}

// TestChaosClusterPreferredLeaders has the preferred leader moved from broker to broker
// under load (R35).
func TestChaosClusterPreferredLeaders(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, moderate()...)
	client, err := r.Client()
	must(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	for i := range 6 {
		first := int32(1 + (i+1)%3)
		for _, cell := range []int{0, 1} {
			var to kadm.AlterPartitionAssignmentsReq
			to.Assign(trial.Topic(cell), 0, append([]int32{first}, r.Others(first)...))
			answer, err := admin.AlterPartitionAssignments(t.Context(), to)
			must(t, err)
			must(t, answer.Error())
			_, epoch := trial.Leader(cell)
			must(t, trial.Await(t.Context(), "the preferred leader leads", patience, func() bool {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_, _ = admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, kadm.TopicsSet{trial.Topic(cell): {0: {}}}) // what counts is who leads
				leader, now := trial.Leader(cell)
				return leader == first && now > epoch
			}))
		}
		more(t, trial, 0, 500)
	}
	judge(t, settled(t, trial), keeps, keeps, keeps)
}

// TestChaosClusterStoreAway takes the metadata store from all brokers (C09, C18): for
// less than a session, and nobody is elected; then until every session has ended, for a
// minute where asked for, and afterwards there is one controller, and nothing that was
// acknowledged is gone.
func TestChaosClusterStoreAway(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, moderate()...)
	away := func(so time.Duration) {
		for id := int32(1); id <= 3; id++ {
			must(t, r.Cut(t.Context(), proxy.Broker(id), proxy.Store, false, 0))
		}
		time.Sleep(so)
		must(t, r.Heal(t.Context()))
	}
	var before []int32
	for cell := range moderate() {
		_, epoch := trial.Leader(cell)
		before = append(before, epoch)
	}
	away(time.Second)
	more(t, trial, 0, 4000)
	for cell, epoch := range before {
		if _, now := trial.Leader(cell); now != epoch {
			t.Errorf("cell %d has leader epoch %d after %d, and no session has ended", cell, now, epoch)
		}
	}
	away(time.Duration(often(2, 15)) * chaosSession)
	more(t, trial, 0, 1000)
	office, err := r.Controller(t.Context())
	must(t, err)
	must(t, trial.Await(t.Context(), "all know the same controller", patience, func() bool {
		for id := int32(1); id <= 3; id++ {
			if known, err := r.ControllerOf(t.Context(), id); err != nil || known != office {
				office, _ = r.Controller(t.Context())
				return false
			}
		}
		return true
	}))
	judge(t, settled(t, trial), keeps, keeps, keeps)
}
