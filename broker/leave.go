package broker

import (
	"context"
	"time"

	"tidemark/broker/peer"
)

// armControlledShutdown is the last part of the start, so that its end is the first of
// the shutdown: before anything stops, what this broker leads is led elsewhere.
func (b *Broker) armControlledShutdown(context.Context) (undo, error) {
	if !b.o.Config.Leadership.ControlledShutdown {
		return nil, nil
	}
	return func(ctx context.Context) error {
		b.giveUpLeadership(ctx)
		return nil
	}, nil
}

// giveUpLeadership asks the controller to move what this broker leads until nothing is
// left, as often as controlled.shutdown.max.retries says (Kafka's
// KafkaServer.controlledShutdown). What stays is without a leader for as long as the
// controller needs to see the broker gone.
func (b *Broker) giveUpLeadership(ctx context.Context) {
	o := b.o.Config.Leadership
	b.orders.Leave()
	b.handOver(ctx)
	for left := o.ShutdownRetries; ; left-- {
		remaining, err := b.askToLeave(ctx)
		if err == nil && remaining == 0 {
			return
		}
		if left <= 0 || ctx.Err() != nil {
			b.o.Logger.Warn("this broker stops with partitions that it leads", "partitions", remaining, "error", err)
			return
		}
		b.o.Logger.Info("leadership was not moved yet", "partitions", remaining, "error", err)
		pause := time.NewTimer(o.ShutdownBackoff)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// handOverTimeout bounds how long in-sync followers may take to fetch the rest; what
// they do not fetch is lost where only this broker acknowledged it. handOverPause is
// how often they are looked at.
const handOverTimeout, handOverPause = 5 * time.Second, 5 * time.Millisecond

// handOver has in-sync followers fetch all that is here, while nothing more comes, so
// that whoever is elected has what was acknowledged by this broker alone. Kafka's
// brokers append on until another leads.
func (b *Broker) handOver(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	b.replicas.Leave()
	for b.replicas.Unfetched() > 0 {
		pause := time.NewTimer(handOverPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			b.o.Logger.Warn("followers do not have all that this broker has", "partitions", b.replicas.Unfetched())
			return
		}
	}
}

// leaveTimeout bounds one request for a controlled shutdown.
const leaveTimeout = 10 * time.Second

func (b *Broker) askToLeave(ctx context.Context) (remaining int, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	self, epoch := b.o.Config.BrokerID, b.presence.brokerEpoch()
	switch id := b.view.View().Controller(); {
	case b.controller.IsController():
		left, err := b.controller.ControlledShutdown(ctx, self, epoch)
		return len(left), err
	case id < 0 || id == self:
		return 0, errNoController
	default:
		got, err := b.pool.ControlledShutdown(ctx, id, peer.ControlledShutdown{Broker: self, BrokerEpoch: epoch})
		return len(got.Remaining), answered(err, got.ErrorCode)
	}
}
