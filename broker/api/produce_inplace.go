package api

import (
	"tidemark/broker/replica"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// A produce request of one batch for one partition need not be received before it
// is looked at: what precedes the records says where they go, and where the log
// can lend the memory for it, the kernel copies them there. Anything else, and
// whatever is odd, is declined and goes the ordinary way, which alone refuses.

// remainder is what of a request has not been received; *network.Rest is one.
type remainder interface {
	// Len is the number of bytes not received yet.
	Len() int
	// ReadInto fills memory and returns the bytes of the request after it.
	ReadInto(memory []byte) (after []byte, err error)
}

// maxBehind bounds what may follow the records, the tagged fields of a flexible
// version.
const maxBehind = 64

// produceFront is what precedes the end of what has been received.
type produceFront struct {
	head []byte // the records that are here
	size int64  // of all records
}

// serveEarly answers the request or declines it, as network.EarlyHandler asks.
func (s *Server) serveEarly(c call, rest remainder) bool {
	row := rowFor(c.header.Key)
	if c.header.Key != wire.KeyProduce || c.header.Version < row.min || c.header.Version > row.max {
		return false
	}
	p := produces.Get().(*produce)
	p.server, p.call, p.rest = s, c, rest
	front, ok := p.decodeFront()
	if !ok || !p.appendInPlace(front) {
		p.recycle()
		return false
	}
	if err := p.malformed; err != nil {
		p.recycle()
		c.to.Fail(err)
		return true
	}
	c.to.OfferNext()
	p.answerOrPark()
	return true
}

// decodeFront reads what precedes the records of a request of one partition; ok is
// false for any other.
func (p *produce) decodeFront() (f produceFront, ok bool) {
	r := p.reader(p.call.body)
	p.decodeStart(&r)
	if r.Array(1) != 1 {
		return f, false
	}
	topic := r.Text()
	if r.Array(1) != 1 {
		return f, false
	}
	p.parts = append(p.parts, producePart{topic: topic, newTopic: true, index: r.Int32(), info: noAppend})
	size := r.Length()
	behind := len(r.Src) + p.rest.Len() - size
	if r.Bad || len(r.Src) < record.HeaderSize || len(r.Src) >= size || behind < 0 || behind > maxBehind {
		return f, false
	}
	return produceFront{head: r.Src, size: int64(size)}, p.acks >= replica.AckAll && p.acks <= 1
}

// appendInPlace receives the records and writes the batch, or declines. What it
// refuses is the part's error, as on the ordinary way.
func (p *produce) appendInPlace(f produceFront) bool {
	part := &p.parts[0]
	partition, err := p.server.writable(part.topic, part.index)
	if err != nil || record.Batch(f.head).Codec() == record.Zstd && p.call.header.Version < firstZstdProduce {
		return false
	}
	part.partition = partition
	info, moved, taken, err := partition.AppendInPlace(f.head, f.size, p, p.acks)
	switch {
	case !taken:
		return p.malformed != nil
	case err != nil:
		part.err = err
	default:
		part.info, part.moved = info, moved
		p.server.inPlace.Add(1)
	}
	return true
}

// ReceiveRest implements commitlog.Incoming. What follows the records is looked at
// before they are: a request that is malformed leaves no trace.
func (p *produce) ReceiveRest(memory []byte) error {
	after, err := p.rest.ReadInto(memory)
	if err != nil {
		return err
	}
	r := p.reader(after)
	r.Tags(nil) // of the partition
	r.Tags(nil) // of the topic
	r.Tags(nil) // of the request
	p.malformed = r.Err(p.call.header)
	return p.malformed
}
