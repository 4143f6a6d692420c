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
	self   znode.Broker
	logger *slog.Logger
	epoch  atomic.Int64 // of the registration in force; -1 before the first
	cancel context.CancelFunc
}

func newPresence(client *znode.Client, self znode.Broker, logger *slog.Logger) *presence {
	p := &presence{client: client, self: self, logger: logger}
	p.epoch.Store(-1)
	return p
}

// brokerEpoch is the czxid of the registration; -1 without one. A nil presence
// has none.
func (p *presence) brokerEpoch() int64 {
	if p == nil {
		return -1
	}
	return p.epoch.Load()
}

// start registers and keeps at it until stop.
func (p *presence) start(ctx context.Context) error {
	epoch, err := p.client.RegisterBroker(ctx, p.self)
	if err != nil {
		return err
	}
	p.epoch.Store(epoch)
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.client.KeepRegistered(ctx, p.self, p.again)
	return nil
}

// again takes note of a later registration.
func (p *presence) again(epoch int64, err error) {
	switch {
	case err == nil:
		p.epoch.Store(epoch)
		p.logger.Warn("registered again after the session was lost", "broker_epoch", epoch)
	case errors.Is(err, znode.ErrBrokerIDInUse):
		p.logger.Error("another broker took this broker's id", "error", err)
	default:
		p.logger.Error("registration failed", "error", err)
	}
}

// stop ends the registration, so that nobody waits for the session to expire.
func (p *presence) stop(ctx context.Context) error {
	p.cancel()
	return wrap("unregister", p.client.UnregisterBroker(ctx, p.self.ID))
}
