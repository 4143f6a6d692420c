package txn

import (
	"time"

	"tidemark/coordinator/shard"
)

// Add takes partitions into the open transaction, or begins one with them. The reply
// has ErrUnknownMapping, ErrFenced or ErrConcurrent, and is Kafka's
// handleAddPartitionsToTransaction.
func (x *Txns) Add(now time.Time, r *AddRequest, token shard.Token, out *Outcome) {
	t := x.ids[r.ID]
	if err := t.current(r.Producer); err != nil {
		out.Reply(token, nil, err)
		return
	}
	all := t.with(r.Partitions)
	if t.State == Ongoing && len(all) == len(t.Partitions) {
		out.Reply(token, nil, nil)
		return
	}
	n := t.next(now.UnixMilli())
	n.State, n.Partitions, n.ClientVersion = Ongoing, all, r.ClientVersion
	if t.State != Ongoing {
		n.StartMs = now.UnixMilli()
	}
	x.write(n, out)
	out.Reply(token, nil, nil)
}

// Verify replies with a VerifyReply which of the partitions are in the producer's
// open transaction, or with an error as Add does (KIP-890).
func (x *Txns) Verify(_ time.Time, r *VerifyRequest, token shard.Token, out *Outcome) {
	t := x.ids[r.ID]
	if err := t.current(r.Producer); err != nil {
		out.Reply(token, nil, err)
		return
	}
	reply := &VerifyReply{Errs: make([]error, len(r.Partitions))}
	for i, p := range r.Partitions {
		if !t.has(p) {
			reply.Errs[i] = ErrAbortable
		}
	}
	out.Reply(token, reply, nil)
}

// current says why the producer may not write to its transaction now; t may be nil.
// While a transaction is being ended that is ErrConcurrent, also for one that was
// told already which producer id comes next.
func (t *transaction) current(p Producer) error {
	switch {
	case t == nil:
		return ErrUnknownMapping
	case t.undone() && t.NextProducerID != None && p.ProducerID == t.NextProducerID && p.ProducerEpoch == 0:
		return ErrConcurrent
	case p.ProducerID != t.ProducerID:
		return ErrUnknownMapping
	case p.ProducerEpoch != t.ProducerEpoch:
		return ErrFenced
	case t.undone():
		return ErrConcurrent
	}
	return nil
}
