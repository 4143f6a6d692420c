package api

import (
	"fmt"
	"time"

	"tidemark/protocol/wire"
)

// maxPartitions bounds the partitions that one Produce or Fetch may name; a
// further one makes the request malformed.
const maxPartitions = 100_000

// decode splits the body; records stay where they are.
func (p *produce) decode() error {
	r := p.reader(p.call.body)
	p.decodeStart(&r)
	for topics := r.Array(5); topics > 0 && !r.Bad; topics-- {
		topic := r.Text()
		partitions := r.Array(5)
		for i := range partitions {
			part := producePart{topic: topic, newTopic: i == 0, index: r.Int32(), records: r.Bytes()}
			r.Tags(nil)
			if r.Bad {
				break
			}
			if len(p.parts) == maxPartitions {
				return fmt.Errorf("%w: more than %d partitions", wire.ErrMalformed, maxPartitions)
			}
			p.parts = append(p.parts, part)
		}
		r.Tags(nil)
	}
	r.Tags(nil)
	return r.Err(p.call.header)
}

// reader decodes a part of the body.
func (p *produce) reader(src []byte) wire.Reader {
	return wire.Reader{Src: src, Flexible: p.call.header.Version >= firstFlexibleProduce}
}

// decodeStart reads what precedes the topics.
func (p *produce) decodeStart(r *wire.Reader) {
	p.txnID = r.Text()
	p.acks = r.Int16()
	p.timeout = time.Duration(max(r.Int32(), 0)) * time.Millisecond
}
