package group

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

// world is the shard of a machine under test: a log in memory, timers that run when
// told to, replies handed to a function. Everything is committed at once.
type world struct {
	options Options
	groups  *Groups
	now     time.Time
	log     []logged
	timers  map[shard.TimerKey]pendingTime
	set     int // counts settings of timers, to order equal deadlines
	tokens  shard.Token
	waiting map[shard.Token]bool
	// refuse makes the log refuse the appends to come.
	refuse bool

	appended func(Record)
	replied  func(shard.Reply)
	timed    func(shard.Timer)
	expired  func(shard.TimerKey)
	reloaded func()
	stepped  func()
}

type logged struct {
	from   shard.Origin
	record Record // nil for the end of a transaction
	commit bool
}

type pendingTime struct {
	due   time.Time
	order int
}

func newWorld(o Options) *world {
	w := &world{
		options: o, now: time.UnixMilli(0), waiting: map[shard.Token]bool{}, timers: map[shard.TimerKey]pendingTime{},
		appended: func(Record) {}, replied: func(shard.Reply) {}, timed: func(shard.Timer) {},
		expired: func(shard.TimerKey) {}, reloaded: func() {}, stepped: func() {},
	}
	w.load()
	return w
}

// load makes the machine from the log.
func (w *world) load() {
	w.groups = New(w.options)
	for _, l := range w.log {
		if l.record == nil {
			w.groups.EndTransaction(l.from.ProducerID, l.from.ProducerEpoch, l.commit)
		} else {
			w.groups.Replay(l.from, l.record)
		}
	}
	var out Outcome
	w.groups.Loaded(w.now, &out)
	w.carry(0, &out)
}

// failOver loses everything but the log; all who wait are told.
func (w *world) failOver() {
	tokens := make([]shard.Token, 0, len(w.waiting))
	for t := range w.waiting {
		tokens = append(tokens, t)
	}
	slices.Sort(tokens)
	clear(w.timers)
	for _, t := range tokens {
		w.answer(shard.Reply{Token: t, Err: errMoved})
	}
	w.reloaded()
	w.load()
}

// do runs an operation and returns its token.
func (w *world) do(op func(g *Groups, now time.Time, token shard.Token, out *Outcome)) shard.Token {
	w.tokens++
	w.waiting[w.tokens] = true
	token := w.tokens
	var out Outcome
	op(w.groups, w.now, token, &out)
	w.carry(token, &out)
	w.stepped()
	return token
}

// carry does what a shard does with an outcome.
func (w *world) carry(token shard.Token, out *Outcome) {
	if len(out.Records) > 0 && w.refuse {
		if token != 0 {
			w.answer(shard.Reply{Token: token, Err: errRefused})
		}
		if !out.RecordsOnly {
			w.failOver()
		}
		return
	}
	for _, r := range out.Records {
		from := shard.Origin{Offset: int64(len(w.log)), Transactional: out.Transactional, ProducerID: out.ProducerID, ProducerEpoch: out.ProducerEpoch}
		w.log = append(w.log, logged{from: from, record: r})
		w.appended(r)
		w.groups.Replay(from, r)
	}
	for _, t := range out.Timers {
		w.timed(t)
		delete(w.timers, t.Key)
		if !t.Cancel {
			w.set++
			w.timers[t.Key] = pendingTime{w.now.Add(t.After), w.set}
		}
	}
	for _, r := range out.Replies {
		w.answer(r)
	}
}

func (w *world) answer(r shard.Reply) {
	if !w.waiting[r.Token] {
		panic("a second reply, or one to nobody")
	}
	delete(w.waiting, r.Token)
	w.replied(r)
}

// end decides a producer's transaction.
func (w *world) end(producer int64, commit bool) {
	from := shard.Origin{Offset: int64(len(w.log)), ProducerID: producer}
	w.log = append(w.log, logged{from: from, commit: commit})
	w.groups.EndTransaction(producer, 0, commit)
}

// advance lets time pass and timers run out, each at its time.
func (w *world) advance(d time.Duration) {
	end := w.now.Add(d)
	for {
		key, ok := w.next(end)
		if !ok {
			break
		}
		w.now = w.timers[key].due
		w.fire(key)
	}
	w.now = end
}

// fire lets one timer run out now.
func (w *world) fire(key shard.TimerKey) {
	delete(w.timers, key)
	w.expired(key)
	var out Outcome
	w.groups.Expire(w.now, key, &out)
	refused := w.refuse && len(out.Records) > 0 && out.RecordsOnly
	w.carry(0, &out)
	if refused { // a shard tries again
		w.set++
		w.timers[key] = pendingTime{w.now.Add(5 * time.Second), w.set}
	}
	w.stepped()
}

// next is the timer that runs out first, by the given end.
func (w *world) next(end time.Time) (key shard.TimerKey, ok bool) {
	for k, t := range w.timers {
		if t.due.After(end) {
			continue
		}
		best := w.timers[key]
		if !ok || cmp.Or(t.due.Compare(best.due), cmp.Compare(t.order, best.order)) < 0 {
			key, ok = k, true
		}
	}
	return key, ok
}
