package api

import (
	"time"

	"tidemark/broker/purgatory"
	"tidemark/broker/replica"
	"tidemark/protocol/wire"
)

// traceAnswer tells what a follower is answered.
func (f *fetch) traceAnswer(part *fetchPart, a *wire.FetchPartition) {
	var size int64
	if a.Records != nil {
		size = a.Records.Len()
	}
	code := ""
	if a.ErrorCode != wire.None {
		code = a.ErrorCode.String()
	}
	part.partition.TraceAnswer(&replica.ReplicaFetch{Replica: f.replica, Offset: part.read.Offset, Correlation: f.call.header.CorrelationID},
		a.HighWatermark, size, code)
}

// observeWaiting tells of producers and consumers that begin to wait; a follower's
// waiting is seen from its request and the response.
func observeWaiting(op purgatory.Operation, patience time.Duration) (ended func(string)) {
	switch w := op.(type) {
	case *produce:
		for i := range w.parts {
			if p := &w.parts[i]; p.err == nil && p.partition != nil && p.partition.Traced() {
				return p.partition.TraceWaiting("produce", p.info.LastOffset+1, patience)
			}
		}
	case *fetch:
		if w.replica >= 0 {
			return nil
		}
		for i := range w.parts {
			if p := &w.parts[i]; p.partition != nil && p.partition.Traced() {
				return p.partition.TraceWaiting("fetch", p.read.Offset, patience)
			}
		}
	}
	return nil
}
