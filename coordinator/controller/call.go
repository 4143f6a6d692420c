package controller

import (
	"context"
	"errors"
	"sync"
)

type result[T any] struct {
	value T
	err   error
}

// call runs f on the loop. f runs to its end even where the caller's ctx ends
// first: what it began must not stay half known.
func call[T any](c *Controller, ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	var none T
	done := make(chan result[T], 1)
	select {
	case c.calls <- func() { v, err := f(c.ctx); done <- result[T]{v, err} }:
	case <-ctx.Done():
		return none, ctx.Err()
	case <-c.ctx.Done():
		return none, ErrClosed
	}
	select {
	case r := <-done:
		if r.err != nil && c.ctx.Err() != nil {
			return none, ErrClosed
		}
		return r.value, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// inOffice runs f on the loop if this broker is the controller, and settles what it
// changed. It waits no longer than the term lasts: the loop may wait for a store that
// does not answer.
func inOffice[T any](c *Controller, ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	var none T
	c.termMu.Lock()
	began := c.term
	c.termMu.Unlock()
	if began == nil || began.Err() != nil {
		return none, ErrNotController
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(began, cancel)()
	v, err := call(c, ctx, func(context.Context) (T, error) {
		if !c.elected.Load() {
			return none, ErrNotController
		}
		term := c.term
		v, err := f(term)
		if err = c.checked(err); err == nil && c.elected.Load() {
			c.settled(0, "settle", c.settle(term))
		}
		if term.Err() != nil && err == nil {
			err = ErrNotController
		}
		return v, err
	})
	if errors.Is(err, context.Canceled) && began.Err() != nil && c.ctx.Err() == nil {
		err = ErrNotController
	}
	return v, err
}

// inbox holds what senders found out, for the loop.
type inbox struct {
	mu    sync.Mutex
	items []func()
}

// post has f run on the loop. It does not block.
func (c *Controller) post(f func()) {
	c.inbox.mu.Lock()
	c.inbox.items = append(c.inbox.items, f)
	c.inbox.mu.Unlock()
	c.signal(postedEvent)
}

func (c *Controller) takeIn(context.Context) error {
	c.inbox.mu.Lock()
	items := c.inbox.items
	c.inbox.items = nil
	c.inbox.mu.Unlock()
	for _, f := range items {
		f()
	}
	return nil
}
