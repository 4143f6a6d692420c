package broker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"

	"tidemark/coordinator/znode"
)

// presence keeps the broker registered: whenever its session is another one, the
// old registration is gone or will be, and a new one is made.
type presence struct {
	client *znode.Client
	self   znode.Broker
	logger *slog.Logger
	epoch  atomic.Int64 // of the registration in force; -1 before the first

	cancel context.CancelFunc
	done   sync.WaitGroup
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
	session, err := p.register(ctx)
	if err != nil {
		return err
	}
	ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	p.done.Add(1)
	go p.keep(ctx, session)
	return nil
}

// register makes the registration and returns the session it belongs to.
func (p *presence) register(ctx context.Context) (session int64, err error) {
	session = p.client.Session().ID
	epoch, err := p.client.RegisterBroker(ctx, p.self)
	if err != nil {
		return 0, err
	}
	p.epoch.Store(epoch)
	return session, nil
}

// keep registers again after each change of the session.
func (p *presence) keep(ctx context.Context, registered int64) {
	defer p.done.Done()
	for {
		changed := p.client.SessionChanged()
		if s := p.client.Session(); s.Connected && s.ID != registered {
			session, err := p.register(ctx)
			switch {
			case err == nil:
				p.logger.Warn("registered again after the session was lost", "broker_epoch", p.epoch.Load())
				registered = session
				continue
			case ctx.Err() != nil:
				return
			case !errors.Is(err, znode.ErrBrokerIDInUse):
				p.logger.Error("registration failed", "error", err)
			default:
				p.logger.Error("another broker took this broker's id", "error", err)
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// stop ends the registration, so that nobody waits for the session to expire.
func (p *presence) stop(ctx context.Context) error {
	p.cancel()
	p.done.Wait()
	return wrap("unregister", p.client.UnregisterBroker(ctx, p.self.ID))
}
