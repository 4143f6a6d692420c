package cleaner

import (
	"math"

	"tidemark/protocol/record"
)

// Last is what must be remembered of an active producer: the offset of its last
// data, -1 without, and its producer epoch (Kafka's LastRecord).
type Last struct {
	Offset int64
	Epoch  int16
}

// Stats count what a Filter has seen and kept; sizes are in bytes.
type Stats struct {
	BatchesRead, BatchesKept int64
	RecordsRead, RecordsKept int64
	BytesRead, BytesKept     int64
	// Keyless counts records without a key that were dropped: they were there
	// before the topic became a compacted one.
	Keyless int64
}

// Filter writes what stays of batches (Kafka's Cleaner.cleanInto and
// MemoryRecords.filterTo). It sees every batch of the log up to the end of the
// round, in the order of offsets. It is confined to one goroutine.
type Filter struct {
	// Map and Transactions know the section that is cleaned. A record behind
	// Map.Latest stays.
	Map          *OffsetMap
	Transactions *Transactions
	// Producers are the active ones by id: the batch with a producer's last
	// sequence stays, emptied if need be.
	Producers map[int64]Last
	// NowMs is the time of the round. DeleteRetentionMs (delete.retention.ms)
	// later, what it first found to be a tombstone or the marker of a
	// transaction without data may go.
	NowMs, DeleteRetentionMs int64
	// Limits bounds what a batch may decompress to.
	Limits record.Limits
	// Stats is the sum so far.
	Stats Stats

	// traversed are the producers with data since their last marker.
	traversed map[int64]struct{}
	rewriter  record.Rewriter
	rec       record.Record
	keep      []bool
}

// Append appends what stays of b to dst: all of it as it is, a new batch with
// fewer records, its header alone, or nothing. With stay, the batch is not
// dropped, so that its offsets stay known. The error says what is wrong with b.
func (f *Filter) Append(dst []byte, b record.Batch, stay bool) ([]byte, error) {
	f.Stats.BatchesRead++
	f.Stats.BytesRead += int64(b.Size())
	before := len(dst)
	dst, err := f.append(dst, b, stay || f.endsProducer(b))
	if err == nil && len(dst) > before {
		f.Stats.BatchesKept++
		f.Stats.BytesKept += int64(len(dst) - before)
	}
	return dst, err
}

func (f *Filter) append(dst []byte, b record.Batch, stay bool) ([]byte, error) {
	void, discard := f.judge(b)
	var found found
	if !discard {
		var err error
		if found, err = f.choose(b); err != nil {
			return dst, err
		}
	}
	f.Stats.RecordsRead += int64(max(b.Count(), 0))
	f.Stats.RecordsKept += int64(found.kept)
	switch mark := (found.tombstones || void) && !b.HasDeleteHorizon(); {
	case found.kept > 0 && mark:
		return f.rewriter.Rewrite(dst, b, f.keep, f.horizon(), f.Limits)
	case found.kept > 0 && found.kept == len(f.keep):
		return append(dst, b...), nil
	case found.kept > 0:
		return f.rewriter.Rewrite(dst, b, f.keep, record.NoTimestamp, f.Limits)
	case stay:
		return record.AppendEmpty(dst, b), nil
	default:
		return dst, nil
	}
}

// InTransaction says whether data of the producer was seen since its last marker:
// the marker that comes next stays.
func (f *Filter) InTransaction(producerID int64) bool {
	_, data := f.traversed[producerID]
	return data
}

// judge decides what the header decides: whether b is the marker of a
// transaction of which nothing is left, and whether all of its records go.
func (f *Filter) judge(b record.Batch) (void, discard bool) {
	if b.IsControl() {
		data := f.InTransaction(b.ProducerID())
		delete(f.traversed, b.ProducerID())
		return !data, !data && b.HasDeleteHorizon() && f.NowMs >= b.BaseTimestamp()
	}
	if !b.IsTransactional() {
		return false, false
	}
	if f.traversed == nil {
		f.traversed = map[int64]struct{}{}
	}
	f.traversed[b.ProducerID()] = struct{}{}
	return false, f.Transactions.Aborted(b)
}

// endsProducer says whether b holds what an active producer's state is made of.
func (f *Filter) endsProducer(b record.Batch) bool {
	last, ok := f.Producers[b.ProducerID()]
	switch {
	case !ok:
		return false
	case last.Offset >= 0:
		return b.LastOffset() == last.Offset
	default:
		return b.IsControl() && b.ProducerEpoch() == last.Epoch
	}
}

// found is what choose found in a batch.
type found struct {
	kept       int
	tombstones bool
}

// choose fills keep, an entry for each record of b.
func (f *Filter) choose(b record.Batch) (found, error) {
	r, err := b.Records(f.Limits)
	if err != nil {
		return found{}, err
	}
	defer r.Close()
	f.keep = f.keep[:0]
	out, order := found{}, order{last: -1}
	expired := b.HasDeleteHorizon() && f.NowMs >= b.BaseTimestamp()
	for r.Next(&f.rec) {
		if err := order.check(b, &f.rec); err != nil {
			return found{}, err
		}
		keep := b.IsControl() || f.keeps(b.BaseOffset()+int64(f.rec.OffsetDelta), expired)
		f.keep = append(f.keep, keep)
		if keep {
			out.kept++
			out.tombstones = out.tombstones || f.rec.Value == nil
		}
	}
	return out, r.Err()
}

// keeps says whether the data record in f.rec stays; expired, whether the delete
// horizon of its batch has passed.
func (f *Filter) keeps(offset int64, expired bool) bool {
	switch {
	case offset > f.Map.Latest():
		return true
	case f.rec.Key == nil:
		f.Stats.Keyless++
		return false
	case f.rec.Value == nil && expired:
		return false
	default:
		return offset >= f.Map.Greatest(f.rec.Key)
	}
}

// horizon is the delete horizon that batches get in this round.
func (f *Filter) horizon() int64 {
	if f.DeleteRetentionMs > math.MaxInt64-f.NowMs {
		return math.MaxInt64
	}
	return f.NowMs + f.DeleteRetentionMs
}
