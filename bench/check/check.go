// Package check compares a full read of a topic with the ledger of what was
// produced, and says what became of it, in the words of Jepsen's Kafka tests.
//
//	lost          acknowledged, and not in the read
//	duplicate     read again at another offset
//	reordered     read after a later record of the same producer and partition
//	corrupt       not what was sent: its checksum is wrong, or it has no header
//	phantom       never sent, sent elsewhere, or definitely refused
//	inconsistent  read, but never at the offset that the answer gave; or offsets
//	              that do not rise
//
// A record without an answer may turn up or not; both are fine. Memory follows
// anomalies: for each stream the highest sequence read and the gaps below it.
// The package does no I/O and knows no clock.
package check

import (
	"fmt"
	"slices"
	"sort"

	"tidemark/bench/ledger"
)

// Kind is a class of anomalies.
type Kind string

// The classes of anomalies.
const (
	Lost         Kind = "lost"
	Duplicate    Kind = "duplicate"
	Reordered    Kind = "reordered"
	Corrupt      Kind = "corrupt"
	Phantom      Kind = "phantom"
	Inconsistent Kind = "inconsistent"
)

// Anomaly is one finding, or a span of neighbouring ones.
type Anomaly struct {
	Kind   Kind          `json:"kind"`
	Stream ledger.Stream `json:"stream"`
	// First and Count are sequences; both 0 for a corrupt record.
	First uint64 `json:"first"`
	Count uint64 `json:"count"`
	// Offset is where it was read, -1 where it was not.
	Offset int64 `json:"offset"`
	// Why is a sentence with the particulars.
	Why string `json:"why"`
}

// String is the anomaly in a line.
func (a Anomaly) String() string {
	return fmt.Sprintf("%s: %v, %d from sequence %d on: %s", a.Kind, a.Stream, a.Count, a.First, a.Why)
}

// Counts are numbers of records.
type Counts struct {
	Read         int64 `json:"read"`
	Lost         int64 `json:"lost"`
	Duplicate    int64 `json:"duplicate"`
	Reordered    int64 `json:"reordered"`
	Corrupt      int64 `json:"corrupt"`
	Phantom      int64 `json:"phantom"`
	Inconsistent int64 `json:"inconsistent"`
	// Unanswered is how many records were read whose answer never came.
	Unanswered int64 `json:"unanswered"`
}

// Wrong is the number of anomalies other than losses.
func (c Counts) Wrong() int64 {
	return c.Duplicate + c.Reordered + c.Corrupt + c.Phantom + c.Inconsistent
}

// maxExamples bounds the anomalies that a report spells out for each partition;
// all are counted.
const maxExamples = 20

// Checker checks one read of one partition against the ledger as it stood when
// the checker was made. It is confined to one goroutine.
type Checker struct {
	run       uint32
	topic     uint16
	partition int32
	streams   []stream // by producer
	counts    Counts
	examples  []Anomaly
	last      int64 // offset of the record before
}

// New begins the check of a partition: what its producers did is taken from the
// ledger now, so they must have stopped.
func New(l *ledger.Ledger, topic uint16, partition int32) *Checker {
	c := &Checker{run: l.Run, topic: topic, partition: partition, last: -1}
	for _, v := range l.Views() {
		if v.Topic == topic && v.Partition == partition {
			c.streams = append(c.streams, stream{view: v})
		}
	}
	return c
}

// Read takes the next record of the partition; offsets rise. value is not kept.
func (c *Checker) Read(offset int64, value []byte) {
	c.counts.Read++
	if offset <= c.last {
		c.counts.Inconsistent++
		c.note(Anomaly{Kind: Inconsistent, Offset: offset, Stream: c.here(), Why: fmt.Sprintf("offset %d after offset %d", offset, c.last)})
	}
	c.last = offset
	r, err := ledger.Parse(value)
	if err != nil {
		c.counts.Corrupt++
		c.note(Anomaly{Kind: Corrupt, Offset: offset, Stream: c.here(), Why: fmt.Sprintf("at offset %d: %v", offset, err)})
		return
	}
	s := c.stream(r)
	switch {
	case s == nil:
		c.phantom(r, offset, "no such producer wrote here")
	case r.Seq >= s.view.Sent:
		c.phantom(r, offset, fmt.Sprintf("%d records were sent", s.view.Sent))
	case len(s.view.Failed) > 0 && s.view.Failed.Contains(r.Seq):
		c.phantom(r, offset, "the broker had refused it")
	default:
		c.settle(s, r, offset)
	}
}

func (c *Checker) phantom(r ledger.Record, offset int64, why string) {
	c.counts.Phantom++
	c.note(Anomaly{Kind: Phantom, Stream: r.Stream, First: r.Seq, Count: 1, Offset: offset, Why: fmt.Sprintf("at offset %d, run %d: %s", offset, r.Run, why)})
}

// settle compares a record that was sent with what is known of it.
func (c *Checker) settle(s *stream, r ledger.Record, offset int64) {
	told, acked := s.offsetOf(r.Seq)
	if !acked {
		c.counts.Unanswered++
	}
	if r.Seq == s.next { // what a healthy log shows of every record
		s.next++
	} else if again := s.outOfOrder(c, r, offset); again {
		if acked && told == offset { // the copy that was answered for
			s.astray = slices.DeleteFunc(s.astray, func(a astray) bool { return a.seq == r.Seq })
		}
		if !acked {
			c.counts.Unanswered--
		}
		return
	}
	if acked && told != offset {
		s.astray = append(s.astray, astray{r.Seq, told, offset})
	}
}

func (c *Checker) here() ledger.Stream {
	return ledger.Stream{Topic: c.topic, Partition: c.partition}
}

func (c *Checker) note(a Anomaly) {
	if len(c.examples) < maxExamples {
		c.examples = append(c.examples, a)
	}
}

// stream finds whose record it is; nil where nobody here sent it.
func (c *Checker) stream(r ledger.Record) *stream {
	if r.Run != c.run || r.Topic != c.topic || r.Partition != c.partition {
		return nil
	}
	if len(c.streams) == 1 && c.streams[0].view.Producer == r.Producer {
		return &c.streams[0]
	}
	i := sort.Search(len(c.streams), func(i int) bool { return c.streams[i].view.Producer >= r.Producer })
	if i == len(c.streams) || c.streams[i].view.Producer != r.Producer {
		return nil
	}
	return &c.streams[i]
}
