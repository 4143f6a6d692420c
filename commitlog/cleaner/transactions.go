package cleaner

import (
	"sort"

	"tidemark/protocol/record"
)

// Transactions knows which data of a section of a log was aborted. It is filled
// in the order of offsets, before the section is indexed: what ends a transaction
// lies behind its data. The zero value is ready. It is confined to one goroutine.
type Transactions struct {
	open    map[int64]int64 // first offset of the open transaction, by producer id
	aborted map[int64][]span
}

// span are the offsets of one transaction, its marker last.
type span struct{ first, marker int64 }

// Data notes a batch that is no control batch, of which only the header is
// looked at.
func (t *Transactions) Data(b record.Batch) {
	if !b.IsTransactional() {
		return
	}
	if t.open == nil {
		t.open = map[int64]int64{}
	}
	if _, ok := t.open[b.ProducerID()]; !ok {
		t.open[b.ProducerID()] = b.BaseOffset()
	}
}

// Marker notes that the producer's transaction ended at offset.
func (t *Transactions) Marker(producerID, offset int64, kind record.ControlType) {
	first, ok := t.open[producerID]
	if !ok {
		return
	}
	delete(t.open, producerID)
	if kind == record.Abort {
		if t.aborted == nil {
			t.aborted = map[int64][]span{}
		}
		t.aborted[producerID] = append(t.aborted[producerID], span{first, offset})
	}
}

// Undecided says whether a transaction that began before offset has no end yet.
func (t *Transactions) Undecided(offset int64) bool {
	for _, first := range t.open {
		if first < offset {
			return true
		}
	}
	return false
}

// Aborted says whether b is data of a transaction that was aborted.
func (t *Transactions) Aborted(b record.Batch) bool {
	if !b.IsTransactional() || b.IsControl() {
		return false
	}
	spans, offset := t.aborted[b.ProducerID()], b.BaseOffset()
	i := sort.Search(len(spans), func(i int) bool { return spans[i].marker > offset })
	return i < len(spans) && spans[i].first <= offset
}
