// Package ledger keeps what producers did, so that a reader can be checked against
// it: for every producer and partition a contiguous sequence, and of each record
// whether it was acknowledged and at which offset, or refused. What is neither is
// unknown: it may turn up or not.
//
// States are intervals, so memory follows anomalies and not records: an undisturbed
// producer that has a partition to itself takes a few dozen bytes for any number of
// records. Several producers that share a partition take 24 bytes for each batch.
//
// The ledger judges nothing; package check does.
package ledger

import (
	"slices"
	"sort"
	"sync"

	"tidemark/internal/invariant"
)

// Ledger is every account of one run. Its methods may be called concurrently.
type Ledger struct {
	// Run is in every record.
	Run uint32

	mu       sync.Mutex
	accounts map[Stream]*Account
}

// New is an empty ledger.
func New(run uint32) *Ledger { return &Ledger{Run: run, accounts: map[Stream]*Account{}} }

// Account returns the account of a stream and opens it the first time.
func (l *Ledger) Account(s Stream) *Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[s]
	if a == nil {
		a = &Account{run: l.Run, stream: s}
		l.accounts[s] = a
	}
	return a
}

// Views are all accounts as they stand, ordered by topic, partition, producer.
func (l *Ledger) Views() []View {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]View, 0, len(l.accounts))
	for _, a := range l.accounts {
		out = append(out, a.View())
	}
	sort.Slice(out, func(i, k int) bool {
		a, b := out[i].Stream, out[k].Stream
		if a.Topic != b.Topic {
			return a.Topic < b.Topic
		}
		if a.Partition != b.Partition {
			return a.Partition < b.Partition
		}
		return a.Producer < b.Producer
	})
	return out
}

// Ack is a stretch of acknowledged records: sequence First+i lies at Offset+i for
// every i below Count.
type Ack struct {
	First, Count uint64
	Offset       int64
}

func (a Ack) end() uint64 { return a.First + a.Count }

// joins reports whether b goes on where a ends, in sequence and in offset.
func (a Ack) joins(b Ack) bool {
	return a.end() == b.First && a.Offset+int64(a.Count) == b.Offset
}

// mark says when a sequence was acknowledged.
type mark struct {
	seq uint64
	at  int64
}

// markEvery is how far apart marks are: they bound the memory of times.
const markEvery = 1_000_000

// Account is the books of one stream. One goroutine sends; acknowledgements may
// come from another.
type Account struct {
	run    uint32
	stream Stream

	mu     sync.Mutex
	next   uint64
	acks   []Ack // by First, disjoint, none joining the next
	failed Spans
	marks  []mark
}

// Stamp takes the next sequence and writes its record into value; see Record.Put.
func (a *Account) Stamp(value []byte, nowNs int64) (seq uint64) {
	a.mu.Lock()
	seq = a.next
	a.next++
	a.mu.Unlock()
	Record{Run: a.run, Stream: a.stream, Seq: seq, SentNs: nowNs}.Put(value)
	return seq
}

// Acked notes that count records from seq on were acknowledged at offset and the
// following ones. A record is settled once.
func (a *Account) Acked(seq, count uint64, offset, nowNs int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if count == 0 || seq+count > a.next { // apart, because arguments would be boxed for every record
		invariant.Check(false, "%v: acknowledged %d records from %d on, of %d sent", a.stream, count, seq, a.next)
	}
	if n := len(a.marks); n == 0 || nowNs-a.marks[n-1].at >= markEvery && seq > a.marks[n-1].seq {
		a.marks = append(a.marks, mark{seq, nowNs})
	}
	ack := Ack{seq, count, offset}
	if n := len(a.acks); n > 0 && a.acks[n-1].joins(ack) {
		a.acks[n-1].Count += count
		return
	}
	a.insert(ack)
}

// insert puts an acknowledgement into its place and joins it with its neighbours.
func (a *Account) insert(ack Ack) {
	i := sort.Search(len(a.acks), func(i int) bool { return a.acks[i].First > ack.First })
	before, after := i > 0, i < len(a.acks)
	invariant.Check(!before || a.acks[i-1].end() <= ack.First, "%v: sequence %d acknowledged twice", a.stream, ack.First)
	invariant.Check(!after || ack.end() <= a.acks[i].First, "%v: sequence %d acknowledged twice", a.stream, ack.end()-1)
	if before && a.acks[i-1].joins(ack) {
		a.acks[i-1].Count += ack.Count
		if after && a.acks[i-1].joins(a.acks[i]) {
			a.acks[i-1].Count += a.acks[i].Count
			a.acks = slices.Delete(a.acks, i, i+1)
		}
		return
	}
	if after && ack.joins(a.acks[i]) {
		ack.Count += a.acks[i].Count
		a.acks[i] = ack
		return
	}
	a.acks = slices.Insert(a.acks, i, ack)
}

// Failed notes that count records from seq on were refused: the answer was an
// error that says they are not in the log. A timeout or a closed connection is no
// such answer; such records stay unknown and are not reported here.
func (a *Account) Failed(seq, count uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	invariant.Check(count > 0 && seq+count <= a.next, "%v: %d records from %d on failed, of %d sent", a.stream, count, seq, a.next)
	a.failed = a.failed.Add(Span{seq, seq + count})
}

// View is an account at one moment. It is immutable.
type View struct {
	Stream
	// Sent is how many records were given a sequence, so it is the next one.
	Sent uint64
	// Acks are in rising order of sequence.
	Acks   []Ack
	Failed Spans
	marks  []mark
}

// View copies the books.
func (a *Account) View() View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return View{Stream: a.stream, Sent: a.next, Acks: slices.Clone(a.acks), Failed: slices.Clone(a.failed), marks: slices.Clone(a.marks)}
}

// Acked is the set of acknowledged sequences.
func (v View) Acked() (out Spans) {
	for _, a := range v.Acks {
		out = out.Add(Span{a.First, a.end()})
	}
	return out
}

// AckedCount is the number of acknowledged records.
func (v View) AckedCount() (n uint64) {
	for _, a := range v.Acks {
		n += a.Count
	}
	return n
}

// UnknownCount is the number of records that were sent and neither acknowledged
// nor refused.
func (v View) UnknownCount() uint64 { return v.Sent - v.AckedCount() - v.Failed.Count() }

// AckedBefore is a moment, at most a millisecond early, at which an acknowledged
// record of a stream that is acknowledged in order had its acknowledgement; ok is
// false where nothing was acknowledged up to seq.
func (v View) AckedBefore(seq uint64) (atNs int64, ok bool) {
	i := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].seq > seq })
	if i == 0 {
		return 0, false
	}
	return v.marks[i-1].at, true
}
