package txn

import (
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/planted"
)

// Init gives a transactional id an identity that outdates every earlier one, and
// replies with an InitReply. An open transaction is aborted first, in the meantime
// the answer is ErrConcurrent, as it is while a transaction is being ended; clients
// come back. A producer that says which identity it had (KIP-360) is refused with
// ErrFenced where another one has come since. It is Kafka's handleInitProducerId.
func (x *Txns) Init(now time.Time, r *InitRequest, token shard.Token, out *Outcome) {
	if r.Timeout <= 0 || r.Timeout > x.options.MaxTimeout {
		out.Reply(token, nil, ErrInvalidTimeout)
		return
	}
	t := x.ids[r.ID]
	switch {
	case t == nil:
		x.initFirst(now, r, token, out)
	case !t.mayInit(r):
		out.Reply(token, nil, ErrFenced)
	case t.undone():
		out.Reply(token, nil, ErrConcurrent)
	case t.State == Ongoing && !planted.Is(planted.InitLeavesOpen):
		x.fence(now, t, r.ProducerEpoch, out)
		out.Reply(token, nil, ErrConcurrent)
	case t.exhausted() && (r.ProducerID == None || r.continues(t) || t.ProducerEpoch > lastEpoch):
		x.initRotated(now, t, r, token, out)
	default:
		x.initRaised(now, t, r, token, out)
	}
}

// mayInit says whether the identity that a producer had is one that may go on. An
// outdated one must not end the transaction of the producer that took its place.
func (r *Record) mayInit(q *InitRequest) bool {
	switch {
	case q.ProducerID == None:
		return true
	case q.ProducerID != r.ProducerID:
		return q.ProducerID == r.PreviousProducerID && q.ProducerEpoch == lastEpoch && r.State != Ongoing
	}
	return q.ProducerEpoch == r.ProducerEpoch || q.ProducerEpoch == r.PreviousEpoch && r.State != Ongoing
}

// continues says that the producer has the present identity. With an earlier one that
// mayInit lets pass, its request is repeated.
func (r *InitRequest) continues(t *transaction) bool {
	return r.ProducerID == t.ProducerID && r.ProducerEpoch == t.ProducerEpoch
}

// initFirst makes a transactional id known.
func (x *Txns) initFirst(now time.Time, r *InitRequest, token shard.Token, out *Outcome) {
	if r.Fresh == None {
		out.Reply(token, nil, ErrNeedProducerID)
		return
	}
	x.grant(&Record{
		ID: r.ID, ProducerID: r.Fresh, PreviousProducerID: None, NextProducerID: None, PreviousEpoch: None,
		StartMs: None, UpdateMs: now.UnixMilli(),
	}, r, token, out)
}

// initRotated gives another producer id, whose epochs begin anew.
func (x *Txns) initRotated(now time.Time, t *transaction, r *InitRequest, token shard.Token, out *Outcome) {
	if r.Fresh == None {
		out.Reply(token, nil, ErrNeedProducerID)
		return
	}
	n := t.next(now.UnixMilli())
	n.ProducerID, n.ProducerEpoch, n.PreviousEpoch = r.Fresh, 0, None
	if r.ProducerID != None {
		n.PreviousEpoch = t.ProducerEpoch
	}
	x.grant(n, r, token, out)
}

// initRaised gives the next epoch, or the present one again to a producer whose
// request is repeated.
func (x *Txns) initRaised(now time.Time, t *transaction, r *InitRequest, token shard.Token, out *Outcome) {
	n := t.next(now.UnixMilli())
	switch {
	case r.ProducerID == None:
		n.ProducerEpoch, n.PreviousEpoch = t.ProducerEpoch+1, None
	case r.continues(t):
		n.ProducerEpoch, n.PreviousEpoch = t.ProducerEpoch+1, t.ProducerEpoch
	}
	x.grant(n, r, token, out)
}

// grant writes an identity without a transaction and replies with it.
func (x *Txns) grant(n *Record, r *InitRequest, token shard.Token, out *Outcome) {
	n.State, n.Partitions, n.StartMs, n.TimeoutMs = Empty, nil, None, int32(r.Timeout.Milliseconds())
	x.write(n, out)
	out.Reply(token, &InitReply{n.ProducerID, n.ProducerEpoch}, nil)
}
