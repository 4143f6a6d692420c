package api

import (
	"bytes"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/purgatory"
	"tidemark/broker/replica"
	"tidemark/commitlog"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// Produce (0), versions 3 to 12: one batch per partition, written as it came.
// 3 brought batches of magic 2, 5 the log start offset in the response, 7 zstd,
// 8 errors per record (KIP-467), 9 tagged fields, 10 the current leader
// (KIP-951), 11 an error code of transactions, 12 partitions that join a transaction
// by being written to (KIP-890). Versions 0 to 2 carry message sets and are refused by
// the table.

const (
	// firstZstdProduce is the version from which zstd batches are taken.
	firstZstdProduce = 7
	// firstFlexibleProduce is the version from which there are tagged fields.
	firstFlexibleProduce = 9
)

// produce is one request being answered; it is recycled.
type produce struct {
	server  *Server
	call    call
	txnID   []byte // aliases the frame; nil where the producer is not transactional
	acks    int16
	timeout time.Duration
	parts   []producePart
	resp    kmsg.ProduceResponse

	// Of a request that is received in place: what of it is not here yet, and
	// what is wrong with its end.
	rest      remainder
	malformed error
}

// producePart is one partition of the request and its result.
type producePart struct {
	topic    []byte // aliases the frame
	newTopic bool   // the first of its topic in the request
	index    int32
	records  []byte // aliases the frame

	partition *replica.Partition
	batch     record.Batch // aliases the frame
	guard     commitlog.Guard
	asked     bool // the coordinator confirmed what guard stands for
	moved     bool // the high watermark moved: whoever waits is to be woken
	info      commitlog.AppendInfo
	err       error
}

var produces = sync.Pool{New: func() any { return new(produce) }}

// maxRecycledParts bounds what a recycled request keeps.
const maxRecycledParts = 256

func handleProduce(s *Server, c call) {
	p := produces.Get().(*produce)
	p.server, p.call = s, c
	if err := p.decode(); err != nil {
		p.recycle()
		c.to.Fail(err)
		return
	}
	for i := range p.parts {
		p.check(&p.parts[i])
	}
	p.verify()
	for i := range p.parts {
		p.append(&p.parts[i])
	}
	if len(p.parts) == 1 && p.parts[0].info.MayReceive {
		c.to.OfferNext()
	}
	p.answerOrPark()
}

// answerOrPark ends the part of the work that is the connection's.
func (p *produce) answerOrPark() {
	if p.acks != 0 && !p.acknowledged() {
		p.park()
		return
	}
	p.finish()
}

// noAppend is the result for a batch that was not appended.
var noAppend = commitlog.AppendInfo{BaseOffset: -1, LastOffset: -1, LogAppendTimeMs: -1, LogStartOffset: -1}

// check finds the partition of a part and its batch.
func (p *produce) check(part *producePart) {
	part.info = noAppend
	if p.acks < replica.AckAll || p.acks > 1 {
		part.err = errInvalidAcks
		return
	}
	if part.partition, part.err = p.server.writable(part.topic, part.index); part.err != nil {
		return
	}
	if part.batch, part.err = record.ParseOne(part.records); part.err != nil {
		return
	}
	if part.batch.Codec() == record.Zstd && p.call.header.Version < firstZstdProduce {
		part.err = record.ErrUnsupportedCodec
	}
}

// append writes the batch of a part that was checked.
func (p *produce) append(part *producePart) {
	if part.err != nil {
		return
	}
	var info commitlog.AppendInfo
	var moved bool
	if ofTransaction(part.batch) {
		info, moved, part.err = p.appendTransactional(part, part.batch)
	} else {
		info, moved, part.err = part.partition.Append(part.batch, p.acks, commitlog.Client)
	}
	if part.err == nil {
		part.info, part.moved = info, moved
	}
}

// writable finds the partition that clients may produce to.
func (s *Server) writable(topic []byte, index int32) (*replica.Partition, error) {
	t := s.o.Replicas.TopicBytes(topic)
	if t == nil {
		if !replica.ValidName(string(topic)) {
			return nil, errInvalidTopic
		}
		return nil, s.absent(string(topic), index)
	}
	if internalTopic(t.Name) {
		return nil, errInvalidTopic
	}
	if p := t.Partition(index); p != nil {
		return p, nil
	}
	return nil, s.absent(t.Name, index)
}

// absent says why a partition is not here: led elsewhere, or nowhere known.
func (s *Server) absent(topic string, index int32) error {
	if t := s.o.Metadata.View().Topic(topic); t != nil {
		if _, ok := t.Partition(index); ok {
			return replica.ErrNotLeader
		}
	}
	return replica.ErrUnknownPartition
}

// acknowledged reports whether every batch that was appended may be answered.
func (p *produce) acknowledged() bool {
	for i := range p.parts {
		part := &p.parts[i]
		if part.err != nil {
			continue
		}
		var done bool
		if done, part.err = part.partition.Acknowledged(&part.info, p.acks); !done && part.err == nil {
			return false
		}
	}
	return true
}

// syncTimeout bounds the wait of acks=1 for a sync; the timeout of a request is
// for replicas.
const syncTimeout = time.Minute

// park waits for replicas and syncs; produce is a purgatory.Operation. The frame
// goes back at once: what is still needed of it is copied.
func (p *produce) park() {
	keys := make([]*purgatory.Key, 0, len(p.parts))
	for i := range p.parts {
		part := &p.parts[i]
		part.records, part.batch = nil, nil
		if part.partition == nil {
			part.topic = bytes.Clone(part.topic)
			continue
		}
		part.topic = nil
		if part.err == nil {
			keys = append(keys, &part.partition.Changed)
		}
	}
	p.call.body, p.call.header.ClientID, p.txnID = nil, nil, nil
	p.call.to.ReleaseBody()
	p.wake()
	timeout := p.timeout
	if p.acks != replica.AckAll {
		timeout = syncTimeout
	}
	p.server.purgatory.Park(p, timeout, keys...)
}

// TryComplete answers once every batch may be.
func (p *produce) TryComplete() bool {
	if !p.acknowledged() {
		return false
	}
	p.finish()
	return true
}

// Expire answers that what is not there yet took too long.
func (p *produce) Expire() {
	for i := range p.parts {
		part := &p.parts[i]
		if part.err != nil {
			continue
		}
		var done bool
		if done, part.err = part.partition.Acknowledged(&part.info, p.acks); !done && part.err == nil {
			part.err = errTimedOut
		}
	}
	p.finish()
}

// Cancel gives up; the batches stay in the log.
func (p *produce) Cancel() { p.call.to.NoReply() }

// finish answers, and only then wakes those who wait for the records: they must
// not delay the producer.
func (p *produce) finish() {
	to := p.call.to
	switch {
	case p.acks != 0:
		p.noteAcknowledged()
		to.Reply(wire.NewResponse(p.call.header, p.response()))
	case p.firstError() != nil:
		to.Fail(p.firstError()) // the only way to tell an acks=0 producer
	default:
		to.NoReply()
	}
	p.wake()
	p.recycle()
}

// noteAcknowledged tells the partitions what the producer is about to hear.
func (p *produce) noteAcknowledged() {
	for i := range p.parts {
		if part := &p.parts[i]; part.err == nil {
			part.partition.NoteAcknowledged(part.info.LastOffset)
		}
	}
}

func (p *produce) firstError() error {
	for i := range p.parts {
		if p.parts[i].err != nil {
			return p.parts[i].err
		}
	}
	return nil
}

// wake lets waiting fetches look at the partitions that moved, once each.
func (p *produce) wake() {
	for i := range p.parts {
		if part := &p.parts[i]; part.moved {
			part.moved = false
			part.partition.Changed.Wake()
		}
	}
}

func (p *produce) recycle() {
	if cap(p.parts) > maxRecycledParts {
		return
	}
	clear(p.parts)
	p.parts = p.parts[:0]
	p.call, p.server, p.rest, p.malformed, p.txnID = call{}, nil, nil, nil, nil
	produces.Put(p)
}
