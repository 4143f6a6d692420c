package replica

import (
	"slices"
	"sync"
	"time"

	"tidemark/broker/peer"
	"tidemark/internal/trace"
)

// fetcher asks one leader for many partitions, one request at a time, in turn: who
// got records goes to the end of the list, so that the bounds of a response starve
// nobody (Kafka's AbstractFetcherThread and PartitionStates).
type fetcher struct {
	*fetchers
	fetcherName
	wake chan struct{} // somebody entered, or may again

	mu    sync.Mutex
	list  []*asked // guarded by mu, as their fields are
	moved []*asked // room for rotate

	// Of the goroutine alone: the request, and whose answers are to come; the first
	// told of them came. got: some had records.
	request peer.FetchRequest
	turn    []turn
	told    int
	got     bool
}

// asked is a partition's place in a fetcher. Its fields are guarded by the fetcher's
// mu but for the first two, which do not change.
type asked struct {
	fetcher *fetcher
	p       *Partition

	question   peer.FetchPartition
	generation uint64
	// entered: it is in the list. paused: it waits for a sync.
	entered, paused bool
	// got: the last response had records for it.
	got bool
	// not before: an error put it off, the failures-th in a row.
	notBefore time.Time
	failures  int
	failure   string

	// What was last told of its requests; of the goroutine alone.
	said   fetchAnswered
	saidBy trace.ID
	pace   trace.Pace
}

// turn is a question under way.
type turn struct {
	asked      *asked
	generation uint64
	request    trace.ID // its event, if there is one
}

// enter puts the question in the place of an earlier one.
func (f *fetcher) enter(a *asked, q peer.FetchPartition, generation uint64) {
	f.mu.Lock()
	a.question, a.generation, a.paused = q, generation, false
	if !a.entered {
		a.entered, a.notBefore, a.failures = true, time.Time{}, 0
		f.list = append(f.list, a)
	}
	f.mu.Unlock()
	f.rouse()
}

func (f *fetcher) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// pause leaves the question out until the next.
func (a *asked) pause() {
	a.fetcher.mu.Lock()
	a.paused = true
	a.fetcher.mu.Unlock()
}

// leave gives the place up.
func (a *asked) leave() {
	f := a.fetcher
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.list, a); i >= 0 {
		f.list = slices.Delete(f.list, i, i+1)
	}
	a.entered = false
}

// state says in words what the fetcher does for a partition.
func (a *asked) state() string {
	a.fetcher.mu.Lock()
	defer a.fetcher.mu.Unlock()
	switch {
	case a.paused:
		return "waiting for a sync"
	case a.failure != "":
		return "backing off: " + a.failure
	}
	return "fetching"
}

// run asks until the fetchers are closed.
func (f *fetcher) run() {
	took := f.took
	for f.next() {
		f.told, f.got = 0, false
		err := f.leaders.Fetch(f.ctx, f.leader, f.index, f.request, took)
		if f.ctx.Err() == nil {
			f.ended(err)
		}
	}
}

// syncPatience is how long a request waits for partitions whose tail is being
// synced, and how long the leader may then keep it: it holds up those that are left
// out.
const syncPatience = 3 * time.Millisecond

// next makes the next request; false once all is closed.
func (f *fetcher) next() bool {
	for waited := false; ; {
		now := f.m.o.Clock.Now()
		paused, due := f.collect(now)
		switch {
		case f.ctx.Err() != nil:
			return false
		case len(f.turn) > 0 && paused && !waited:
			waited = true
			f.pause(syncPatience)
			continue
		case len(f.turn) > 0:
			o := &f.m.o.Fetch
			wait := o.WaitMax
			if paused {
				wait = syncPatience
			}
			f.request.ReplicaID, f.request.BrokerEpoch = f.m.o.BrokerID, f.m.brokerEpoch()
			f.request.MaxWaitMs, f.request.MinBytes, f.request.MaxBytes = int32(wait.Milliseconds()), o.MinBytes, o.ResponseMaxBytes
			f.request.Correlation = f.correlation.Add(1)
			f.trace()
			return true
		}
		f.pause(due)
	}
}

