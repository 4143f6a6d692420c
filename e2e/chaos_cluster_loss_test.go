package e2e

import (
	"fmt"
	"testing"
	"time"

	"tidemark/bench/chaos"
	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
	"tidemark/bench/ledger"
)

// What follows does to brokers what their settings do not cover. A cell that is to
// lose and does not makes the run invalid: the fault did not bite, and the cells that
// kept everything beside it prove nothing.

// Whether a cell loses.
const (
	keeps = false
	loses = true
)

// judge expects each cell to lose something, or nothing.
func judge(t *testing.T, verdicts []chaos.Verdict, expect ...bool) {
	t.Helper()
	for i, v := range verdicts {
		t.Log(v)
		if err := v.Broken(expect[i]); err != nil {
			t.Error(err)
		}
		if expect[i] && v.Lost == 0 {
			t.Errorf("%s lost nothing, and this fault is to cost it something: it came when nothing was at stake", v.Name)
		}
	}
}

// more waits until a cell has had so many further acknowledgements.
func more(t *testing.T, trial *chaos.Trial, cell int, count int64) {
	t.Helper()
	from := trial.Acked(cell)
	must(t, trial.Await(t.Context(), fmt.Sprintf("%d more acknowledgements of cell %d", count, cell), patience,
		func() bool { return trial.Acked(cell) >= from+count }))
}

// newLeader waits until somebody else leads a cell.
func newLeader(t *testing.T, trial *chaos.Trial, cell int, above int32) int32 {
	t.Helper()
	leader, _, err := trial.AwaitEpoch(t.Context(), cell, above, patience)
	must(t, err)
	return leader
}

// slow bounds what a broker sends to each other one.
func slow(t *testing.T, r *chaos.Rig, broker int32, bytesPerSecond int64) {
	t.Helper()
	for _, other := range r.Others(broker) {
		must(t, r.Rule(t.Context(), proxy.Rule{BytesPerSecond: bytesPerSecond}, 0, proxy.Flow{From: proxy.Broker(broker), To: proxy.Broker(other)}))
	}
}

// lagging are cells whose leader is lost while its followers lag: those that are
// acknowledged by the leader alone lose, the others were never told that it is safe.
func lagging() (cells []chaos.Cell, expect []bool) {
	return []chaos.Cell{
		{Name: "isr-acks1", Strategy: "isr", Acks: "1", PerSecond: 50_000},
		{Name: "async", Strategy: "async", Acks: "all", PerSecond: 2000, Plain: true},
		{Name: "isr", Strategy: "isr", Acks: "all", PerSecond: 2000},
		{Name: "sync", Strategy: "sync", Acks: "all", PerSecond: 2000},
		{Name: "quorum", Strategy: "quorum", Acks: "all", PerSecond: 2000},
	}, []bool{loses, loses, keeps, keeps, keeps}
}

// TestChaosClusterLaggingFollowers kills a leader whose followers lag but are in sync,
// and holds it down until another leads (R01). What acks=1 and async lose is exactly
// what was acknowledged at and behind the start of the next epoch, and under isr no
// consumer was ever shown any of it (R33).
func TestChaosClusterLaggingFollowers(t *testing.T) {
	r := openBeside(t, cluster.Options{}, "replica.lag.time.max.ms=30000")
	cells, expect := lagging()
	trial := begin(t, r, 1, cells...)
	time.Sleep(time.Second)
	slow(t, r, 1, 64<<10)
	time.Sleep(5 * time.Second)
	if isr := trial.InSync(0); len(isr) != 3 {
		t.Fatalf("in sync are %v: the lag has cost a follower its place", isr)
	}
	_, epoch := trial.Leader(0)
	must(t, r.Kill(1))
	var books []ledger.View
	for cell := range cells {
		books = append(books, trial.Books(cell))
	}
	newLeader(t, trial, 0, epoch)
	time.Sleep(time.Second)
	verdicts := settled(t, trial)
	judge(t, verdicts, expect...)
	if v := verdicts[0]; v.TakenBack > 0 {
		t.Errorf("%s: %d records that a consumer was shown are gone, the first at offset %d", v.Name, v.TakenBack, v.FirstTaken)
	}
	for cell, v := range verdicts {
		start := v.Log.StartAfter(epoch)
		if behind := chaos.AckedFrom(books[cell], start); expect[cell] && v.Lost != behind {
			t.Errorf("%s: %d lost, and %d acknowledged before the kill from offset %d on, where the next epoch starts", v.Name, v.Lost, behind, start)
		}
	}
}

