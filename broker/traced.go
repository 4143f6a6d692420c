package broker

import (
	"context"
	"time"

	"tidemark/internal/trace"
)

// startTrace begins the trace first, so that it ends last. One that cannot be written
// any more ends, and the broker goes on.
func (b *Broker) startTrace(context.Context) (undo, error) {
	dir := b.o.Config.TraceDir
	if dir == "" {
		return nil, nil
	}
	now := func() time.Duration { return time.Duration(b.o.Clock.Now().UnixNano()) }
	var err error
	b.trace, err = trace.Record(dir, b.o.Config.BrokerID, now, func(err error) {
		b.o.Logger.Error("the trace ends here: it cannot be written", "dir", dir, "error", err)
	})
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		if n := b.trace.Dropped(); n > 0 {
			b.o.Logger.Warn("events were missed by the trace", "dropped", n)
		}
		return wrap("close trace", b.trace.Close())
	}, nil
}
