package txn

import (
	"time"

	"tidemark/coordinator/shard"
	"tidemark/internal/planted"
)

// Work replies with a WorkReply as soon as there are decisions that nobody carries
// out yet.
func (x *Txns) Work(_ time.Time, r *WorkRequest, token shard.Token, out *Outcome) {
	if x.worker != 0 {
		out.Reply(x.worker, &WorkReply{}, nil)
	}
	reply := &WorkReply{}
	for _, id := range x.inOrder() {
		if t := x.ids[id]; t.undone() && (r.All || !t.handed || planted.Is(planted.HandOutTwice)) {
			t.handed = true
			reply.Decisions = append(reply.Decisions, t.decision())
		}
	}
	x.worker = token
	if len(reply.Decisions) > 0 {
		x.worker = 0
		out.Reply(token, reply, nil)
	}
}

// decision is what markers are to say of an undone transaction.
func (r *Record) decision() Decision {
	return Decision{Producer: r.identity(), Commit: r.State == PrepareCommit, Version: r.ClientVersion, Partitions: r.Partitions}
}

// Complete ends the transaction of a decision whose markers are written.
func (x *Txns) Complete(now time.Time, r *CompleteRequest, token shard.Token, out *Outcome) {
	t := x.ids[r.ID]
	if t == nil || !t.undone() || t.identity() != r.Producer {
		out.Reply(token, nil, ErrInvalidState)
		return
	}
	n := t.next(now.UnixMilli())
	n.State, n.Partitions = CompleteAbort, nil
	if t.State == PrepareCommit {
		n.State = CompleteCommit
	}
	if t.NextProducerID != None {
		n.ProducerID, n.ProducerEpoch = t.NextProducerID, 0
	}
	x.write(n, out)
	out.Reply(token, nil, nil)
}
