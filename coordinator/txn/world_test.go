package txn

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

var (
	errRefused = errors.New("not enough in-sync replicas")
	errMoved   = errors.New("not the coordinator any more")
)

// world is the shard of a machine under test: a log in memory whose high watermark
// moves when told to, timers that run when told to, replies handed to functions.
type world struct {
	options Options
	txns    *Txns
	now     time.Time
	log     []*Record
	// committed is the high watermark, epoch the coordinator's.
	committed int
	epoch     int32
	parked    []parked
	timers    map[shard.TimerKey]time.Time
	tokens    shard.Token
	waiting   map[shard.Token]func(shard.Reply)
	// refuse makes the log refuse the appends to come; lag keeps the high watermark
	// where it is.
	refuse, lag bool

	appended func(*Record)
}

// parked is what an outcome wants once the log is committed up to end.
type parked struct {
	end     int
	replies []shard.Reply
	timers  []shard.Timer
}

func newWorld(o Options) *world {
	w := &world{options: o, now: time.UnixMilli(0), appended: func(*Record) {}, waiting: map[shard.Token]func(shard.Reply){}}
	w.load()
	return w
}

// load makes the machine from the log, which does not hold all of a record.
func (w *world) load() {
	w.txns, w.timers, w.parked, w.committed = New(w.options), map[shard.TimerKey]time.Time{}, nil, len(w.log)
	w.epoch++
	for i, r := range w.log {
		read := *r
		read.PreviousEpoch = None
		w.txns.Replay(shard.Origin{Offset: int64(i)}, &read)
	}
	var out Outcome
	w.txns.Loaded(w.now, &out)
	w.carry(0, &out)
}

// failOver loses all but the committed part of the log and so many records more; who
// waits is told.
func (w *world) failOver(more int) {
	w.log = w.log[:min(w.committed+more, len(w.log))]
	tokens := make([]shard.Token, 0, len(w.waiting))
	for t := range w.waiting {
		tokens = append(tokens, t)
	}
	slices.Sort(tokens)
	w.load()
	for _, t := range tokens {
		w.answer(shard.Reply{Token: t, Err: errMoved})
	}
}

// do runs an operation; done hears its reply.
func (w *world) do(op func(x *Txns, now time.Time, token shard.Token, out *Outcome), done func(shard.Reply)) {
	w.tokens++
	token := w.tokens
	w.waiting[token] = done
	var out Outcome
	op(w.txns, w.now, token, &out)
	w.carry(token, &out)
}

// carry does what a shard does with an outcome.
func (w *world) carry(token shard.Token, out *Outcome) {
	if len(out.Records) > 0 && !out.RecordsOnly {
		panic("the machine went ahead of the log")
	}
	if len(out.Records) > 0 && w.refuse {
		if token != 0 {
			w.answer(shard.Reply{Token: token, Err: errRefused})
			return
		}
		for _, t := range out.Timers { // a shard asks the machine again
			w.timers[t.Key] = w.now.Add(5 * time.Second)
		}
		return
	}
	for _, r := range out.Records {
		w.log = append(w.log, r)
		w.appended(r)
		w.txns.Replay(shard.Origin{Offset: int64(len(w.log) - 1)}, r)
	}
	w.parked = append(w.parked, parked{len(w.log), out.Replies, out.Timers})
	if !w.lag {
		w.commit(len(w.log))
	}
}

// commit moves the high watermark and lets go what waited for it.
func (w *world) commit(to int) {
	w.committed = max(w.committed, to)
	for len(w.parked) > 0 && w.parked[0].end <= w.committed {
		p := w.parked[0]
		w.parked = w.parked[1:]
		for _, t := range p.timers {
			w.timers[t.Key] = w.now.Add(t.After)
		}
		for _, r := range p.replies {
			w.answer(r)
		}
	}
}

func (w *world) answer(r shard.Reply) {
	done := w.waiting[r.Token]
	if done == nil {
		panic("a second reply, or one to nobody")
	}
	delete(w.waiting, r.Token)
	done(r)
}

// advance lets time pass and timers run out, each at its time.
func (w *world) advance(d time.Duration) {
	for end := w.now.Add(d); ; {
		key, ok := w.next(end)
		if !ok {
			w.now = end
			return
		}
		w.now = w.timers[key]
		delete(w.timers, key)
		var out Outcome
		w.txns.Expire(w.now, key, &out)
		w.carry(0, &out)
	}
}

// next is the timer that runs out first, by the given end.
func (w *world) next(end time.Time) (key shard.TimerKey, ok bool) {
	for k, t := range w.timers {
		if !t.After(end) && (!ok || cmp.Or(t.Compare(w.timers[key]), cmp.Compare(k.Kind, key.Kind)) < 0) {
			key, ok = k, true
		}
	}
	return key, ok
}
