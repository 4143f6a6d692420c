package peer

import (
	"io"
	"sync"

	"tidemark/protocol/wire"
	"tidemark/replication"
)

// FetchedPartition is a leader's answer for one partition.
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
	// Records are batches, the last one perhaps cut off. They lie where they arrived.
	Records []byte
}

// incoming is a leader's answer on its way in. A partition is told as soon as it is
// here and its memory then serves the next one: what is checked and appended is in the
// processor's cache still, which a whole answer would not be. It is confined to one
// goroutine, and pooled.
type incoming struct {
	stream
	took func(*FetchedPartition)
	code wire.ErrorCode

	topics, partitions int // still to be read
	topic              [16]byte
	partition          FetchedPartition
}

var incomings = sync.Pool{New: func() any { return new(incoming) }}

// keepFetch is the most memory that is kept for the next answer.
const keepFetch = 64 << 20

func (in *incoming) release() {
	b := in.buf
	if cap(b) > keepFetch {
		b = nil
	}
	*in = incoming{stream: stream{buf: b}}
	incomings.Put(in)
}

// Sizes of the smallest topic, partition and aborted transaction on the wire,
// against which claimed counts are held.
const (
	leastTopic     = 16 + 1 + 1
	leastPartition = 4 + 2 + 8 + 8 + 8 + 1 + 4 + 1 + 1
	leastAborted   = 8 + 8 + 1
)

// receive reads a response frame of version 17 and tells its partitions.
//
//	throttle 4 | error code 2 | session id 4 |
//	topics [id 16 | partitions [index 4 | error code 2 | high watermark 8 |
//	last stable offset 8 | log start 8 | aborted [producer id 8, first offset 8, tags] |
//	preferred replica 4 | records (compact bytes) |
//	tags: 0 diverging epoch (epoch 4, end 8), 1 current leader (id 4, epoch 4)] | tags] |
//	tags
func (in *incoming) receive(from io.Reader, max, correlation int32) error {
	if err := in.open(from, max); err != nil {
		return err
	}
	var got int32
	if err := in.parse(func(r *wire.Reader) { got = r.Int32(); r.Tags(nil) }); err != nil {
		return err
	}
	if err := answers(got, correlation); err != nil {
		return err
	}
	return in.body()
}

func (in *incoming) body() error {
	if err := in.parse(in.head); err != nil {
		return err
	}
	for ; in.topics > 0; in.topics-- {
		if err := in.parse(in.beginTopic); err != nil {
			return err
		}
		for ; in.partitions > 0; in.partitions-- {
			if err := in.tell(); err != nil {
				return err
			}
		}
		if err := in.parse(skipTags); err != nil {
			return err
		}
	}
	if err := in.parse(skipTags); err != nil {
		return err
	}
	return in.end()
}

func (in *incoming) head(r *wire.Reader) {
	r.Int32()
	in.code = wire.ErrorCode(r.Int16())
	r.Int32()
	in.topics = r.Array(leastTopic)
}

func (in *incoming) beginTopic(r *wire.Reader) {
	in.topic, in.partitions = r.UUID(), r.Array(leastPartition)
}

func skipTags(r *wire.Reader) { r.Tags(nil) }

// behindRecords is what is read together with a partition's records: its tags, and
// where the next one has its length.
const behindRecords = 64

// tell reads a partition, all of its records at once, and tells it.
func (in *incoming) tell() error {
	p := &in.partition
	*p = FetchedPartition{TopicID: in.topic}
	records := 0
	head, err := in.look(func(r *wire.Reader) { p.parseHead(r); records = max(0, r.Length()) })
	if err != nil {
		return err
	}
	if records > in.unread()-head {
		return errAnswer
	}
	if err := in.fill(head + records + behindRecords); err != nil {
		return err
	}
	if err := in.parse(p.parse); err != nil {
		return err
	}
	in.took(p)
	return nil
}

// parse reads the partition and keeps a slice of its records.
func (p *FetchedPartition) parse(in *wire.Reader) {
	p.parseHead(in)
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

// parseHead reads what precedes the records.
func (p *FetchedPartition) parseHead(in *wire.Reader) {
	p.Index, p.ErrorCode = in.Int32(), wire.ErrorCode(in.Int16())
	p.HighWatermark, p.LastStableOffset, p.LogStartOffset = in.Int64(), in.Int64(), in.Int64()
	for aborted := in.Array(leastAborted); aborted > 0 && !in.Bad; aborted-- {
		in.Take(8 + 8)
		in.Tags(nil)
	}
	in.Int32()
}
