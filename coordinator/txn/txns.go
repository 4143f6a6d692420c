package txn

import (
	"maps"
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// Txns is the state of one partition of __transaction_state: the transactional ids
// that hash to it. It is confined to its shard's goroutine and implements
// shard.Machine.
//
// Every operation has the form X(now, request, token, out): the token's reply is in
// out, except for Work's, which may come in the outcome of a later operation.
type Txns struct {
	options Options
	ids     map[string]*transaction
	// worker waits for a decision, or is zero.
	worker shard.Token
	// loaded says that what is replayed was written by this machine.
	loaded bool
}

// transaction is the newest record of a transactional id.
type transaction struct {
	*Record
	// handed says that the decision was given to a worker.
	handed bool
}

// New returns a partition without transactional ids.
func New(o Options) *Txns { return &Txns{options: o, ids: map[string]*transaction{}} }

// The kinds of timers.
const (
	abortTimer int8 = iota + 1
	expireTimer
)

// Replay implements shard.Machine. Whoever waited for a decision is answered by the
// outcome that wrote it.
func (x *Txns) Replay(_ shard.Origin, r *Record) {
	if x.loaded && x.options.Watch != nil {
		x.options.Watch(r)
	}
	if r.Tombstone {
		delete(x.ids, r.ID)
		return
	}
	t := &transaction{Record: r}
	if r.undone() && x.worker != 0 {
		t.handed, x.worker = true, 0
	}
	x.ids[r.ID] = t
}

// EndTransaction implements shard.Machine; nobody's transaction writes to this topic.
func (x *Txns) EndTransaction(int64, int16, bool) {}

// Loaded implements shard.Machine.
func (x *Txns) Loaded(_ time.Time, out *Outcome) {
	x.loaded = true
	out.Set(shard.TimerKey{Kind: abortTimer}, x.options.AbortInterval)
	out.Set(shard.TimerKey{Kind: expireTimer}, x.options.ExpireInterval)
}

// Expire implements shard.Machine.
func (x *Txns) Expire(now time.Time, key shard.TimerKey, out *Outcome) {
	switch key.Kind {
	case abortTimer:
		x.abortTimedOut(now, out)
	case expireTimer:
		x.expireIDs(now, out)
	}
}

// write adds a record; all that an operation changes is in its records.
func (x *Txns) write(r *Record, out *Outcome) {
	out.RecordsOnly = true
	out.Records = append(out.Records, r)
}

// inOrder lists the transactional ids.
func (x *Txns) inOrder() []string { return slices.Sorted(maps.Keys(x.ids)) }
