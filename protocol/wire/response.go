package wire

import (
	"io"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/engines"
)

// Response is one reply frame: bytes, with chunks of the log between them.
type Response struct{}

// NewResponse encodes body as the reply to the request of h. Its version is
// set from h.
func NewResponse(h Header, body kmsg.Response) *Response { return &Response{} }

// Len is the number of bytes of the frame, its length field included.
func (r *Response) Len() int64 { return 0 }

// WriteTo sends the whole frame.
func (r *Response) WriteTo(w io.Writer) (int64, error) { return 0, nil }

// Release gives the buffers and chunks back; exactly one call.
func (r *Response) Release() {}

// ResponseWriter sends responses over one connection, as many in one writev as
// there are.
type ResponseWriter struct{}

// NewResponseWriter sends to w, best a *net.TCPConn.
func NewResponseWriter(w io.Writer) *ResponseWriter { return nil }

// Write sends the responses in order. It does not release them.
func (w *ResponseWriter) Write(rs []*Response) (int64, error) { return 0, nil }

// FetchHead is what a Fetch response says as a whole.
type FetchHead struct {
	ThrottleMs int32
	ErrorCode  ErrorCode
	SessionID  int32
}

// AbortedTransaction is a transaction whose records a read_committed consumer
// skips.
type AbortedTransaction struct {
	ProducerID, FirstOffset int64
}

// EpochEnd is where a leader epoch ends.
type EpochEnd struct {
	Epoch     int32
	EndOffset int64
}

// LeaderEpoch is who leads since which epoch.
type LeaderEpoch struct {
	LeaderID, LeaderEpoch int32
}

// NodeEndpoint is where a broker listens.
type NodeEndpoint struct {
	NodeID int32
	Host   string
	Port   int32
	Rack   *string
}

// FetchPartition is the answer for one partition.
type FetchPartition struct {
	Index            int32
	ErrorCode        ErrorCode
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	// Aborted is null when nil.
	Aborted              []AbortedTransaction
	PreferredReadReplica int32
	// Records is nil for none. The Response owns it from then on.
	Records engines.Chunk
	// DivergingEpoch and CurrentLeader are left out when nil.
	DivergingEpoch *EpochEnd
	CurrentLeader  *LeaderEpoch
}

// FetchWriter builds a Fetch response of version 4 to 17 piece by piece.
type FetchWriter struct{}

// NewFetchWriter starts the reply to h.
func NewFetchWriter(h Header, head FetchHead, topics int) *FetchWriter { return nil }

// Topic starts a topic of so many partitions.
func (w *FetchWriter) Topic(name string, id [16]byte, partitions int) {}

// Partition adds one partition.
func (w *FetchWriter) Partition(p *FetchPartition) {}

// Finish ends the response. endpoints is sent from version 16 on.
func (w *FetchWriter) Finish(endpoints []NodeEndpoint) *Response { return nil }
