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
