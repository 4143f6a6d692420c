package peer

import (
	"fmt"
	"sync"

	"tidemark/protocol/wire"
	"tidemark/replication"
)

// FetchResponse is a leader's answer. It and the frame it was read into are
// pooled: Release gives both back, and nothing of it may be touched afterwards,
// the records least of all.
type FetchResponse struct {
	// ErrorCode is of the request as a whole; with one there are no partitions.
	ErrorCode  wire.ErrorCode
	ThrottleMs int32
	Partitions []FetchedPartition

	frame []byte
}

// FetchedPartition is the answer for one partition.
type FetchedPartition struct {
	TopicID   [16]byte
	Index     int32
	ErrorCode wire.ErrorCode
	// HighWatermark, LastStableOffset and LogStartOffset are −1 where unknown.
	HighWatermark, LastStableOffset, LogStartOffset int64
	// DivergingEpoch and DivergingEnd say where the follower's log parts from the
	// leader's; both −1 where it does not.
	DivergingEpoch int32
	DivergingEnd   int64
	// CurrentLeader and CurrentLeaderEpoch name a newer leader; both −1 where
	// there is none to name.
	CurrentLeader, CurrentLeaderEpoch int32
	// Records are batches, the last one perhaps cut off. They alias the frame.
	Records []byte
}

var fetchResponses = sync.Pool{New: func() any { return new(FetchResponse) }}

// keepFrame is the largest frame that is kept for the next response.
const keepFrame = 64 << 20

// Release gives the response and its frame back.
func (r *FetchResponse) Release() {
	if cap(r.frame) > keepFrame {
		r.frame = nil
	}
	clear(r.Partitions)
	*r = FetchResponse{Partitions: r.Partitions[:0], frame: r.frame[:0]}
	fetchResponses.Put(r)
}

// Sizes of the smallest topic, partition and aborted transaction on the wire,
// against which claimed counts are held.
const (
	leastTopic     = 16 + 1 + 1
	leastPartition = 4 + 2 + 8 + 8 + 8 + 1 + 4 + 1 + 1
	leastAborted   = 8 + 8 + 1
)

// parse reads the body of a response of version 17 and keeps slices of it.
//
//	throttle 4 | error code 2 | session id 4 |
//	topics [id 16 | partitions [index 4 | error code 2 | high watermark 8 |
//	last stable offset 8 | log start 8 | aborted [producer id 8, first offset 8, tags] |
//	preferred replica 4 | records (compact bytes) |
//	tags: 0 diverging epoch (epoch 4, end 8), 1 current leader (id 4, epoch 4)] | tags] |
//	tags
func (r *FetchResponse) parse(body []byte) error {
	in := wire.Reader{Src: body, Flexible: true}
	r.ThrottleMs, r.ErrorCode = in.Int32(), wire.ErrorCode(in.Int16())
	in.Int32()
	for topics := in.Array(leastTopic); topics > 0 && !in.Bad; topics-- {
		id := in.UUID()
		for partitions := in.Array(leastPartition); partitions > 0 && !in.Bad; partitions-- {
			r.Partitions = append(r.Partitions, FetchedPartition{TopicID: id})
			r.Partitions[len(r.Partitions)-1].parse(&in)
		}
		in.Tags(nil)
	}
	in.Tags(nil)
	if in.Bad {
		return fmt.Errorf("%w: answer to Fetch", ErrMalformed)
	}
	return nil
}

func (p *FetchedPartition) parse(in *wire.Reader) {
	p.Index, p.ErrorCode = in.Int32(), wire.ErrorCode(in.Int16())
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = in.Int64(), in.Int64(), in.Int64()
	for aborted := in.Array(leastAborted); aborted > 0 && !in.Bad; aborted-- {
		in.Take(8 + 8)
		in.Tags(nil)
	}
	in.Int32()
	p.Records = in.Bytes()
	p.DivergingEpoch, p.DivergingEnd = replication.NoEpoch, replication.NoOffset
	p.CurrentLeader, p.CurrentLeaderEpoch = replication.NoBroker, replication.NoEpoch
	in.Tags(func(tag uint32, value wire.Reader) {
		switch tag {
		case 0:
			p.DivergingEpoch, p.DivergingEnd = value.Int32(), value.Int64()
		case 1:
			p.CurrentLeader, p.CurrentLeaderEpoch = value.Int32(), value.Int32()
		default:
			return
		}
		value.Tags(nil)
		in.Bad = in.Bad || value.Bad
	})
}