// TestChaosClusterAllKilled kills all brokers at once, while followers lag (R29). A
// follower starts first, and leads where any replica may; the leader is the second,
// and the other follower the last: where only members of the ISR may lead, and who
// comes back in another life leaves it before others are given up, it is that one.
func TestChaosClusterAllKilled(t *testing.T) {
	r := openBeside(t, cluster.Options{}, "replica.lag.time.max.ms=30000")
	cells, expect := lagging()
	trial := begin(t, r, 1, cells...)
	time.Sleep(time.Second)
	slow(t, r, 1, 64<<10)
	time.Sleep(3 * time.Second)
	_, epoch := trial.Leader(0)
	for _, id := range []int32{1, 2, 3} {
		must(t, r.Kill(id))
	}
	must(t, r.Heal(t.Context()))
	must(t, r.Restart(t.Context(), 3))
	newLeader(t, trial, 1, epoch)
	must(t, r.Restart(t.Context(), 1))
	must(t, r.Restart(t.Context(), 2))
	judge(t, settled(t, trial), expect...)
}

// TestChaosClusterAllLosePower cuts the power of all brokers at once (R30): where
// records are left to the page cache every strategy loses, where they are synced
// before they count the ones that wait for others keep all.
func TestChaosClusterAllLosePower(t *testing.T) {
	r := openBeside(t, cluster.Options{Record: true})
	batch := map[string]string{"storage.flush": "batch"}
	trial := begin(t, r, 1, []chaos.Cell{
		{Name: "isr", Strategy: "isr", Acks: "all", PerSecond: 2000},
		{Name: "sync", Strategy: "sync", Acks: "all", PerSecond: 2000},
		{Name: "quorum", Strategy: "quorum", Acks: "all", PerSecond: 2000},
		{Name: "async", Strategy: "async", Acks: "all", PerSecond: 2000, Plain: true},
		{Name: "isr-batch", Strategy: "isr", Acks: "all", PerSecond: 1000, Topic: batch},
		{Name: "sync-batch", Strategy: "sync", Acks: "all", PerSecond: 1000, Topic: batch},
		{Name: "quorum-batch", Strategy: "quorum", Acks: "all", PerSecond: 1000, Topic: batch},
	}...)
	time.Sleep(2 * time.Second)
	for _, id := range []int32{1, 2, 3} {
		must(t, r.Kill(id))
	}
	for _, id := range []int32{1, 2, 3} {
		must(t, r.CutPower(t.Context(), id, uint64(id), "sector"))
	}
	judge(t, settled(t, trial), loses, loses, loses, loses, keeps, keeps, keeps)
}

// oneInSync are cells whose followers are to be lost.
func oneInSync() []chaos.Cell {
	with := func(minISR, unclean string) map[string]string {
		return map[string]string{"min.insync.replicas": minISR, "unclean.leader.election.enable": unclean}
	}
	// What was acknowledged by all is on stable storage when the last one is
	// alone: else its power cut takes that too, whatever min.insync.replicas is.
	synced := with("2", "false")
	synced["flush.ms"] = "200"
	return []chaos.Cell{
		{Name: "one-unclean", Strategy: "isr", Acks: "all", PerSecond: 2000, Topic: with("1", "true")},
		{Name: "one-unclean-acks1", Strategy: "isr", Acks: "1", PerSecond: 2000, Topic: with("1", "true")},
		{Name: "one-clean", Strategy: "isr", Acks: "all", PerSecond: 2000, Topic: with("1", "false")},
		{Name: "two-clean", Strategy: "isr", Acks: "all", PerSecond: 2000, Topic: synced},
		{Name: "two-unsynced", Strategy: "isr", Acks: "all", PerSecond: 2000, Topic: with("2", "false")},
	}
}

