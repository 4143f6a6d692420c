// Package driver is how load reaches a log. A Driver opens a Session against one
// target; a Session runs producers that take their sends from a Feed, and
// fetchers that report to a Sink. Who decides when to send, and what is measured
// of it, is package load; a driver only moves bytes and says when.
//
//	null   nothing moves: the ceiling of the harness itself
//	log    package commitlog in this process, over the chosen engines
//	raw    pre-encoded batches over TCP: what a broker can take
//	franz  the real client, kgo: what an application gets
//	commits  offsets that groups commit
package driver

import (
	"context"
	"fmt"

	"tidemark/bench/workload"
	"tidemark/engines"
)

// Feed tells one producer when to send and is told what came of it. Next and
// Sent are called by the sending goroutine; Acked and Failed by one other (or
// the same) goroutine.
type Feed interface {
	// Next waits until a send is due and returns its intended time; ok is false
	// when the producer should stop sending. On a saturating feed it returns at
	// once.
	Next() (due int64, ok bool)
	// Due is Next of a feed that does not saturate, without the wait.
	Due() (due int64, ok bool)
	// Saturating is true when sends are due as fast as they are accepted.
	Saturating() bool
	// Sent says that the send due at due left at now.
	Sent(due, now int64, s Send)
	// Acked says that a send was acknowledged.
	Acked(a Ack)
	// Failed says that records were refused or given up.
	Failed(due int64, records int64)
}

// Send is the size of one send, and what held it up.
type Send struct {
	Records int64
	// Wire is the bytes of the batches as they travel; 0 where the client
	// decides later.
	Wire int64
	// Held is when the sender last stopped waiting for the target (for room
	// under the limit of requests in flight, say), 0 if it never had to. What
	// is late since then, the harness is itself.
	Held int64
}

// Ack is one acknowledged send. Times are schedule.Now's.
type Ack struct {
	Due, Sent, Now int64
	Records, Wire  int64
	Partition      int32
	// Offset is the first record's, -1 when the target did not say.
	Offset int64
}

// Sink takes what one fetcher read; all calls come from its goroutine.
type Sink interface {
	// Got reports one fetched response.
	Got(g Got)
	// Seen reports one batch in a following fetcher, for end-to-end times.
	Seen(partition int32, offset int64, now int64)
	// Latency reports one end-to-end time directly.
	Latency(ns int64)
}

// Got is one fetched response.
type Got struct {
	Now, ServiceNs int64
	Records, Wire  int64
}

// Unit is what one send is.
type Unit struct {
	Records int64
	// Wire is the mean bytes of a batch on the wire, 0 where the client decides.
	Wire int64
	// CompressPermil is wire bytes per 1000 uncompressed ones, 0 if unknown.
	CompressPermil int64
	// LatencyOf is batch or record.
	LatencyOf string
}

// Session is an open connection between load and a target. Produce and Fetch may
// run concurrently for different workers.
type Session interface {
	// Unit describes one send of this session.
	Unit() Unit
	// Produce runs one producer until its feed ends and everything outstanding
	// is answered or ctx is done; unanswered is how many records then were not.
	Produce(ctx context.Context, worker int, f Feed) (unanswered int64, err error)
	// Fetch reads the worker's partitions again and again until ctx is done,
	// discarding what it gets. A driver that cannot start over returns at the
	// end of the log.
	Fetch(ctx context.Context, worker int, s Sink) error
	// Follow reads the worker's partitions as they grow until ctx is done.
	Follow(ctx context.Context, worker int, s Sink) error
	// Count is the number of records the target holds, -1 when it cannot say.
	Count(ctx context.Context) (int64, error)
	// Close ends the session and deletes what it created outside the target.
	Close() error
}

// Options is what a driver needs besides the load.
type Options struct {
	Load workload.Load
	// Bootstrap is the address of the target, or several with commas between; empty
	// for null and log.
	Bootstrap string
	// Direct is where the raw driver finds a broker by the address that it tells,
	// where the two differ.
	Direct map[string]string
	// Topic is created by Open and must not exist.
	Topic string
	// Dir is where the log driver keeps its files.
	Dir string
	// Engines are the storage engines of the log driver.
	Engines engines.Catalog
	// Seed fills the payloads.
	Seed uint64
}

// Open starts a session with the load's driver.
func Open(ctx context.Context, o Options) (Session, error) {
	switch o.Load.Driver {
	case "null":
		return newNull(o)
	case "log":
		return openLog(o)
	case "raw":
		return openRaw(ctx, o)
	case "franz":
		return openFranz(ctx, o)
	case "commits":
		return openCommits(ctx, o)
	}
	return nil, fmt.Errorf("no driver %q (there are: raw, franz, log, commits, null)", o.Load.Driver)
}

// mine lists the partitions of one of several workers.
func mine(worker, workers, partitions int) []int32 {
	var out []int32
	for p := worker; p < partitions; p += workers {
		out = append(out, int32(p))
	}
	return out
}
