package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Remote is a mesh in another process, at the address of its Handler. It is safe for
// concurrent use.
type Remote struct{ Address string }

// Order sends an order.
func (r Remote) Order(ctx context.Context, o Order) error {
	return r.call(ctx, "PUT", "/rules", o, nil)
}

// Heal gives every flow the zero Rule.
func (r Remote) Heal(ctx context.Context) error { return r.call(ctx, "PUT", "/heal", nil, nil) }

// State asks what holds and what has held.
func (r Remote) State(ctx context.Context) (State, error) {
	var s State
	err := r.call(ctx, "GET", "/state", nil, &s)
	return s, err
}

func (r Remote) call(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+r.Address+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("mesh: %w", err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("mesh at %s: %w", r.Address, err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("mesh at %s: %w", r.Address, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("mesh at %s: %s", r.Address, bytes.TrimSpace(data))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("mesh at %s: %w", r.Address, err)
	}
	return nil
}
