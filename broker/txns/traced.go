package txns

import (
	"tidemark/coordinator/txn"
	"tidemark/internal/trace"
)

// watch is who tells of the transactions' states; nil while tracing is off.
func watch(to *trace.Tracer) func(*txn.Record) {
	if !to.On() {
		return nil
	}
	return func(r *txn.Record) {
		e := trace.Event{
			Kind: trace.Txn, Phase: r.State.String(), Key: r.ID, Producer: r.ProducerID, ProducerEpoch: int32(r.ProducerEpoch), Count: int64(len(r.Partitions)),
		}
		if r.Tombstone {
			e.Phase = txn.Dead.String()
		}
		to.Emit(e)
	}
}
