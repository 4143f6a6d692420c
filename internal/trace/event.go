package trace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Outside is the broker of events that no broker emitted: those of clients,
// ZooKeeper, injected faults and checkers.
const Outside int32 = -1

// ID names an event by its emitter and its number there, counted from 1. The
// zero ID names none. Its text is broker:seq.
type ID struct {
	Broker int32
	Seq    uint64
}

// IsZero says whether the ID names no event.
func (id ID) IsZero() bool { return id.Seq == 0 }

// String is the text of the ID, "-" for none.
func (id ID) String() string {
	if id.IsZero() {
		return "-"
	}
	return strconv.FormatInt(int64(id.Broker), 10) + ":" + strconv.FormatUint(id.Seq, 10)
}

// ParseID is the inverse of String.
func ParseID(text string) (ID, error) {
	if text == "-" {
		return ID{}, nil
	}
	brokerText, seqText, ok := strings.Cut(text, ":")
	broker, err := strconv.ParseInt(brokerText, 10, 32)
	seq, seqErr := strconv.ParseUint(seqText, 10, 64)
	if !ok || err != nil || seqErr != nil || seq == 0 || broker < int64(Outside) {
		return ID{}, fmt.Errorf("event id %q: want broker:seq", text)
	}
	return ID{Broker: int32(broker), Seq: seq}, nil
}

// Request names a request to another broker by who sent it and its correlation id
// there. The zero Request names none.
type Request struct {
	Broker      int32
	Correlation int32
}

// IsZero says whether the Request names none; brokers number theirs from 1.
func (r Request) IsZero() bool { return r.Correlation == 0 }

// String is the text of the Request, broker/correlation, "-" for none.
func (r Request) String() string {
	if r.IsZero() {
		return "-"
	}
	return strconv.FormatInt(int64(r.Broker), 10) + "/" + strconv.FormatInt(int64(r.Correlation), 10)
}

// ParseRequest is the inverse of String.
func ParseRequest(text string) (Request, error) {
	if text == "-" {
		return Request{}, nil
	}
	brokerText, numberText, ok := strings.Cut(text, "/")
	broker, err := strconv.ParseInt(brokerText, 10, 32)
	number, numberErr := strconv.ParseInt(numberText, 10, 32)
	if !ok || err != nil || numberErr != nil || number == 0 || broker < 0 {
		return Request{}, fmt.Errorf("request %q: want broker/correlation", text)
	}
	return Request{Broker: int32(broker), Correlation: int32(number)}, nil
}

// Event is one thing that happened. Which of the fields below Kind have a
// meaning depends on it; the table in layout.go says which, and the others are
// not written. Slices are the emitter's and are not kept.
type Event struct {
	// ID names this event, Cause the one that led to it, where one did.
	ID, Cause ID
	// Asked is the request of another broker that led to this event, whose id the
	// emitter does not know; Resolver finds it.
	Asked Request
	// At is the time since the trace began. Brokers, which cannot agree on when
	// that was, count from 1970.
	At time.Duration
	// Kind is what happened.
	Kind Kind
	// TopicPartition is the partition as topic-number, empty where the event is
	// about none.
	TopicPartition string
	// Epoch is the leader epoch under which it happened, -1 where none is known;
	// it is written with a TopicPartition only.
	Epoch int32

	// From and To are offsets: where a range began and its exclusive end, or the
	// old and the new value of what moved.
	From, To int64
	// LogEndOffset and HighWatermark are the emitter's after the event.
	LogEndOffset, HighWatermark int64
	// Records is a number of records, Bytes their size where it is known.
	Records int32
	Bytes   int64
	// Follower is the broker that fetches; Leader leads from now on and OldLeader
	// did before, -1 for nobody.
	Follower, Leader, OldLeader int32
	// Unclean says that a leader was chosen who may lack acknowledged records.
	Unclean bool
	// Old and New are sets of replicas.
	Old, New []int32
	// WaitingFor are the brokers that keep the high watermark where it stands.
	WaitingFor []int32
	// Correlation is the number of the request, which with its sender joins the
	// events of two brokers.
	Correlation int32
	// Phase is where in its life a thing is: begin, end, request, response,
	// proposed, committed, refused, parked, completed, expired; the state of a group
	// or a transaction.
	Phase string
	// What names the sort of a fault, of a delayed operation, of a verdict.
	What string
	// Key is what a delayed operation or a probe is about; the id of a group or a
	// transaction.
	Key string
	// Member is a member's id, Generation the group's, or its epoch.
	Member     string
	Generation int32
	// Producer and ProducerEpoch are who has a transaction.
	Producer      int64
	ProducerEpoch int32
	// Count is how many: members, partitions, lost events.
	Count int64
	// Deadline is when a delayed operation expires, on the scale of At.
	Deadline time.Duration
	// Path, Op, Version and Owner are those of a znode; Owner is the session of
	// an ephemeral one, 0 otherwise.
	Path, Op string
	Version  int32
	Owner    int64
	// Error is the name of an error code of the protocol, empty for none.
	Error string
	// Why is the reason in words.
	Why string
}
