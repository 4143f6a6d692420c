package broker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"tidemark/coordinator/znode"
)

// presence keeps the broker registered, under a new broker epoch whenever its
// session was lost.
type presence struct {
	client *znode.Client
	// self is what is registered now, but for CleanEpoch.
	self func() znode.Broker
	// cleanEpoch is the registration that the process before this one left cleanly.
	cleanEpoch int64
	// changed is called after each registration but the first.
	changed func()
	logger  *slog.Logger
	epoch   atomic.Int64 // of the last registration; −1 before the first
	// stands: that registration is of the present session, as far as is known.
	stands atomic.Bool
	work   sync.WaitGroup

	mu     sync.Mutex // guards what follows
	ctx    context.Context
	cancel context.CancelFunc // nil before start
}

func newPresence(client *znode.Client, self func() znode.Broker, logger *slog.Logger) *presence {
	p := &presence{client: client, self: self, logger: logger}
	p.epoch.Store(-1)
	return p
}

// brokerEpoch is the czxid of the last registration; −1 before the first.
func (p *presence) brokerEpoch() int64 { return p.epoch.Load() }

// inForce is the czxid of the registration that stands; −1 without one.
func (p *presence) inForce() int64 {
	if !p.stands.Load() {
		return -1
	}
	return p.epoch.Load()
}

// start registers and keeps at it until stop.
func (p *presence) start(ctx context.Context) error {
	epoch, err := p.client.RegisterBroker(ctx, p.registration())
	if err != nil {
		return err
	}
	p.epoch.Store(epoch)
	p.stands.Store(true)
	p.mu.Lock()
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.mu.Unlock()
	p.client.KeepRegistered(p.ctx, p.registration, p.again)
	return nil
}

// offline tells the controller that a log directory or a replica went offline, for as
// long as that takes. Before the first registration nobody thinks that its replicas serve.
func (p *presence) offline(id int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel == nil || p.ctx.Err() != nil {
		return
	}
	p.work.Go(func() {
		if err := p.client.AnnounceLogDirFailure(p.ctx, id); err != nil && p.ctx.Err() == nil {
			p.logger.Error("the controller was not told of a failed log directory", "error", err)
		}
	})
}

// registration is what to register. It says of which earlier one nothing was lost: a
// process that goes on has everything that it had under the one before (KIP-966).
func (p *presence) registration() znode.Broker {
	p.stands.Store(false)
	b := p.self()
	if b.CleanEpoch = p.epoch.Load(); b.CleanEpoch < 0 {
		b.CleanEpoch = p.cleanEpoch
	}
	return b
}

// again takes note of a later registration.
func (p *presence) again(epoch int64, err error) {
	switch {
	case err == nil:
		p.epoch.Store(epoch)
		p.stands.Store(true)
		p.logger.Warn("registered again after the session was lost", "broker_epoch", epoch)
		p.changed()
	case errors.Is(err, znode.ErrBrokerIDInUse):
		p.logger.Error("another broker took this broker's id", "error", err)
	default:
		p.logger.Error("registration failed", "error", err)
	}
}

// stop ends the registration, so that nobody waits for the session to expire.
func (p *presence) stop(ctx context.Context, id int32) error {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.work.Wait()
	return wrap("unregister", p.client.UnregisterBroker(ctx, id))
}
