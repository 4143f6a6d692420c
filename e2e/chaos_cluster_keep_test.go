package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/chaos"
	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// What follows does to brokers what every setting but async must bear.

// moderate are cells of the strategies that keep what they acknowledge.
func moderate() []chaos.Cell {
	return []chaos.Cell{
		{Name: "isr", Strategy: "isr", Acks: "all", PerSecond: 2000},
		{Name: "sync", Strategy: "sync", Acks: "all", PerSecond: 2000},
		{Name: "quorum", Strategy: "quorum", Acks: "all", PerSecond: 2000},
	}
}

// TestChaosClusterZombieLeader pauses a leader with ten thousand requests in its
// sockets, lets another be elected, and has it go on (R28, N01): what it finds in its
// sockets is not acknowledged unless the new leader has it.
func TestChaosClusterZombieLeader(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	cells := append(moderate(), chaos.Cell{Name: "burst", Strategy: "isr", Acks: "all", PerSecond: 200, Plain: true})
	trial := begin(t, r, 1, cells...)
	const burst, producers, requests = 3, 10, 1000
	b, err := trial.NewBurst(t.Context(), burst, producers, requests)
	must(t, err)
	defer b.Close()
	leader, epoch := trial.Leader(burst)
	must(t, r.Pause(leader))
	trial.Send(b, burst, requests)
	for cell := range cells {
		if was, _ := trial.Leader(cell); was == leader {
			newLeader(t, trial, cell, epoch)
		}
	}
	more(t, trial, 0, 1000)
	must(t, r.Resume(leader))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	must(t, b.Flush(ctx))
	judge(t, settled(t, trial), keeps, keeps, keeps, keeps)
}

// TestChaosClusterZombieAlone has a leader that was paused past its session go on where
// it cannot learn of it and nobody else can be asked: consumers who turn to it, and have
// read what it never had, are not told that this is gone.
func TestChaosClusterZombieAlone(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, moderate()...)
	leader, epoch := trial.Leader(0)
	must(t, r.Pause(leader))
	newLeader(t, trial, 0, epoch)
	for cell := range moderate() {
		more(t, trial, cell, 10000)
	}
	must(t, r.Cut(t.Context(), proxy.Broker(leader), proxy.Store, false, 0))
	for _, other := range r.Others(leader) {
		must(t, r.Kill(other))
	}
	must(t, r.Resume(leader))
	time.Sleep(chaosSession) // clients ask it all the time
	judge(t, settled(t, trial), keeps, keeps, keeps)
}

// TestChaosClusterPowerCuts cuts the power of one broker after the other: what another
// member of the ISR has is not lost, nor what a quorum had on stable storage (R18).
func TestChaosClusterPowerCuts(t *testing.T) {
	r := openBeside(t, cluster.Options{Record: true})
	random := rand.New(rand.NewPCG(6, 6))
	for i := range often(1, 15) {
		trial := begin(t, r, int32(1+random.IntN(3)), []chaos.Cell{
			{Name: "isr", Strategy: "isr", Acks: "all", PerSecond: 3000},
			{Name: "sync", Strategy: "sync", Acks: "all", PerSecond: 2000},
			{Name: "quorum-batch", Strategy: "quorum", Acks: "all", PerSecond: 1000, Topic: map[string]string{"storage.flush": "batch"}},
			{Name: "quorum-group", Strategy: "quorum", Acks: "all", PerSecond: 1000, Topic: map[string]string{"storage.flush": "group"}},
		}...)
		fault, err := trial.Do(t.Context(), chaos.PowerCuts()[i%3], random)
		must(t, err)
		t.Logf("%s, broker %d; another leads after %v", fault.Kind, fault.Broker, fault.Elected)
		judge(t, settled(t, trial), keeps, keeps, keeps, keeps)
	}
}

