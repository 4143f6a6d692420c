package memserver

import (
	"encoding/binary"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetch answers from the kept batches; only base offsets are written anew, the
// rest leaves from where it lies. It waits when there is nothing yet.
func (s *Server) fetch(r *kmsg.FetchRequest, correlation, out []byte) (net.Buffers, []byte, error) {
	deadline := time.Now().Add(time.Duration(r.MaxWaitMillis) * time.Millisecond)
	for {
		s.mu.Lock()
		grown, closed := s.grown, s.closed
		parts, grownOut, found := s.gather(r, correlation, out)
		s.mu.Unlock()
		rest := time.Until(deadline)
		if found || closed || rest <= 0 {
			return parts, grownOut, nil
		}
		s.waitGrowth(grown, rest)
	}
}

var be = binary.BigEndian

// piece is a stretch of the reply: written bytes up to an end in out, then a
// batch without its base offset.
type piece struct {
	outEnd int
	rest   []byte
}

// gather writes the reply of versions 4 to 11 (none of which is flexible).
func (s *Server) gather(r *kmsg.FetchRequest, correlation, out []byte) (parts net.Buffers, grown []byte, found bool) {
	var pieces []piece
	out = append(append(out[:0], 0, 0, 0, 0), correlation...)
	out = be.AppendUint32(out, 0) // throttle time
	if r.Version >= 7 {
		out = be.AppendUint16(out, 0)
		out = be.AppendUint32(out, 0) // no session
	}
	out = be.AppendUint32(out, uint32(len(r.Topics)))
	room := int(r.MaxBytes)
	for _, t := range r.Topics {
		out = be.AppendUint16(out, uint16(len(t.Topic)))
		out = append(out, t.Topic...)
		out = be.AppendUint32(out, uint32(len(t.Partitions)))
		known := s.topics[t.Topic]
		for _, asked := range t.Partitions {
			var p *partition
			if known != nil && asked.Partition >= 0 && int(asked.Partition) < len(known.partitions) {
				p = known.partitions[asked.Partition]
			}
			out = appendPartitionHead(out, r.Version, asked.Partition, p)
			atSize := len(out)
			out = be.AppendUint32(out, 0)
			if p == nil {
				continue
			}
			size := 0
			for offset := asked.FetchOffset; offset < p.end && p.cycle > 0; {
				batch, base, count := p.at(offset)
				if size > 0 && (size+len(batch) > int(asked.PartitionMaxBytes) || len(batch) > room) || size == 0 && room <= 0 {
					break
				}
				out = be.AppendUint64(out, uint64(base))
				pieces = append(pieces, piece{len(out), batch[8:]})
				size += len(batch)
				room -= len(batch)
				offset = base + count
			}
			be.PutUint32(out[atSize:], uint32(size))
			found = found || size > 0
		}
	}
	total, from := len(out), 0
	for _, p := range pieces {
		total += len(p.rest)
	}
	be.PutUint32(out, uint32(total-4))
	for _, p := range pieces {
		parts = append(parts, out[from:p.outEnd], p.rest)
		from = p.outEnd
	}
	return append(parts, out[from:]), out, found
}

func appendPartitionHead(out []byte, version int16, index int32, p *partition) []byte {
	code, end := codeUnknownTopic, int64(-1)
	if p != nil {
		code, end = 0, p.end
	}
	out = be.AppendUint32(out, uint32(index))
	out = be.AppendUint16(out, uint16(code))
	out = be.AppendUint64(out, uint64(end)) // high watermark
	out = be.AppendUint64(out, uint64(end)) // last stable offset
	if version >= 5 {
		out = be.AppendUint64(out, 0) // log start offset
	}
	out = be.AppendUint32(out, 0) // aborted transactions
	if version >= 11 {
		out = be.AppendUint32(out, ^uint32(0)) // preferred replica
	}
	return out
}

// at returns the kept batch that stands for offset, with the base offset and
// the number of records it then has.
func (p *partition) at(offset int64) (batch []byte, base, count int64) {
	round, within := offset/p.cycle*p.cycle, offset%p.cycle
	low, high := 0, len(p.start)
	for high-low > 1 {
		if mid := (low + high) / 2; p.start[mid] <= within {
			low = mid
		} else {
			high = mid
		}
	}
	end := p.cycle
	if low+1 < len(p.start) {
		end = p.start[low+1]
	}
	return p.kept[low], round + p.start[low], end - p.start[low]
}
