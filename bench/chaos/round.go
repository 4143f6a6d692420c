package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// Role says which broker a fault hits.
type Role string

// The roles, of the first cell.
const (
	Leader     Role = "leader"
	Follower   Role = "follower"
	Controller Role = "controller"
)

// Kind is a fault that a round can have.
type Kind struct {
	// Do is what is done, for people.
	Do   string
	Role Role
	// Ends says that the victim's session with the metadata store ends, so that
	// another leads what it led.
	Ends bool
	do   func(ctx context.Context, r *Rig, victim int32) error
}

func (k Kind) String() string { return k.Do + " " + string(k.Role) }

// Kinds are all faults of rounds.
func Kinds() []Kind {
	kill := func(_ context.Context, r *Rig, b int32) error { return r.Kill(b) }
	bounce := func(ctx context.Context, r *Rig, b int32) error {
		if err := r.Kill(b); err != nil {
			return err
		}
		return r.Restart(ctx, b)
	}
	pause := func(_ context.Context, r *Rig, b int32) error { return r.Pause(b) }
	store := func(ctx context.Context, r *Rig, b int32) error {
		return r.Cut(ctx, proxy.Broker(b), proxy.Store, false, 0)
	}
	client := func(ctx context.Context, r *Rig, b int32) error {
		return r.Cut(ctx, proxy.Broker(b), proxy.Client, false, 0)
	}
	peers := func(ctx context.Context, r *Rig, b int32) error { return r.isolate(ctx, b, true, true, false) }
	alone := func(ctx context.Context, r *Rig, b int32) error { return r.isolate(ctx, b, true, true, true) }
	mute := func(ctx context.Context, r *Rig, b int32) error { return r.isolate(ctx, b, true, false, false) }
	deaf := func(ctx context.Context, r *Rig, b int32) error { return r.isolate(ctx, b, false, true, false) }
	return []Kind{
		{"kill -9 the", Leader, true, kill},
		{"kill -9 the", Follower, true, kill},
		{"kill -9 the", Controller, true, kill},
		{"pause the", Leader, true, pause},
		{"pause the", Follower, true, pause},
		{"cut from the other brokers the", Leader, false, peers},
		{"cut from clients the", Leader, false, client},
		{"cut from ZooKeeper the", Leader, true, store},
		{"cut from the other brokers the", Follower, false, peers},
		{"cut from brokers and ZooKeeper the", Leader, true, alone},
		{"kill -9 and restart at once the", Leader, true, bounce},
		{"pause the", Controller, true, pause},
		{"cut from ZooKeeper the", Follower, true, store},
		{"cut from ZooKeeper the", Controller, true, store},
		{"hold what is sent to brokers by the", Leader, false, mute},
		{"hold what brokers send to the", Leader, false, deaf},
		{"cut from brokers and ZooKeeper the", Follower, true, alone},
		{"cut from brokers and ZooKeeper the", Controller, true, alone},
	}
}

// PowerCuts are faults of a cluster that keeps a record of what is durable. What a cut
// leaves goes by the number of the trial.
func PowerCuts() []Kind {
	cut := func(ctx context.Context, r *Rig, b int32) error {
		return r.CutPower(ctx, b, uint64(r.trials), []string{"sector", "page"}[r.trials%2])
	}
	return []Kind{
		{"cut the power of the", Leader, true, cut},
		{"cut the power of the", Follower, true, cut},
		{"cut the power of the", Controller, true, cut},
	}
}

// isolate holds what a broker sends to the others, what they send to it, and, where
// asked for, both ways between it and the store.
func (r *Rig) isolate(ctx context.Context, b int32, out, in, store bool) error {
	var flows []proxy.Flow
	names := []proxy.Name{}
	for _, other := range r.Others(b) {
		names = append(names, proxy.Broker(other))
	}
	if store {
		names = append(names, proxy.Store)
	}
	for _, other := range names {
		flow := proxy.Flow{From: proxy.Broker(b), To: other}
		if out {
			flows = append(flows, flow)
		}
		if in {
			flows = append(flows, flow.Back())
		}
	}
	return r.Rule(ctx, proxy.Rule{Mode: proxy.Hang}, 0, flows...)
}

