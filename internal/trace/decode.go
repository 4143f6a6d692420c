package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// line is a line of the file as the library decodes it. Unknown fields are
// skipped: the version may gain some.
type line struct {
	ID          string  `json:"id"`
	Cause       string  `json:"cause"`
	At          int64   `json:"t_ns"`
	Broker      int32   `json:"broker"`
	Event       string  `json:"event"`
	TP          string  `json:"tp"`
	Epoch       int32   `json:"epoch"`
	From        int64   `json:"from"`
	To          int64   `json:"to"`
	LEO         int64   `json:"leo"`
	HW          int64   `json:"hw"`
	Records     int32   `json:"records"`
	Follower    int32   `json:"follower"`
	Leader      int32   `json:"leader"`
	OldLeader   int32   `json:"old_leader"`
	Unclean     bool    `json:"unclean"`
	Old         []int32 `json:"old"`
	New         []int32 `json:"new"`
	WaitingFor  []int32 `json:"waiting_for"`
	Correlation int32   `json:"correlation"`
	Phase       string  `json:"phase"`
	What        string  `json:"what"`
	Key         string  `json:"key"`
	Deadline    int64   `json:"deadline_ns"`
	Path        string  `json:"path"`
	Op          string  `json:"op"`
	Version     int32   `json:"version"`
	Owner       int64   `json:"owner"`
	Error       string  `json:"error"`
	Why         string  `json:"why"`

	Asked         string `json:"asked"`
	Bytes         int64  `json:"bytes"`
	Member        string `json:"member"`
	Generation    int32  `json:"generation"`
	Producer      int64  `json:"producer"`
	ProducerEpoch int32  `json:"producer_epoch"`
	Count         int64  `json:"count"`
}

// Decode parses one line of trace.jsonl. Event kinds that this program does not
// know are an error; fields it does not know are skipped.
func Decode(data []byte) (Event, error) {
	l := line{Cause: "-", Asked: "-"}
	if err := json.Unmarshal(data, &l); err != nil {
		return Event{}, fmt.Errorf("trace event: %w", err)
	}
	kind, ok := kindOf(l.Event)
	if !ok {
		return Event{}, fmt.Errorf("trace event: unknown kind %q", l.Event)
	}
	id, err := ParseID(l.ID)
	if err != nil {
		return Event{}, fmt.Errorf("trace event: %w", err)
	}
	cause, err := ParseID(l.Cause)
	if err != nil {
		return Event{}, fmt.Errorf("trace event %s: cause: %w", l.ID, err)
	}
	asked, err := ParseRequest(l.Asked)
	if err != nil {
		return Event{}, fmt.Errorf("trace event %s: %w", l.ID, err)
	}
	if id.IsZero() || id.Broker != l.Broker {
		return Event{}, fmt.Errorf("trace event %q: it is of broker %d", l.ID, l.Broker)
	}
	return Event{
		ID: id, Cause: cause, At: time.Duration(l.At), Kind: kind, TopicPartition: l.TP, Epoch: l.Epoch,
		From: l.From, To: l.To, LogEndOffset: l.LEO, HighWatermark: l.HW, Records: l.Records,
		Follower: l.Follower, Leader: l.Leader, OldLeader: l.OldLeader, Unclean: l.Unclean,
		Old: l.Old, New: l.New, WaitingFor: l.WaitingFor, Correlation: l.Correlation,
		Phase: l.Phase, What: l.What, Key: l.Key, Deadline: time.Duration(l.Deadline),
		Path: l.Path, Op: l.Op, Version: l.Version, Owner: l.Owner, Error: l.Error, Why: l.Why,
		Asked: asked, Bytes: l.Bytes, Member: l.Member, Generation: l.Generation, Producer: l.Producer, ProducerEpoch: l.ProducerEpoch, Count: l.Count,
	}, nil
}

// DecodeWhole is Decode of a line that must have every field of its kind, as the schema
// demands.
func DecodeWhole(data []byte) (Event, error) {
	e, err := Decode(data)
	if err != nil {
		return e, err
	}
	var has map[string]json.RawMessage
	if err := json.Unmarshal(data, &has); err != nil {
		return e, fmt.Errorf("trace event: %w", err)
	}
	for _, f := range layouts[e.Kind].fields {
		if !optional(e.Kind, f) && has[fieldNames[f]] == nil {
			return e, fmt.Errorf("trace event %s: %s without %s", e.ID, e.Kind, fieldNames[f])
		}
	}
	return e, nil
}

// optional says that a kind's field may be absent: words that say nothing are.
func optional(k Kind, f field) bool {
	switch f {
	case errorField, whyField, bytesField:
		return true
	case phaseField:
		return k == Leader // the simulator's have none
	case whatField:
		return k == Fault
	}
	return false
}

// maxLine bounds a line of a trace that is read: events are short, and a file
// that is none must not fill the memory.
const maxLine = 1 << 20

// LineError says which line of a trace is none, and why.
type LineError struct {
	Line int
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Read calls each for every event of a trace.jsonl, in order, until it returns
// an error; that one is returned. A line that is no event is a LineError. The
// event's slices are the callee's. A last line without its end is one that was being
// written when the writer died, and is skipped.
func Read(r io.Reader, each func(Event) error) error { return read(r, Decode, each) }

// read is Read with a decoder.
func read(r io.Reader, decode func([]byte) (Event, error), each func(Event) error) error {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		data, err := readLine(lines)
		switch {
		case err == io.EOF:
			return nil
		case err == errLongLine:
			return &LineError{n, err}
		case err != nil:
			return err
		case len(data) == 0:
			continue
		}
		e, err := decode(data)
		if err != nil {
			return &LineError{n, err}
		}
		if err := each(e); err != nil {
			return err
		}
	}
}

var errLongLine = fmt.Errorf("longer than %d bytes: this is no trace", maxLine)

// readLine returns the next line without its end; io.EOF where none has one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errLongLine
		case err == nil:
			return bytes.TrimSuffix(line[:len(line)-1], []byte{'\r'}), nil
		case err != bufio.ErrBufferFull:
			return nil, err
		}
	}
}
