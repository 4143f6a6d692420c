package txn

import (
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/planted"
)

// End decides a transaction and replies with an EndReply once the decision is
// committed: its markers follow. A request that is repeated gets the answer of the
// first, as far as it can be told from a new one:
//
//   - without Bump, by what became of the transaction;
//   - with Bump, by the epoch, which the first one raised.
//
// The reply may be ErrUnknownMapping, ErrFenced, ErrInvalidState or, while the
// markers are under way, ErrConcurrent. It is Kafka's endTransaction.
func (x *Txns) End(now time.Time, r *EndRequest, token shard.Token, out *Outcome) {
	t := x.ids[r.ID]
	repeated, err := t.mayEnd(r)
	if err != nil {
		out.Reply(token, nil, err)
		return
	}
	decide, err := t.outcome(r, repeated)
	switch {
	case decide:
		x.end(now, t, r, token, out)
	case err != nil:
		out.Reply(token, nil, err)
	default:
		out.Reply(token, &EndReply{t.ProducerID, t.ProducerEpoch}, nil)
	}
}

// outcome says whether the request is to be decided, or why it is refused; neither,
// where it was carried out before.
func (t *transaction) outcome(r *EndRequest, repeated bool) (decide bool, err error) {
	fresh := r.Bump && !repeated
	switch t.State {
	case PrepareCommit, PrepareAbort:
		if fresh || r.Commit == (t.State == PrepareCommit) {
			return false, ErrConcurrent
		}
	case CompleteCommit, CompleteAbort:
		if !fresh && r.Commit == (t.State == CompleteCommit) {
			return false, nil
		}
		if fresh && !r.Commit {
			return true, nil
		}
	default:
		switch {
		case repeated && !planted.Is(planted.LateEnd): // it is late: another transaction has begun, or another producer
			return false, ErrFenced
		case t.State == Ongoing || fresh && !r.Commit:
			return true, nil
		}
	}
	return false, ErrInvalidState
}

// mayEnd says whether the request is the transaction's producer's, and whether it is
// the repetition of one that raised the epoch; t may be nil.
func (t *transaction) mayEnd(r *EndRequest) (repeated bool, err error) {
	if t == nil {
		return false, ErrUnknownMapping
	}
	overflowed := r.Bump && r.ProducerID == t.PreviousProducerID && r.ProducerID != t.ProducerID && r.ProducerEpoch == lastEpoch && t.ProducerEpoch == 0
	switch {
	case overflowed:
		return true, nil
	case r.ProducerID != t.ProducerID:
		return false, t.current(r.Producer)
	case r.Bump && r.ProducerEpoch+1 == t.ProducerEpoch:
		return true, nil
	case r.ProducerEpoch != t.ProducerEpoch:
		return false, ErrFenced
	}
	return false, nil
}

// end writes the decision. The client's next transaction has the epoch above, or a
// fresh producer id where that one is not for clients. An abort without partitions
// is one that a client of transaction.version 2 may ask for where it cannot know
// whether a partition was added.
func (x *Txns) end(now time.Time, t *transaction, r *EndRequest, token shard.Token, out *Outcome) {
	n := t.next(now.UnixMilli())
	n.ClientVersion = min(t.ClientVersion, EpochBump-1) // its markers have the epoch of its data
	reply := &EndReply{t.ProducerID, t.ProducerEpoch}
	if r.Bump {
		if t.exhausted() && r.Fresh == None {
			out.Reply(token, nil, ErrNeedProducerID)
			return
		}
		n.ClientVersion = max(t.ClientVersion, EpochBump)
		n.ProducerEpoch, n.PreviousEpoch = t.ProducerEpoch+1, t.ProducerEpoch
		reply.ProducerEpoch = n.ProducerEpoch
		if t.exhausted() {
			n.NextProducerID = r.Fresh
			*reply = EndReply{r.Fresh, 0}
		}
	}
	if t.State != Ongoing {
		n.StartMs, n.Partitions = now.UnixMilli(), nil
	}
	x.decide(n, r.Commit, out)
	out.Reply(token, reply, nil)
}

// fence aborts an open transaction for somebody other than its producer, which finds
// its epoch outdated; previous is the epoch of a producer that asked for it and goes
// on, or None.
func (x *Txns) fence(now time.Time, t *transaction, previous int16, out *Outcome) {
	n := t.next(now.UnixMilli())
	n.ProducerEpoch, n.PreviousEpoch = t.ProducerEpoch+1, previous
	x.decide(n, false, out)
}

// decide writes n as a decision and gives it to the worker who waits.
func (x *Txns) decide(n *Record, commit bool, out *Outcome) {
	n.State = PrepareAbort
	if commit {
		n.State = PrepareCommit
	}
	x.write(n, out)
	if x.worker != 0 {
		out.Reply(x.worker, &WorkReply{[]Decision{n.decision()}}, nil)
	}
}
