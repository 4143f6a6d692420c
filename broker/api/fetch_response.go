package api

import (
	"encoding/binary"
	"io"
	"slices"

	"tidemark/broker/replica"
	"tidemark/commitlog"
	"tidemark/engines"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// writer starts the response.
func (f *fetch) writer(code wire.ErrorCode, topics int) *wire.FetchWriter {
	return wire.NewFetchWriter(f.call.header, wire.FetchHead{ErrorCode: code}, topics)
}

// respond reads the partitions in the order of the request until the response is
// full. The first that has anything gives at least one whole batch, whatever the
// limits (KIP-74); the others stop at them.
func (f *fetch) respond() *wire.Response {
	w := f.writer(wire.None, f.topics)
	left := max(f.maxBytes, 0)
	empty := true
	var elsewhere []int32
	for i := range f.parts {
		part := &f.parts[i]
		if part.newTopic {
			w.Topic(part.topic, part.id, int(part.siblings))
		}
		answer := f.answer(i, left, empty)
		if f.replica >= 0 && part.partition != nil && part.partition.Traced() {
			f.traceAnswer(part, &answer)
		}
		if answer.Records != nil {
			left = max(left-answer.Records.Len(), 0)
			empty = false
		}
		if answer.CurrentLeader != nil {
			elsewhere = append(elsewhere, answer.CurrentLeader.LeaderID)
		}
		w.Partition(&answer)
	}
	return w.Finish(f.server.endpoints(elsewhere))
}

// answer reads one partition.
func (f *fetch) answer(i int, left int64, empty bool) wire.FetchPartition {
	part := &f.parts[i]
	a := wire.FetchPartition{
		Index: part.index, PreferredReadReplica: part.preferred,
		HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
	}
	if f.replica >= 0 && f.tellFollower(&a, i) {
		return a
	}
	if part.err != nil {
		f.tell(&a, part, part.err)
		return a
	}
	read := part.read
	read.MaxBytes = min(read.MaxBytes, left)
	read.WholeBatch = empty
	if left == 0 && !empty || part.preferred >= 0 || f.replica >= 0 && part.partition.HoldsBack(f.replica) {
		read.MaxBytes, read.WholeBatch = 0, false
	}
	var err error
	if f.replica < 0 {
		a.DivergingEpoch, err = part.diverged()
	}
	if err != nil || a.DivergingEpoch != nil {
		read.MaxBytes, read.WholeBatch = 0, false
	}
	if read.Isolation == replica.ReadCommitted {
		read.Aborted = new([]commitlog.AbortedTxn)
	}
	chunk, offsets, readErr := part.readChunk(read, f.call.header.Version)
	a.HighWatermark, a.LastStableOffset, a.LogStartOffset = offsets.HighWatermark, offsets.LastStable, offsets.LogStart
	if err == nil {
		err = readErr
	}
	if err != nil {
		f.tell(&a, part, err)
		return a
	}
	a.Records = chunk
	if f.replica >= 0 && chunk != nil {
		part.partition.NoteSent(f.replica, read.Offset, chunk.Len())
	}
	if read.Aborted != nil {
		a.Aborted = aborted(*read.Aborted)
	}
	return a
}

// aborted is what a reader of committed data is told to skip; it is not null.
func aborted(txns []commitlog.AbortedTxn) []wire.AbortedTransaction {
	out := make([]wire.AbortedTransaction, len(txns))
	for i, t := range txns {
		out[i] = wire.AbortedTransaction{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset}
	}
	return out
}

// tell puts an error, and who leads instead, into the answer.
func (f *fetch) tell(a *wire.FetchPartition, part *fetchPart, err error) {
	a.ErrorCode = partitionCode(err)
	a.CurrentLeader = f.server.leaderInstead(a.ErrorCode, part.topic, part.index)
}

// leaderInstead is who leads a partition, for the errors that ask the client to go
// elsewhere (KIP-951); nil for other errors and where nobody is known.
func (s *Server) leaderInstead(code wire.ErrorCode, topic string, index int32) *wire.LeaderEpoch {
	if code != wire.NotLeaderOrFollower && code != wire.FencedLeaderEpoch {
		return nil
	}
	l := wire.LeaderEpoch{LeaderID: -1, LeaderEpoch: -1}
	if t := s.o.Metadata.View().Topic(topic); t != nil {
		if p, ok := t.Partition(index); ok {
			l.LeaderID, l.LeaderEpoch = p.Leader, p.LeaderEpoch
		}
	}
	// A replica hears of its leader before clients' metadata does.
	if p := s.o.Replicas.Partition(topic, index); p != nil {
		if leader, epoch := p.Leader(); epoch > l.LeaderEpoch {
			l.LeaderID, l.LeaderEpoch = leader, epoch
		}
	}
	if l.LeaderID < 0 {
		return nil
	}
	return &l
}

// endpoints says where the named leaders listen, each once.
func (s *Server) endpoints(leaders []int32) []wire.NodeEndpoint {
	var out []wire.NodeEndpoint
	for i, id := range leaders {
		if slices.Contains(leaders[:i], id) {
			continue
		}
		if b, ok := s.o.Metadata.View().Broker(id); ok {
			e := wire.NodeEndpoint{NodeID: b.ID, Host: b.Host, Port: b.Port}
			if b.Rack != "" {
				e.Rack = &b.Rack
			}
			out = append(out, e)
		}
	}
	return out
}

// diverged returns where the fetcher's last leader epoch ends in this log, if the
// fetcher has records beyond that (KIP-595's truncation on fetch). An epoch that
// this log cannot place is out of its range, as in Kafka's Partition.
func (part *fetchPart) diverged() (*wire.EpochEnd, error) {
	if part.lastEpoch < 0 {
		return nil, nil
	}
	epoch, end, err := part.partition.EndOffsetForEpoch(part.lastEpoch)
	switch {
	case err != nil:
		return nil, err
	case epoch < 0 || end < 0:
		return nil, commitlog.ErrOffsetOutOfRange
	case epoch < part.lastEpoch || end < part.read.Offset:
		return &wire.EpochEnd{Epoch: epoch, EndOffset: end}, nil
	}
	return nil, nil
}

// readChunk reads; a client from before zstd gets an error instead of batches
// that it cannot read.
func (part *fetchPart) readChunk(read replica.ReadRequest, version int16) (engines.Chunk, replica.Offsets, error) {
	chunk, offsets, err := part.partition.Read(read)
	if err != nil || chunk == nil || version >= firstZstdFetch {
		return chunk, offsets, err
	}
	var scan codecScan
	_, err = chunk.WriteTo(&scan)
	chunk.Release()
	if err != nil {
		return nil, offsets, err
	}
	if scan.zstd {
		return nil, offsets, record.ErrUnsupportedCodec
	}
	return part.partition.Read(read)
}

// codecScan looks through the headers of the batches written to it.
type codecScan struct {
	header [record.HeaderSize]byte
	have   int   // bytes of header that are there
	skip   int64 // bytes of the current batch that are still to come
	zstd   bool
}

var _ io.Writer = (*codecScan)(nil)

// Write takes the next bytes.
func (s *codecScan) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if s.skip > 0 {
			step := min(s.skip, int64(len(p)))
			s.skip -= step
			p = p[step:]
			continue
		}
		took := copy(s.header[s.have:], p)
		s.have += took
		p = p[took:]
		if s.have < len(s.header) {
			break
		}
		s.zstd = s.zstd || record.Batch(s.header[:]).Codec() == record.Zstd
		s.skip = 12 + int64(binary.BigEndian.Uint32(s.header[8:])) - record.HeaderSize
		s.have = 0
	}
	return n, nil
}