// trace tells of the requests.
func (f *fetcher) trace() {
	for i := range f.turn {
		if t := &f.turn[i]; t.asked.p.traced != nil {
			t.request = t.asked.request(&f.request.Partitions[i], f.request.Correlation)
		}
	}
}

// forAWhile is longer than nothing happens.
const forAWhile = time.Hour

// collect gathers the questions that are due now. It reports whether others wait for
// a sync, and how long it is until the next may be asked.
func (f *fetcher) collect(now time.Time) (paused bool, due time.Duration) {
	due = forAWhile
	f.request.Partitions, f.turn = f.request.Partitions[:0], f.turn[:0]
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.list {
		wait := time.Duration(0)
		if !a.notBefore.IsZero() {
			wait = a.notBefore.Sub(now)
		}
		if q := a.p.fetchQuota(); q != nil {
			wait = max(wait, q.wait())
		}
		switch {
		case a.paused:
			paused = true
		case wait > 0:
			due = min(due, wait)
		default:
			f.request.Partitions = append(f.request.Partitions, a.question)
			f.turn = append(f.turn, turn{asked: a, generation: a.generation})
		}
	}
	return paused, due
}

// pause waits so long, or until somebody enters or all is closed.
func (f *fetcher) pause(d time.Duration) {
	timer := f.m.o.Clock.AfterFunc(d, f.rouse)
	defer timer.Stop()
	select {
	case <-f.wake:
	case <-f.ctx.Done():
	}
}

// took tells the next answer; they come in the order of the questions.
func (f *fetcher) took(a *peer.FetchedPartition) {
	if f.ctx.Err() != nil {
		return
	}
	for ; f.told < len(f.turn); f.told++ {
		t, q := &f.turn[f.told], &f.request.Partitions[f.told]
		if a.TopicID != q.TopicID || a.Index != q.Index {
			f.failed(t.asked, leftOut)
			continue
		}
		f.told++
		if quota := t.asked.p.fetchQuota(); quota != nil {
			quota.note(int64(len(a.Records)))
		}
		if failure := t.asked.p.fetched(t.generation, t.request, q, a); failure != "" {
			f.failed(t.asked, failure)
			return
		}
		f.succeeded(t, len(a.Records) > 0)
		f.got = f.got || len(a.Records) > 0
		return
	}
}

const leftOut = "the leader left it out"

// ended tells those that got no answer, and whose turn is next.
func (f *fetcher) ended(err error) {
	why := leftOut
	if err != nil {
		why = err.Error()
	}
	for _, t := range f.turn[f.told:] {
		f.failed(t.asked, why)
	}
	if f.got {
		f.rotate()
	}
}

// firstBackoff is the wait after a first error; it doubles up to the configured one.
// A follower mostly hears of a new leader before the leader does.
const firstBackoff = 20 * time.Millisecond

func (f *fetcher) failed(a *asked, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := min(firstBackoff<<min(a.failures, 10), f.m.o.Fetch.Backoff)
	a.failures++
	a.failure, a.notBefore = why, f.m.o.Clock.Now().Add(wait)
	if a.failures == 3 {
		f.m.o.Logger.Warn("partition is not being fetched", "partition", a.p.ID().String(), "leader", f.leader, "error", why)
	}
}

func (f *fetcher) succeeded(t *turn, got bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t.asked.failures, t.asked.failure, t.asked.notBefore = 0, "", time.Time{}
	t.asked.got = got
}

// rotate moves those that got records behind the others.
func (f *fetcher) rotate() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.moved = f.moved[:0]
	kept := f.list[:0]
	for _, a := range f.list {
		if a.got {
			a.got = false
			f.moved = append(f.moved, a)
		} else {
			kept = append(kept, a)
		}
	}
	f.list = append(kept, f.moved...)
}
