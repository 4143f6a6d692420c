package broker

import (
	"context"
	"errors"
	"log/slog"
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
	epoch   atomic.Int64 // of the registration in force; −1 before the first
	cancel  context.CancelFunc
}

// brokerEpoch is the czxid of the registration; −1 without one. A nil presence
// has none.
func (p *presence) brokerEpoch() int64 {
	if p == nil {
		return -1
	}
	return p.epoch.Load()
}

// start registers and keeps at it until stop.
func (p *presence) start(ctx context.Context) error {
	p.epoch.Store(-1)
	epoch, err := p.client.RegisterBroker(ctx, p.registration())
	if err != nil {
		return err
	}
	p.epoch.Store(epoch)
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.client.KeepRegistered(ctx, p.registration, p.again)
	return nil
}

// registration is what to register. It says of which earlier one nothing was lost: a
// process that goes on has everything that it had under the one before (KIP-966).
func (p *presence) registration() znode.Broker {
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
	p.cancel()
	return wrap("unregister", p.client.UnregisterBroker(ctx, id))
}
