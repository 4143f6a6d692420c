package replica

import (
	"cmp"
	"sync/atomic"
)

// Durability debt is what a power cut could take although a producer was told
// that it is written: the records that are acknowledged and not synced. Where
// acknowledgements wait for a sync (TopicConfig.Flush) there is never any.

// acked is how far a partition was acknowledged: the offset after the last record
// that a producer with acks=1 or acks=all was told of. acks=0 tells nobody
// anything. The cell is the partition's own or, with Options.AckCell, somebody's
// who keeps it beyond the process. A truncation lowers it: what another leader did not
// have is not owed any more.
type acked struct{ cell *atomic.Uint64 }

func (m *Manager) newAcked(logDir string) (acked, error) {
	if m.o.AckCell == nil {
		return acked{new(atomic.Uint64)}, nil
	}
	cell, err := m.o.AckCell(logDir)
	return acked{cell}, err
}

// raise makes an atomic cell at least to.
func raise[T cmp.Ordered](cell interface {
	Load() T
	CompareAndSwap(old, new T) bool
}, to T) {
	for {
		current := cell.Load()
		if to <= current || cell.CompareAndSwap(current, to) {
			return
		}
	}
}

// lower makes an atomic cell at most to.
func lower(cell *atomic.Uint64, to uint64) {
	for current := cell.Load(); current > to && !cell.CompareAndSwap(current, to); current = cell.Load() {
	}
}

// NoteAcknowledged says that a producer is about to be told that the batch which
// ends at last is written. It comes before the answer, so that whoever reads the
// cell after a crash finds at least what was told.
func (p *Partition) NoteAcknowledged(last int64) { raise(p.acked.cell, uint64(last+1)) }

// DurabilityDebt is how many acknowledged records are not on stable storage;
// those that were deleted since are owed to nobody.
func (p *Partition) DurabilityDebt() int64 {
	// The acknowledged end first: an end that became durable, and was
	// acknowledged for it, between the two reads would pass for debt.
	acknowledged := int64(p.acked.cell.Load())
	durable := max(p.log.RecoveryPoint(), p.log.LogStartOffset())
	return max(0, acknowledged-durable)
}
