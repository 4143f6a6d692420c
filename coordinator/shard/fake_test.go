package shard

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/internal/clock"
	"tidemark/protocol/record"
)

var errRefused = errors.New("not enough in-sync replicas")

// fakeLog is a partition in memory whose high watermark moves when told to, or with
// each append.
type fakeLog struct {
	mu       sync.Mutex
	batches  []record.Batch
	end      int64
	start    int64
	hw       int64
	manual   bool // the high watermark stands until commit
	refuse   bool
	epoch    int32 // what appends must carry
	newer    bool  // what the last marker came with
	watchers map[int]func()
	watched  int
	reading  chan struct{} // where not nil, one element lets one Read go
}

func newLog() *fakeLog { return &fakeLog{watchers: map[int]func(){}, epoch: 1} }

func (l *fakeLog) LogStartOffset() int64 { l.mu.Lock(); defer l.mu.Unlock(); return l.start }
func (l *fakeLog) LogEndOffset() int64   { l.mu.Lock(); defer l.mu.Unlock(); return l.end }
func (l *fakeLog) HighWatermark() int64  { l.mu.Lock(); defer l.mu.Unlock(); return l.hw }

func (l *fakeLog) Read(dst []byte, offset int64, maxBytes int) ([]byte, error) {
	if l.reading != nil {
		<-l.reading
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, b := range l.batches {
		if b.NextOffset() <= offset {
			continue
		}
		if len(dst) > 0 && i > 0 && len(dst)+len(b) > maxBytes {
			break
		}
		dst = append(dst, b...)
	}
	return dst, nil
}

func (l *fakeLog) Append(leaderEpoch int32, b record.Batch) (int64, error) {
	l.mu.Lock()
	if l.refuse || leaderEpoch != l.epoch {
		l.mu.Unlock()
		return 0, errRefused
	}
	b = slices.Clone(b)
	b.SetBaseOffset(l.end)
	l.batches = append(l.batches, b)
	l.end = b.NextOffset()
	if !l.manual {
		l.hw = l.end
	}
	end, moved := l.end, l.movers()
	l.mu.Unlock()
	for _, m := range moved {
		m()
	}
	return end, nil
}

func (l *fakeLog) AppendMarker(leaderEpoch int32, m record.EndTxnMarker, newer bool) (int64, error) {
	l.set(func() { l.newer = newer })
	return l.Append(leaderEpoch, m.Batch())
}

// commit moves the high watermark to the end.
func (l *fakeLog) commit() {
	l.mu.Lock()
	l.hw = l.end
	moved := l.movers()
	l.mu.Unlock()
	for _, m := range moved {
		m()
	}
}

func (l *fakeLog) movers() (list []func()) {
	for _, m := range l.watchers {
		list = append(list, m)
	}
	return list
}

func (l *fakeLog) Watch(moved func()) (stop func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.watched++
	id := l.watched
	l.watchers[id] = moved
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, id)
	}
}

func (l *fakeLog) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
}

// diary is a machine that writes down what it is told.
type diary struct {
	loaded  chan<- struct{}
	entries []string
	// memory is state that the log does not know.
	memory  string
	expired []string
	waits   []Token
}

func (d *diary) Replay(from Origin, r string) {
	if from.Transactional {
		r = fmt.Sprintf("%s by %d", r, from.ProducerID)
	}
	d.entries = append(d.entries, fmt.Sprintf("%d:%s", from.Offset, r))
}

func (d *diary) EndTransaction(producer int64, _ int16, committed bool) {
	d.entries = append(d.entries, fmt.Sprintf("end of %d: %v", producer, committed))
}

func (d *diary) Loaded(_ time.Time, out *Outcome[string]) {
	out.Set(TimerKey{Name: "loaded"}, time.Hour)
	d.loaded <- struct{}{}
}

func (d *diary) Expire(_ time.Time, key TimerKey, out *Outcome[string]) {
	d.expired = append(d.expired, key.Name)
	if key.Name == "writes" {
		out.RecordsOnly = true
		out.Records = append(out.Records, "expired")
	}
}

// text is the codec of records that are their own values. A record "?" is of a kind
// that the machine does not know, "!" cannot be decoded.
type text struct{}

func (text) Encode(r string) (key, value []byte) { return []byte("k"), []byte(r) }
func (text) Decode(_, value []byte) (string, bool, error) {
	switch string(value) {
	case "?":
		return "", false, nil
	case "!":
		return "", false, errors.New("what is this")
	}
	return string(value), true, nil
}

type host = Host[*diary, string]

// stage is a host with one partition's log, a clock by hand, and what failed.
type stage struct {
	*testing.T
	*host
	clock *clock.Manual
	log   *fakeLog

	// loaded and failed tell of the ends of loads.
	loaded chan struct{}
	failed chan error
}

func newStage(t *testing.T) *stage {
	s := &stage{T: t, clock: clock.NewManual(time.Unix(0, 0)), log: newLog(), loaded: make(chan struct{}, 10), failed: make(chan error, 10)}
	s.host = New(Options[*diary, string]{
		Clock: s.clock, New: func(int32) *diary { return &diary{loaded: s.loaded} }, Codec: text{},
		CommitTimeout: 5 * time.Second, MaxQueued: 10, LoadBytes: 1 << 10,
		Failed: func(_ int32, err error) { s.failed <- err },
	})
	t.Cleanup(s.host.Close)
	return s
}

// elect makes the host leader of partition 0 and waits until it is loaded.
func (s *stage) elect() {
	s.Helper()
	s.Elected(0, 1, s.log)
	wait(s.T, s.loaded)
}

// wait receives what is on its way.
func wait[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatal("nothing comes")
		panic("unreachable")
	}
}

// send submits an operation; its reply comes on the channel.
func (s *stage) send(op Operation[*diary, string]) <-chan Reply {
	done := make(chan Reply, 1)
	s.Submit(0, op, func(r Reply) { done <- r })
	return done
}

// do submits an operation and waits for its reply.
func (s *stage) do(op Operation[*diary, string]) Reply {
	s.Helper()
	return s.get(s.send(op))
}

func (s *stage) get(c <-chan Reply) Reply {
	s.Helper()
	return wait(s.T, c)
}

// passed waits until the shard has run everything that was submitted before: an
// operation of its own, seen by the machine and not by its reply.
func (s *stage) passed() {
	s.Helper()
	ran := make(chan struct{})
	s.send(func(_ *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.Reply(token, nil, nil)
		close(ran)
	})
	wait(s.T, ran)
}

// silent fails if a reply is there.
func (s *stage) silent(c <-chan Reply, why string) {
	s.Helper()
	s.passed()
	select {
	case r := <-c:
		s.Fatalf("%s: got reply %+v", why, r)
	default:
	}
}

func write(text string) Operation[*diary, string] {
	return func(d *diary, _ time.Time, token Token, out *Outcome[string]) {
		out.RecordsOnly = true
		out.Records = append(out.Records, text)
		out.Reply(token, nil, nil)
	}
}

// read replies with the machine's entries.
func read(d *diary, _ time.Time, token Token, out *Outcome[string]) {
	entries := slices.Clone(d.entries)
	out.Reply(token, &entries, nil)
}

func (s *stage) entries() []string {
	s.Helper()
	r := s.do(read)
	if r.Err != nil {
		s.Fatal(r.Err)
	}
	return *r.Body.(*[]string)
}
