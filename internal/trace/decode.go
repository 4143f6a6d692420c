package trace

import (
	"bufio"
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
}

// Decode parses one line of trace.jsonl. Event kinds that this program does not
// know are an error; fields it does not know are skipped.
func Decode(data []byte) (Event, error) {
	l := line{Cause: "-"}
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
	}, nil
}

// maxLine bounds a line of a trace that is read: events are short, and a file
// that is none must not fill the memory.
const maxLine = 1 << 20

// Read calls each for every event of a trace.jsonl, in order, until it returns
// an error; that one is returned. The event's slices are the callee's.
func Read(r io.Reader, each func(Event) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		e, err := Decode(lines.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
	return lines.Err()
}