// alone kills the followers of the cells' leader, 1, and has it write alone.
func alone(t *testing.T, r *chaos.Rig, trial *chaos.Trial) {
	t.Helper()
	const synced, unsynced = 3, 4 // the cells of two that must have a record
	more(t, trial, unsynced, 1000)
	must(t, r.Kill(2))
	must(t, r.Kill(3))
	for cell := range oneInSync() {
		must(t, trial.AwaitInSync(t.Context(), cell, 1))
	}
	before := []int64{trial.Acked(synced), trial.Acked(unsynced)}
	more(t, trial, 0, 1000)
	more(t, trial, 2, 1000)
	for i, cell := range []int{synced, unsynced} {
		if after := trial.Acked(cell); after != before[i] {
			t.Errorf("%s: %d records acknowledged by one of two that must have them", trial.Topic(cell), after-before[i])
		}
	}
}

// TestChaosClusterUncleanElection shrinks the ISR to the leader, writes, and kills it
// (R10, R11): with unclean election another leads and what the leader had alone is
// gone, without one nobody leads until it is back, and nothing is.
func TestChaosClusterUncleanElection(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, oneInSync()...)
	alone(t, r, trial)
	_, epoch := trial.Leader(0)
	must(t, r.Kill(1))
	before := trial.Acked(2)
	must(t, r.Restart(t.Context(), 2))
	must(t, r.Restart(t.Context(), 3))
	newLeader(t, trial, 0, epoch)
	more(t, trial, 0, 1000)
	if after := trial.Acked(2); after != before {
		t.Errorf("%d records acknowledged while no member of the ISR was there", after-before)
	}
	judge(t, settled(t, trial), loses, loses, keeps, keeps, keeps)
}

// TestChaosClusterLastInSyncLosesPower shrinks the ISR to the leader, writes, and cuts
// its power (R13): with min.insync.replicas=1 that is lost, with 2 it was refused. What
// all had acknowledged before is lost too where the leader had not synced it, and nobody
// else may lead: eligible leader replicas may.
func TestChaosClusterLastInSyncLosesPower(t *testing.T) {
	for _, c := range []struct {
		eligible string
		unsynced bool
	}{{"false", loses}, {"true", keeps}} {
		t.Run("eligible="+c.eligible, func(t *testing.T) {
			r := openBeside(t, cluster.Options{Record: true}, "eligible.leader.replicas="+c.eligible)
			trial := begin(t, r, 1, oneInSync()...)
			alone(t, r, trial)
			must(t, r.CutPower(t.Context(), 1, 0, "page")) // all that is not synced: a part may end behind what was acknowledged
			must(t, r.Restart(t.Context(), 1))
			judge(t, settled(t, trial), loses, loses, loses, keeps, c.unsynced)
		})
	}
}

// TestChaosClusterLastReplicaStanding isolates two of three one by one, and cuts the
// power of the last one, which then starts first (R12). Without eligible leader
// replicas it leads with less than the two others have.
func TestChaosClusterLastReplicaStanding(t *testing.T) {
	for _, c := range []struct {
		eligible string
		isr      bool
	}{{"false", loses}, {"true", keeps}} {
		t.Run("eligible="+c.eligible, func(t *testing.T) {
			r := openBeside(t, cluster.Options{Record: true}, "eligible.leader.replicas="+c.eligible)
			batch := map[string]string{"storage.flush": "batch"}
			trial := begin(t, r, 1, []chaos.Cell{
				{Name: "isr", Strategy: "isr", Acks: "all", PerSecond: 2000},
				{Name: "isr-batch", Strategy: "isr", Acks: "all", PerSecond: 1000, Topic: batch},
				{Name: "sync-batch", Strategy: "sync", Acks: "all", PerSecond: 1000, Topic: batch},
				{Name: "quorum-batch", Strategy: "quorum", Acks: "all", PerSecond: 1000, Topic: batch},
			}...)
			more(t, trial, 0, 1000)
			last := int32(3)
			for left, victim := range []int32{1, 2} {
				must(t, r.Pause(victim))
				must(t, trial.AwaitInSync(t.Context(), 0, 2-left))
				must(t, trial.AwaitInSync(t.Context(), 1, 2-left))
				if left == 0 { // a truncation by the new leader syncs what it leaves
					more(t, trial, 0, 1000)
				}
			}
			must(t, r.CutPower(t.Context(), last, 3, "sector"))
			must(t, r.Restart(t.Context(), last))
			time.Sleep(time.Second)
			judge(t, settled(t, trial), c.isr, keeps, keeps, keeps)
		})
	}
}

