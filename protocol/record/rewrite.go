package record

// Rewriter builds what compaction leaves of batches, reusing its buffers
// (Kafka's MemoryRecords.filterTo). It is confined to one goroutine.
type Rewriter struct {
	plain       []byte
	rec         Record
	compressors [Zstd + 1]compressor
}

// Rewrite appends to dst the batch b with those of its records for which keep,
// indexed by their place in b, is true: at least one, and keep is as long as b
// has records. Offsets, timestamps, producer, leader epoch, flags and codec stay
// as they are, the last offset with them, so that the producer's last sequence
// is not lost. horizonMs is the delete horizon the batch gets, or NoTimestamp
// for the one it has, if any.
//
// With a horizon the base timestamp is that (KIP-534), without one it is the
// timestamp of the first record kept; the largest is that of the records kept.
func (w *Rewriter) Rewrite(dst []byte, b Batch, keep []bool, horizonMs int64, l Limits) ([]byte, error) {
	h := header{
		attributes: b.Attributes(), lastOffsetDelta: b.LastOffsetDelta(), baseTimestamp: horizonMs, maxTimestamp: NoTimestamp,
		producerID: b.ProducerID(), producerEpoch: b.ProducerEpoch(), baseSequence: b.BaseSequence(),
	}
	if horizonMs == NoTimestamp && b.HasDeleteHorizon() {
		h.baseTimestamp = b.BaseTimestamp()
	} else if horizonMs != NoTimestamp {
		h.attributes |= bitDeleteHorizon
	}
	if err := w.gather(b, keep, &h, l); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, b[:HeaderSize]...)
	if c := w.compressor(b.Codec()); c != nil {
		dst = c.compress(dst, w.plain)
	} else {
		dst = append(dst, w.plain...)
	}
	out := Batch(dst[start:])
	out.putHeader(h)
	out.SetBaseOffset(b.BaseOffset())
	out.SetLeaderEpoch(b.LeaderEpoch())
	return dst, nil
}

// gather writes the records kept to plain, and what the header says of them.
func (w *Rewriter) gather(b Batch, keep []bool, h *header, l Limits) error {
	w.plain = w.plain[:0]
	r, err := b.Records(l)
	if err != nil {
		return err
	}
	defer r.Close()
	hasBase := h.attributes&bitDeleteHorizon != 0
	for i := 0; r.Next(&w.rec); i++ {
		if !keep[i] {
			continue
		}
		timestamp := b.BaseTimestamp() + w.rec.TimestampDelta
		if b.IsLogAppendTime() {
			timestamp = b.MaxTimestamp()
		}
		if !hasBase {
			h.baseTimestamp, hasBase = timestamp, true
		}
		if h.count == 0 || timestamp > h.maxTimestamp {
			h.maxTimestamp = timestamp
		}
		w.rec.TimestampDelta = timestamp - h.baseTimestamp
		w.plain = w.rec.appendTo(w.plain)
		h.count++
	}
	return r.Err()
}

func (w *Rewriter) compressor(c Codec) compressor {
	if c == None {
		return nil
	}
	if w.compressors[c] == nil {
		w.compressors[c] = newCompressor(c, DefaultLevel)
	}
	return w.compressors[c]
}

// AppendEmpty appends to dst the header of b without records (Kafka's
// DefaultRecordBatch.writeEmptyHeader): it keeps the offsets, the producer's
// sequences and the leader epoch where compaction has taken all records.
func AppendEmpty(dst []byte, b Batch) []byte {
	start := len(dst)
	dst = append(dst, b[:HeaderSize]...)
	out := Batch(dst[start:])
	out.putHeader(header{
		attributes:      b.Attributes() &^ (codecMask | bitDeleteHorizon),
		lastOffsetDelta: b.LastOffsetDelta(), baseTimestamp: NoTimestamp, maxTimestamp: b.MaxTimestamp(),
		producerID: b.ProducerID(), producerEpoch: b.ProducerEpoch(), baseSequence: b.BaseSequence(),
	})
	out.SetBaseOffset(b.BaseOffset())
	out.SetLeaderEpoch(b.LeaderEpoch())
	return dst
}
