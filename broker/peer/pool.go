package peer

import (
	"context"
	"errors"
	"net"
	"time"

	"tidemark/internal/clock"
)

// Errors of a Pool.
var (
	// ErrClosed: the pool was closed.
	ErrClosed = errors.New("connections between brokers are closed")
	// ErrUnknownBroker: SetBrokers did not name the broker, or names it no more.
	ErrUnknownBroker = errors.New("no such live broker")
)

// CallError is why a call got no answer.
type CallError struct {
	// Broker and Request say who was asked for what.
	Broker  int32
	Request string
	// Sent is true where the request may have arrived: what it asked for may have
	// been done.
	Sent bool
	Err  error
}

// Options configure a Pool. Zero values stand for the defaults.
type Options struct {
	// ClientID is what this broker calls itself in request headers.
	ClientID string
	// Clock measures the pauses between attempts to connect. Default Real.
	Clock clock.Clock
	// Dial connects to a broker; ctx has the time limit. Default TCP.
	Dial func(ctx context.Context, to Broker) (net.Conn, error)
	// ControlTimeout bounds a call but a fetch (controller.socket.timeout.ms),
	// FetchTimeout a fetch (replica.socket.timeout.ms). Default 30 s.
	ControlTimeout, FetchTimeout time.Duration
	// FirstBackoff and MaxBackoff are the pause after a first failure and the
	// longest one, twice as long each time. Default 50 ms and 1 s.
	FirstBackoff, MaxBackoff time.Duration
	// MaxFrame bounds a response. Default 1 GiB.
	MaxFrame int32
}

// Error is "broker 2: LeaderAndISR: why".
func (e *CallError) Error() string { return "" }

// Unwrap is Err.
func (e *CallError) Unwrap() error { return e.Err }

// Pool is this broker's connections to the others.
type Pool struct{}

// NewPool returns a pool that knows no broker.
func NewPool(o Options) *Pool { return &Pool{} }

// SetBrokers says which brokers live, and where.
func (p *Pool) SetBrokers(brokers []Broker) {}

// Close ends all calls and closes all connections.
func (p *Pool) Close() {}

// LeaderAndISR sends it to the broker.
func (p *Pool) LeaderAndISR(ctx context.Context, broker int32, r LeaderAndISR) (LeaderAndISRAnswer, error) {
	return LeaderAndISRAnswer{}, ErrUnknownBroker
}

// StopReplica sends it to the broker.
func (p *Pool) StopReplica(ctx context.Context, broker int32, r StopReplica) (StopReplicaAnswer, error) {
	return StopReplicaAnswer{}, ErrUnknownBroker
}

// UpdateMetadata sends it to the broker.
func (p *Pool) UpdateMetadata(ctx context.Context, broker int32, r UpdateMetadata) (UpdateMetadataAnswer, error) {
	return UpdateMetadataAnswer{}, ErrUnknownBroker
}

// AlterPartition sends it to the broker that is the controller.
func (p *Pool) AlterPartition(ctx context.Context, broker int32, r AlterPartition) (AlterPartitionAnswer, error) {
	return AlterPartitionAnswer{}, ErrUnknownBroker
}

// ControlledShutdown sends it to the broker that is the controller.
func (p *Pool) ControlledShutdown(ctx context.Context, broker int32, r ControlledShutdown) (ControlledShutdownAnswer, error) {
	return ControlledShutdownAnswer{}, ErrUnknownBroker
}

// FenceReplica sends it to the broker.
func (p *Pool) FenceReplica(ctx context.Context, broker int32, r FenceReplica) (FenceReplicaAnswer, error) {
	return FenceReplicaAnswer{}, ErrUnknownBroker
}

// WriteTxnMarkers sends it to the broker.
func (p *Pool) WriteTxnMarkers(ctx context.Context, broker int32, r WriteTxnMarkers) (WriteTxnMarkersAnswer, error) {
	return WriteTxnMarkersAnswer{}, ErrUnknownBroker
}

// Fetch fetches from the leader's broker, over the connection of that fetcher.
// The caller releases the response.
func (p *Pool) Fetch(ctx context.Context, leader int32, fetcher int, r FetchRequest) (*FetchResponse, error) {
	return nil, ErrUnknownBroker
}
