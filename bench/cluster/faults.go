package cluster

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"tidemark/bench/fault/proxy"
	"tidemark/bench/process"
)

// change runs do on the state, one process at a time; do saves what it changes.
func (c *Cluster) change(do func(*State) error) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	s, err := c.State()
	if err != nil {
		return err
	}
	return do(s)
}

// signal sends a broker a signal and notes it.
func (c *Cluster) signal(id int32, do string, signal syscall.Signal) error {
	return c.change(func(s *State) error {
		b, err := s.broker(id)
		if err != nil {
			return err
		}
		sent, err := b.ID.Signal(signal)
		if err == nil && !sent {
			if s.down() {
				return ErrDown
			}
			err = fmt.Errorf("broker %d is not running; restart it first", id)
		}
		return errors.Join(err, c.noteIf(err == nil, Action{Do: do, Broker: id}))
	})
}

func (c *Cluster) noteIf(done bool, a Action) error {
	if !done {
		return nil
	}
	return c.note(a)
}

// Kill ends a broker at once, as kill -9 does, and waits until it is gone.
func (c *Cluster) Kill(id int32) error {
	if err := c.signal(id, "kill", syscall.SIGKILL); err != nil {
		return err
	}
	return c.awaitGone(id)
}

// Pause stops a broker where it stands (SIGSTOP); its connections stay open.
func (c *Cluster) Pause(id int32) error { return c.signal(id, "pause", syscall.SIGSTOP) }

// Resume lets a paused broker go on.
func (c *Cluster) Resume(id int32) error { return c.signal(id, "resume", syscall.SIGCONT) }

// Stop has a broker shut down and waits until it has.
func (c *Cluster) Stop(id int32) error {
	return c.change(func(s *State) error {
		b, err := s.broker(id)
		if err != nil {
			return err
		}
		if s.down() {
			return ErrDown
		}
		if b.State() == process.Gone {
			return fmt.Errorf("broker %d is not running", id)
		}
		err = c.stopAll([]*Process{b})
		return errors.Join(err, c.noteIf(err == nil, Action{Do: "stop", Broker: id}))
	})
}

// ErrDown says that nothing of a cluster runs that something could be done to.
var ErrDown = errors.New("the cluster is down")

// down says whether neither brokers nor the metadata store of their own run.
func (s *State) down() bool {
	return !s.runs() && s.Store.ID.Pid != 0 && s.Store.State() == process.Gone
}

// canRestart says why no broker can start, where what they need is gone.
func (s *State) canRestart() error {
	for what, p := range map[string]Process{"metadata store": s.Store, "proxy mesh": s.Mesh} {
		switch {
		case p.ID.Pid == 0 || p.State() != process.Gone:
		case !s.runs():
			return ErrDown
		default:
			return fmt.Errorf("the %s is gone; take the cluster down, keeping its data, and start it again", what)
		}
	}
	return nil
}

// Restart starts a broker again and waits until it serves. One that runs is shut
// down first.
func (c *Cluster) Restart(ctx context.Context, id int32) error {
	return c.change(func(s *State) error {
		b, err := s.broker(id)
		if err != nil {
			return err
		}
		if err := s.canRestart(); err != nil {
			return err
		}
		if err := c.stopAll([]*Process{b}); err != nil {
			return err
		}
		err = c.startBrokers(ctx, s, id)
		return errors.Join(err, c.noteIf(err == nil, Action{Do: "restart", Broker: id}))
	})
}

func (c *Cluster) awaitGone(id int32) error {
	s, err := c.State()
	if err != nil {
		return err
	}
	b, err := s.broker(id)
	if err != nil {
		return err
	}
	if !gone(b, time.Now().Add(graceful)) {
		return fmt.Errorf("broker %d does not end", id)
	}
	return nil
}

// gone waits until a process has ended.
func gone(p *Process, deadline time.Time) bool {
	for p.State() != process.Gone {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause) // another's child: there is nothing to wait on
	}
	return true
}