// TestChaosClusterCutOffLeader cuts a leader, which is the controller, from its
// followers until it is alone in sync, then from ZooKeeper too, until another leads
// (N02).
func TestChaosClusterCutOffLeader(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	leader, err := r.Controller(t.Context())
	must(t, err)
	with := func(minISR string) map[string]string {
		return map[string]string{"min.insync.replicas": minISR, "unclean.leader.election.enable": "true"}
	}
	trial := begin(t, r, leader, []chaos.Cell{
		{Name: "one", Strategy: "isr", Acks: "all", PerSecond: 2000, Topic: with("1")},
		{Name: "acks1", Strategy: "isr", Acks: "1", PerSecond: 2000, Topic: with("2")},
		{Name: "async", Strategy: "async", Acks: "all", PerSecond: 2000, Plain: true},
		{Name: "two", Strategy: "isr", Acks: "all", PerSecond: 2000, Topic: with("2")},
		{Name: "quorum", Strategy: "quorum", Acks: "all", PerSecond: 2000},
	}...)
	more(t, trial, 0, 1000)
	for _, other := range r.Others(leader) {
		must(t, r.Cut(t.Context(), proxy.Broker(leader), proxy.Broker(other), false, 0))
	}
	must(t, trial.AwaitInSync(t.Context(), 0, 1))
	must(t, trial.AwaitInSync(t.Context(), 3, 1))
	refused := trial.Acked(3)
	more(t, trial, 0, 1000)
	if after := trial.Acked(3); after != refused {
		t.Errorf("%d records acknowledged by one of two that must have them", after-refused)
	}
	_, epoch := trial.Leader(0)
	must(t, r.Cut(t.Context(), proxy.Broker(leader), proxy.Store, false, 0))
	for cell := range 4 {
		if next := newLeader(t, trial, cell, epoch); next == leader {
			t.Fatalf("broker %d leads again", next)
		}
	}
	judge(t, settled(t, trial), loses, loses, loses, keeps, keeps)
}

// TestChaosClusterQuorumInMemory has a majority acknowledge, cuts the power of one of it
// and pauses the other (R27): the rest elects among themselves. Without syncs the one
// that came back knows nothing of what it had promised to keep.
func TestChaosClusterQuorumInMemory(t *testing.T) {
	r := openBeside(t, cluster.Options{Record: true})
	for _, c := range []struct {
		flush  string
		expect bool
	}{{"os", loses}, {"batch", keeps}} {
		trial := begin(t, r, 1, chaos.Cell{Name: "quorum-" + c.flush, Strategy: "quorum", Acks: "all", PerSecond: 2000, Topic: map[string]string{"storage.flush": c.flush}})
		leader, epoch := trial.Leader(0)
		follower, cut := r.Others(leader)[0], r.Others(leader)[1]
		for _, other := range r.Others(cut) {
			must(t, r.Cut(t.Context(), proxy.Broker(cut), proxy.Broker(other), false, 0))
		}
		more(t, trial, 0, 1000)
		must(t, r.CutPower(t.Context(), follower, 2, "sector"))
		must(t, r.Pause(leader))
		must(t, r.Heal(t.Context()))
		must(t, r.Restart(t.Context(), follower))
		newLeader(t, trial, 0, epoch)
		more(t, trial, 0, 1000)
		judge(t, settled(t, trial), c.expect)
	}
}
