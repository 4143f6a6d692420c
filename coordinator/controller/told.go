package controller

import (
	"context"
	"time"
)

// awaitTold waits until the own broker confirmed what was decided so far, and the
// others for at most patience.
func (c *Controller) awaitTold(ctx context.Context, patience time.Duration) error {
	type channels struct {
		own    <-chan struct{}
		others []<-chan struct{}
		term   context.Context
	}
	w, err := inOffice(c, ctx, func(context.Context) (channels, error) {
		w := channels{term: c.term}
		for id, b := range c.brokers {
			if id == c.o.BrokerID {
				w.own = b.sender.confirmed()
			} else if patience > 0 {
				w.others = append(w.others, b.sender.confirmed())
			}
		}
		return w, nil
	})
	if err != nil {
		return err
	}
	if w.own != nil {
		select {
		case <-w.own:
		case <-w.term.Done():
			return nil // whoever is next tells it
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	enough := make(chan struct{})
	t := c.o.Clock.AfterFunc(patience, func() { close(enough) })
	defer t.Stop()
	for _, other := range w.others {
		select {
		case <-other:
		case <-enough:
			return nil
		case <-w.term.Done():
			return nil
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
