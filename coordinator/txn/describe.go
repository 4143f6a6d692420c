package txn

import (
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// Describe replies with a DescribeReply (KIP-664).
func (x *Txns) Describe(_ time.Time, id string, token shard.Token, out *Outcome) {
	t := x.ids[id]
	if t == nil {
		out.Reply(token, nil, ErrNotFound)
		return
	}
	reply := &DescribeReply{
		Producer: t.identity(), State: t.State, Timeout: time.Duration(t.TimeoutMs) * time.Millisecond, Partitions: t.Partitions,
	}
	if t.StartMs != None {
		reply.Start = time.UnixMilli(t.StartMs)
	}
	out.Reply(token, reply, nil)
}

// List replies with a ListReply (KIP-664, KIP-994).
func (x *Txns) List(now time.Time, r *ListRequest, token shard.Token, out *Outcome) {
	reply := &ListReply{}
	for _, id := range x.inOrder() {
		if t := x.ids[id]; r.pass(now, t.Record) {
			reply.Transactions = append(reply.Transactions, Listed{id, t.ProducerID, t.State})
		}
	}
	out.Reply(token, reply, nil)
}

func (r *ListRequest) pass(now time.Time, t *Record) bool {
	if len(r.States) > 0 && !slices.Contains(r.States, t.State.String()) {
		return false
	}
	if len(r.ProducerIDs) > 0 && !slices.Contains(r.ProducerIDs, t.ProducerID) {
		return false
	}
	if r.OpenFor >= 0 && (t.State == Empty || t.State == CompleteCommit || t.State == CompleteAbort ||
		now.UnixMilli()-t.StartMs <= r.OpenFor.Milliseconds()) {
		return false
	}
	return r.Matches == nil || r.Matches(t.ID)
}
