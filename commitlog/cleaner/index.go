package cleaner

import (
	"fmt"

	"tidemark/protocol/record"
)

// Indexer puts the keys of a section of a log into an OffsetMap (Kafka's
// Cleaner.buildOffsetMap). It is confined to one goroutine.
type Indexer struct {
	// Map was reset to From, the first offset of the section.
	Map  *OffsetMap
	From int64
	// Transactions know the section.
	Transactions *Transactions
	// Limits bounds what a batch may decompress to.
	Limits record.Limits

	rec record.Record
}

// Add puts the keys of the next batch into the map; full says that not all had
// room, and Map.Latest then lies before the first that had none. The error says
// what is wrong with the batch.
func (x *Indexer) Add(b record.Batch) (full bool, err error) {
	if b.LastOffset() < x.From {
		return false, nil
	}
	if !b.IsControl() && !x.Transactions.Aborted(b) {
		if full, err = x.addRecords(b); full || err != nil {
			return full, err
		}
	}
	x.Map.Advance(b.LastOffset())
	return false, nil
}

func (x *Indexer) addRecords(b record.Batch) (full bool, err error) {
	r, err := b.Records(x.Limits)
	if err != nil {
		return false, err
	}
	defer r.Close()
	order := order{last: -1}
	for r.Next(&x.rec) {
		if err := order.check(b, &x.rec); err != nil {
			return false, err
		}
		offset := b.BaseOffset() + int64(x.rec.OffsetDelta)
		if x.rec.Key == nil || offset < x.From {
			continue
		}
		if !x.Map.Put(x.rec.Key, offset) {
			x.Map.Advance(offset - 1)
			return true, nil
		}
	}
	return false, r.Err()
}

// order holds the records of a batch to the ascending offsets that every
// decision here relies on.
type order struct{ last int32 }

func (o *order) check(b record.Batch, rec *record.Record) error {
	if rec.OffsetDelta <= o.last || rec.OffsetDelta > b.LastOffsetDelta() {
		return fmt.Errorf("record at %d after %d in a batch from %d to %d: %w", b.BaseOffset()+int64(rec.OffsetDelta),
			b.BaseOffset()+int64(o.last), b.BaseOffset(), b.LastOffset(), record.ErrInvalidRecord)
	}
	o.last = rec.OffsetDelta
	return nil
}