// TestChaosClusterLeaderWithoutZooKeeper cuts a leader from ZooKeeper and nobody else
// (C01): it gives its office up before its session can have ended, so nothing is lost
// that more than it had acknowledged. What it acknowledged alone its followers fetch at
// once, so that only what they had no time to fetch may be missing: without the lease it
// would be all of the time until another leads.
func TestChaosClusterLeaderWithoutZooKeeper(t *testing.T) {
	const perSecond, lastMs = 2000, 500
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 1, append(moderate(), chaos.Cell{Name: "acks1", Strategy: "isr", Acks: "1", PerSecond: perSecond})...)
	fault, err := trial.Do(t.Context(), kindOf(t, "cut from ZooKeeper the leader"), rand.New(rand.NewPCG(3, 3)))
	must(t, err)
	t.Logf("another leads after %v", fault.Elected)
	verdicts := settled(t, trial)
	judge(t, verdicts[:3], keeps, keeps, keeps)
	alone := verdicts[3]
	t.Log(alone)
	must(t, alone.Broken(loses))
	if alone.Lost > perSecond*lastMs/1000 {
		t.Errorf("acks=1 lost %d records, more than were sent in %d ms", alone.Lost, lastMs)
	}
}

// TestChaosClusterOneWayCuts holds what a leader sends to the other brokers, then what
// they send to it (N03).
func TestChaosClusterOneWayCuts(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 2, moderate()...)
	for _, kind := range []string{"hold what is sent to brokers by the leader", "hold what brokers send to the leader"} {
		_, err := trial.Do(t.Context(), kindOf(t, kind), rand.New(rand.NewPCG(4, 4)))
		must(t, err)
		must(t, trial.AwaitInSync(t.Context(), 0, 3))
	}
	judge(t, settled(t, trial), keeps, keeps, keeps)
}

// TestChaosClusterZombieController pauses the controller while it creates topics, until
// another is in office, and has it go on (C02): there is one controller, it is not the
// former one, and every topic that there is has a leader and all its replicas.
func TestChaosClusterZombieController(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	former, err := r.Controller(t.Context())
	must(t, err)
	trial := begin(t, r, r.Others(former)[0], moderate()...)
	s, err := r.State()
	must(t, err)
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers[0].Address, s.Brokers[1].Address, s.Brokers[2].Address), kgo.MetadataMinAge(50*time.Millisecond),
		kgo.RequestTimeoutOverhead(2*time.Second), kgo.RetryTimeout(20*time.Second))
	must(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	var creating sync.WaitGroup
	create := func(name string) {
		creating.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, _ = admin.CreateTopic(ctx, 2, 3, nil, name) // who was asked may be paused
		})
	}
	for i := range 20 {
		create(fmt.Sprintf("before-%d", i))
	}
	time.Sleep(100 * time.Millisecond)
	must(t, r.Pause(former))
	var next int32
	must(t, trial.Await(t.Context(), "another controller", patience, func() bool {
		next, err = r.Controller(t.Context())
		return err == nil && next != former
	}))
	create("after")
	more(t, trial, 0, 1000)
	must(t, r.Resume(former))
	creating.Wait()
	eventually(t, "a topic created after all that is there", func() bool { // who was asked first may have been the former one, until it was too late
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		answer, err := admin.CreateTopic(ctx, 2, 3, nil, "after")
		return errors.Is(errors.Join(err, answer.Err), kerr.TopicAlreadyExists)
	})
	judge(t, settled(t, trial), keeps, keeps, keeps)
	last := "nothing"
	err = trial.Await(t.Context(), "one controller and whole topics", patience, func() bool {
		s, err := r.Status(t.Context())
		if err != nil || s.Whole() != nil {
			last = fmt.Sprint(err, s.Whole())
			return false
		}
		for _, id := range []int32{1, 2, 3} {
			if told, err := r.ControllerOf(t.Context(), id); err != nil || told != next {
				last = fmt.Sprintf("broker %d knows controller %d, want %d; %v", id, told, next, err)
				return false
			}
		}
		last = fmt.Sprint(len(s.Partitions), " partitions are whole")
		return len(s.Partitions) >= 3+2
	})
	if t.Log(last); err != nil {
		t.Fatal(err)
	}
}