// stopAll has processes shut down, at the same time, and kills those that do not.
func (c *Cluster) stopAll(all []*Process) error {
	var errs []error
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} { // a paused one hears it when it goes on
		for _, p := range all {
			_, err := p.ID.Signal(signal)
			errs = append(errs, err)
		}
	}
	deadline := time.Now().Add(graceful)
	for _, p := range all {
		if !gone(p, deadline) {
			errs = append(errs, c.killAll([]*Process{p}))
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) killAll(all []*Process) error {
	var errs []error
	for _, p := range all {
		_, err := p.ID.Signal(syscall.SIGKILL)
		errs = append(errs, err)
	}
	deadline := time.Now().Add(graceful)
	for _, p := range all {
		if !gone(p, deadline) {
			errs = append(errs, fmt.Errorf("%s (process %d) does not end", p.Dir, p.ID.Pid))
		}
	}
	return errors.Join(errs...)
}

// end ends every process: brokers first, so that they can take their leave.
func (c *Cluster) end(s *State, gently bool) error {
	var brokers []*Process
	for i := range s.Brokers {
		brokers = append(brokers, &s.Brokers[i])
	}
	rest := []*Process{&s.Store, &s.Mesh}
	if !gently {
		return c.killAll(append(brokers, rest...))
	}
	return errors.Join(c.stopAll(brokers), c.stopAll(rest))
}

// ErrNoMesh says that a cluster's links cannot be touched.
var ErrNoMesh = errors.New("the cluster has no proxy mesh; start it with one")

// mesh is where the mesh listens for orders.
func (c *Cluster) mesh() (proxy.Remote, error) {
	s, err := c.State()
	if err != nil {
		return proxy.Remote{}, err
	}
	if !s.Proxy {
		return proxy.Remote{}, ErrNoMesh
	}
	if s.down() {
		return proxy.Remote{}, ErrDown
	}
	if s.Mesh.State() == process.Gone {
		return proxy.Remote{}, errors.New("the proxy mesh is gone; take the cluster down and start it again")
	}
	return proxy.Remote{Address: s.Mesh.Metrics}, nil
}

// Cut severs a and b, or only what a sends to b, for a while or, where lasting is 0,
// until Heal. What is sent meanwhile hangs, as in a network that drops it.
func (c *Cluster) Cut(ctx context.Context, a, b proxy.Name, oneWay bool, lasting time.Duration) error {
	flows := []proxy.Flow{{From: a, To: b}}
	if !oneWay {
		flows = append(flows, proxy.Flow{From: b, To: a})
	}
	return c.Rule(ctx, proxy.Rule{Mode: proxy.Hang}, lasting, flows...)
}

// Rule gives flows a rule.
func (c *Cluster) Rule(ctx context.Context, r proxy.Rule, lasting time.Duration, flows ...proxy.Flow) error {
	do := "link"
	if r.Mode == proxy.Hang {
		do = "cut"
	}
	return c.order(ctx, do, proxy.Order{Flows: flows, Rule: r, Lasting: lasting})
}

// Reset resets the connections between a and b, once.
func (c *Cluster) Reset(ctx context.Context, a, b proxy.Name) error {
	return c.order(ctx, "reset", proxy.Order{Flows: []proxy.Flow{{From: a, To: b}}, Once: true})
}

func (c *Cluster) order(ctx context.Context, do string, o proxy.Order) error {
	m, err := c.mesh()
	if err != nil {
		return err
	}
	if err := m.Order(ctx, o); err != nil {
		return err
	}
	a := Action{Do: do, Rule: o.Rule.String(), Seconds: o.Lasting.Seconds()}
	for _, f := range o.Flows {
		a.Links = append(a.Links, f.String())
	}
	return c.note(a)
}

// Heal makes every link pass.
func (c *Cluster) Heal(ctx context.Context) error {
	m, err := c.mesh()
	if err != nil {
		return err
	}
	if err := m.Heal(ctx); err != nil {
		return err
	}
	return c.note(Action{Do: "heal"})
}

// Links are the rules that hold in the mesh, and all that have held; nothing where
// there is no mesh.
func (c *Cluster) Links(ctx context.Context) (proxy.State, error) {
	m, err := c.mesh()
	if errors.Is(err, ErrNoMesh) {
		return proxy.State{}, nil
	}
	if err != nil {
		return proxy.State{}, err
	}
	return m.State(ctx)
}
