package network

import "sync/atomic"

// Stats is what a Server counts. All fields may be read at any time.
type Stats struct {
	// Connections is how many are open, Muted how many of them are not read
	// from for want of in-flight memory.
	Connections, Muted atomic.Int64
	// InFlightBytes is the memory of requests being received or answered.
	InFlightBytes atomic.Int64
	// Accepted counts connections, AcceptErrors failed accepts.
	Accepted, AcceptErrors atomic.Int64
	// ReceivedBytes and SentBytes count frames with their lengths.
	ReceivedBytes, SentBytes atomic.Int64
	// Early counts what became of long requests that were to be offered to the
	// EarlyHandler, by outcome.
	Early [numEarly]atomic.Int64
	// FallbackBytes counts record bytes of responses that a read engine copied,
	// because the connection is not one it can serve its own way.
	FallbackBytes atomic.Int64
	// Refused and Closed count by reason.
	Refused [numRefusals]atomic.Int64
	Closed  [numReasons]atomic.Int64
}

// Refusal says why a connection was closed on arrival.
type Refusal int

// The refusals, named after the limit.
const (
	RefusedTotal Refusal = iota
	RefusedPerIP
	RefusedShutdown
	numRefusals
)

// String is the metric label.
func (r Refusal) String() string {
	return [...]string{"max.connections", "max.connections.per.ip", "shutdown"}[r]
}

// Reason says why an accepted connection was closed.
type Reason int

// The reasons.
const (
	ClosedByPeer     Reason = iota
	ClosedError             // reading or writing failed
	ClosedFrame             // a frame length out of range
	ClosedHeader            // not a request header
	ClosedFailed            // the Handler called Fail
	ClosedIdle              // IdleTimeout
	ClosedSlowFrame         // FrameTimeout
	ClosedSlowReader        // WriteTimeout
	ClosedShutdown
	numReasons
)

// String is the metric label.
func (r Reason) String() string {
	return [...]string{"peer", "io", "frame", "header", "failed", "idle", "frame.timeout", "write.timeout", "shutdown"}[r]
}

// EarlyOutcome says what became of a request that was to be offered early.
type EarlyOutcome int

// The outcomes.
const (
	EarlyTaken      EarlyOutcome = iota
	EarlyDeclined                // the handler wanted it whole
	EarlyIncomplete              // not all of it had arrived
	numEarly
)

// String is the metric label.
func (o EarlyOutcome) String() string {
	return [...]string{"taken", "declined", "incomplete"}[o]
}