// TestChaosClusterSwizzle cuts link after link in any order until none is left, and
// lets go of them in another (N05).
func TestChaosClusterSwizzle(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	trial := begin(t, r, 3, moderate()...)
	random := rand.New(rand.NewPCG(5, 5))
	type link struct{ a, b proxy.Name }
	var links []link
	for id := int32(1); id <= 3; id++ {
		links = append(links, link{proxy.Broker(id), proxy.Store}, link{proxy.Broker(id), proxy.Client}, link{proxy.Broker(id), proxy.Broker(id%3 + 1)})
	}
	shuffle := func() { random.Shuffle(len(links), func(i, k int) { links[i], links[k] = links[k], links[i] }) }
	for range often(1, 50) {
		shuffle()
		for _, l := range links {
			must(t, r.Cut(t.Context(), l.a, l.b, false, 0))
			time.Sleep(time.Duration(100+random.IntN(500)) * time.Millisecond)
		}
		shuffle()
		for _, l := range links {
			must(t, r.Rule(t.Context(), proxy.Rule{}, 0, proxy.Flow{From: l.a, To: l.b}, proxy.Flow{From: l.b, To: l.a}))
			time.Sleep(time.Duration(100+random.IntN(500)) * time.Millisecond)
		}
	}
	judge(t, settled(t, trial), keeps, keeps, keeps)
}

// TestChaosClusterSlowFollower gives one follower a link of 1 Mbit/s (R15, N06): isr drops
// it and goes on, sync waits for it, quorum does not need it; and it comes back. Then its
// links take 200 ms there and back, which nobody is elected for.
func TestChaosClusterSlowFollower(t *testing.T) {
	r := openBeside(t, cluster.Options{})
	cells := moderate()
	for i := range cells {
		cells[i].PerSecond = 5000
	}
	trial := begin(t, r, 1, cells...)
	more(t, trial, 0, 1000)
	const isr, sync, quorum = 0, 1, 2
	for _, from := range []int32{1, 2} {
		must(t, r.Rule(t.Context(), proxy.Rule{BytesPerSecond: 125_000}, 0, proxy.Flow{From: proxy.Broker(from), To: proxy.Broker(3)}))
	}
	must(t, trial.AwaitInSync(t.Context(), isr, 2))
	if in := trial.InSync(isr); slices.Contains(in, 3) {
		t.Errorf("in sync are %v: not the slow one was dropped", in)
	}
	more(t, trial, isr, 1000) // what had piled up
	before := []int64{trial.Acked(isr), trial.Acked(sync), trial.Acked(quorum)}
	begun := time.Now()
	more(t, trial, isr, 10_000)
	time.Sleep(time.Until(begun.Add(time.Second))) // isr may still have had a pile to send, and was done at once
	grown := []int64{trial.Acked(isr) - before[0], trial.Acked(sync) - before[1], trial.Acked(quorum) - before[2]}
	t.Logf("acknowledged meanwhile on isr, sync and quorum: %v", grown)
	if grown[sync] > grown[isr]/2 || grown[quorum] < 1000 {
		t.Errorf("acknowledged meanwhile %v: sync is to wait for the slow one, quorum not", grown)
	}
	must(t, r.Heal(t.Context()))
	must(t, trial.AwaitInSync(t.Context(), isr, 3))
	farAway(t, r, trial, 3)
	judge(t, settled(t, trial), keeps, keeps, keeps)
}

// farAway has what a follower asks take 200 ms until it is answered: everybody goes on, in
// the same epochs, and it is in sync but where the machine is as slow as that.
func farAway(t *testing.T, r *chaos.Rig, trial *chaos.Trial, follower int32) {
	t.Helper()
	epochs := epochsOf(trial, len(moderate()))
	for _, other := range []proxy.Name{proxy.Broker(1), proxy.Broker(2), proxy.Store, proxy.Client} {
		must(t, r.Rule(t.Context(), proxy.Rule{Delay: 100 * time.Millisecond}, 0, proxy.Flow{From: proxy.Broker(follower), To: other}, proxy.Flow{From: other, To: proxy.Broker(follower)}))
	}
	begun, before := time.Now(), trial.Acked(0)
	for time.Since(begun) < 2*chaosSession {
		for cell := range moderate() {
			more(t, trial, cell, 1000)
		}
	}
	must(t, trial.AwaitInSync(t.Context(), 0, 3))
	t.Logf("%.0f records/s on isr with a follower 200 ms away", float64(trial.Acked(0)-before)/time.Since(begun).Seconds())
	for cell, epoch := range epochs {
		if _, now := trial.Leader(cell); now != epoch {
			t.Errorf("cell %d has leader epoch %d after %d: a delay elected somebody", cell, now, epoch)
		}
	}
}