// Fault is one that was done.
type Fault struct {
	Kind   string
	Broker int32
	// Start and End are when it held.
	Start, End time.Time
	// Logged is the line of the cluster's log that says so.
	Logged cluster.Action
	// AckedBefore is how many records of the first cell were acknowledged in the
	// second before it.
	AckedBefore int64
	// Elected says, for each cell that had to get another leader, how long it took.
	Elected []time.Duration
	// Moved says of each cell whether somebody led it in a later epoch.
	Moved []bool
}

// LeastAcked is how many records of the first cell must have been acknowledged in the
// second before a fault, for the fault to count.
const LeastAcked = 1000

// Do does one fault to a loaded cluster where every replica is in sync, holds it past a
// session, and ends it. It is an error where a cell whose leader is gone has no other
// within three sessions.
func (t *Trial) Do(ctx context.Context, k Kind, random *rand.Rand) (f Fault, err error) {
	f = Fault{Kind: k.String(), Moved: make([]bool, len(t.cells))}
	for i := range t.cells { // one that lags could not lead
		if err := t.AwaitInSync(ctx, i, len(t.rig.brokers)); err != nil {
			return f, err
		}
	}
	if f.Broker, err = t.victim(ctx, k.Role, random); err != nil {
		return f, err
	}
	epochs, led := make([]int32, len(t.cells)), make([]int32, len(t.cells))
	if f.AckedBefore, err = t.steady(ctx); err != nil {
		return f, err
	}
	for i := range t.cells {
		led[i], epochs[i] = t.Leader(i)
	}
	f.Start = time.Now()
	if err := k.do(ctx, t.rig, f.Broker); err != nil {
		return f, err
	}
	if f.Logged, err = t.rig.loggedSince(f.Start); err != nil {
		return f, err
	}
	session := t.rig.options.Session
	for i := range t.cells {
		if !k.Ends || led[i] != f.Broker {
			continue
		}
		_, at, err := t.AwaitEpoch(ctx, i, epochs[i], time.Until(f.Start.Add(3*session)))
		if err != nil {
			return f, fmt.Errorf("%s (broker %d): %w", k, f.Broker, err)
		}
		f.Elected = append(f.Elected, at.Sub(f.Start))
	}
	hold := session + session/4 + time.Duration(random.Int64N(int64(session/4)))
	if !wait(ctx, time.Until(f.Start.Add(hold))) {
		return f, ctx.Err()
	}
	err = t.rig.Mend(ctx)
	f.End = time.Now()
	for i := range t.cells {
		_, now := t.Leader(i)
		f.Moved[i] = now > epochs[i]
	}
	return f, err
}

// loggedSince is the first thing done to the cluster from a time on: a fault that was
// not logged does not count.
func (r *Rig) loggedSince(start time.Time) (cluster.Action, error) {
	all, err := r.Actions()
	if err != nil {
		return cluster.Action{}, err
	}
	i := slices.IndexFunc(all, func(a cluster.Action) bool { return !a.Time.Before(start) })
	if i < 0 {
		return cluster.Action{}, errors.New("the fault is not in the cluster's log")
	}
	return all[i], nil
}

func (t *Trial) victim(ctx context.Context, role Role, random *rand.Rand) (int32, error) {
	leader, _ := t.Leader(0)
	switch role {
	case Controller:
		ctx, cancel := context.WithTimeout(ctx, servesWithin)
		defer cancel()
		return t.rig.Controller(ctx)
	case Follower:
		others := t.rig.Others(leader)
		return others[random.IntN(len(others))], nil
	}
	return leader, nil
}

// steady waits for a second in which enough is acknowledged.
func (t *Trial) steady(ctx context.Context) (acked int64, err error) {
	for deadline := time.Now().Add(servesWithin); ; {
		before := t.Acked(0)
		if !wait(ctx, time.Second) {
			return 0, ctx.Err()
		}
		if acked = t.Acked(0) - before; acked >= LeastAcked {
			return acked, nil
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("%s: %d records acknowledged within a second before the fault, want %d; %v", t.cells[0].topic, acked, LeastAcked, t.cells[0].said())
		}
	}
}
