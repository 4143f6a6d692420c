package trace

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"tidemark/internal/golden"
)

// story is one event of every kind, and what led to what.
func story() []Event {
	const tp = "orders-0"
	return []Event{
		{ID: ID{Outside, 1}, At: 0, Kind: Probe, TopicPartition: tp, Epoch: 3, Phase: "sent", Key: "p1/7", From: -1},
		{ID: ID{1, 1}, Cause: ID{Outside, 1}, At: 1500 * time.Microsecond, Kind: Append, TopicPartition: tp, Epoch: 3, From: 7, To: 9, Records: 2, HighWatermark: 7},
		{ID: ID{1, 2}, At: 2 * time.Millisecond, Kind: Purgatory, TopicPartition: tp, Epoch: 3, Phase: "parked", What: "produce", Key: "9", Deadline: 3 * time.Second},
		{ID: ID{2, 1}, At: 3 * time.Millisecond, Kind: Fetch, TopicPartition: tp, Epoch: 3, Phase: "request", Follower: 2, Correlation: 41, From: 7, LogEndOffset: 7, HighWatermark: 6},
		{ID: ID{1, 3}, Cause: ID{2, 1}, At: 4 * time.Millisecond, Kind: HW, TopicPartition: tp, Epoch: 3, From: 6, To: 7, LogEndOffset: 9, WaitingFor: []int32{2, 3}},
		{ID: ID{2, 2}, At: 5 * time.Millisecond, Kind: Fsync, TopicPartition: tp, Epoch: 3, To: 7, LogEndOffset: 9, Error: "KAFKA_STORAGE_ERROR"},
		{ID: ID{1, 4}, At: 6 * time.Millisecond, Kind: ISR, TopicPartition: tp, Epoch: 3, Phase: "proposed", Old: []int32{1, 2, 3}, New: []int32{1, 2}, Version: 4, Why: "broker 3 lags"},
		{ID: ID{Outside, 2}, At: 7 * time.Millisecond, Kind: Fault, Phase: "begin", What: "cut", New: []int32{1, 2}},
		{ID: ID{3, 1}, At: 8 * time.Millisecond, Kind: Znode, Op: "set", Path: "/brokers/topics/orders/partitions/0/state", Version: 5, Error: "BADVERSION", Why: `a "stale" writer`},
		{ID: ID{2, 3}, At: 9 * time.Millisecond, Kind: Leader, TopicPartition: tp, Epoch: 4, OldLeader: 1, Leader: 2, New: []int32{2}, Unclean: true},
		{ID: ID{1, 5}, Cause: ID{2, 3}, At: 10 * time.Millisecond, Kind: Truncate, TopicPartition: tp, Epoch: 4, From: 9, To: 7, HighWatermark: 7, Why: "diverging epoch"},
		{ID: ID{Outside, 3}, At: 11 * time.Millisecond, Kind: Verdict, TopicPartition: tp, Epoch: 4, What: "I10", Why: "record p1/7 was acknowledged and is gone"},
		{ID: ID{1, 6}, At: 12 * time.Millisecond, Kind: Fetch, TopicPartition: tp, Epoch: 4, Phase: "response", Follower: 2, Correlation: 42, From: 7, Records: 2, Bytes: 140, LogEndOffset: 9, HighWatermark: 7, Asked: Request{2, 42}},
		{ID: ID{1, 7}, At: 13 * time.Millisecond, Kind: Group, Phase: "Stable", Key: "readers", Generation: 3, Count: 2},
		{ID: ID{1, 8}, Cause: ID{1, 7}, At: 14 * time.Millisecond, Kind: Member, Phase: "left", Key: "readers", Member: "reader-1-0a", Generation: 3, Why: "its session timed out"},
		{ID: ID{1, 9}, At: 15 * time.Millisecond, Kind: Commit, TopicPartition: tp, Epoch: -1, Key: "readers", From: 9},
		{ID: ID{2, 4}, At: 16 * time.Millisecond, Kind: Txn, Phase: "PrepareCommit", Key: "mover", Producer: 1000, ProducerEpoch: 4, Count: 3},
		{ID: ID{2, 9}, At: 17 * time.Millisecond, Kind: Drop, Count: 5, Why: "the writer is behind"},
	}
}

func write(t *testing.T, events []Event) []byte {
	t.Helper()
	var out bytes.Buffer
	w := NewWriter(&out)
	for i := range events {
		w.Write(&events[i])
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestEveryKindIsInTheStory(t *testing.T) {
	seen := map[Kind]bool{}
	for _, e := range story() {
		seen[e.Kind] = true
	}
	for k := Kind(1); k < kinds; k++ {
		if !seen[k] {
			t.Errorf("no event %s in the story: the tests below miss it", k)
		}
	}
}

func TestGoldenText(t *testing.T) {
	var out []byte
	for _, e := range story() {
		out = append(AppendText(out, &e), '\n')
	}
	golden.Check(t, "testdata/story.txt", string(out))
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	want := story()
	var got []Event
	err := Read(bytes.NewReader(write(t, want)), func(e Event) error { got = append(got, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	// An empty set is written where the kind has one, so that readers in other
	// languages need no default.
	empty := cmp.Transformer("set", func(s []int32) int { return len(s) })
	if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return name == ".Old" || name == ".New" || name == ".WaitingFor"
	}, empty)); diff != "" {
		t.Errorf("events read differ from those written (-want +got):\n%s", diff)
	}
}

func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../schema/trace-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(data string) error {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		return schema.Validate(v)
	}
	for line := range strings.Lines(string(write(t, story()))) {
		if err := check(line); err != nil {
			t.Errorf("%s\n%v", line, err)
		}
	}
	for name, bad := range map[string]string{
		"no id":            `{"t_ns":1,"broker":1,"event":"verdict","what":"I1"}`,
		"unknown kind":     `{"id":"1:1","t_ns":1,"broker":1,"event":"gossip"}`,
		"an append to air": `{"id":"1:1","t_ns":1,"broker":1,"event":"append"}`,
		"a bad id":         `{"id":"1:0","t_ns":1,"broker":1,"event":"verdict","what":"I1"}`,
		"a fraction":       `{"id":"1:1","t_ns":1.5,"broker":1,"event":"verdict","what":"I1"}`,
	} {
		if check(bad) == nil {
			t.Errorf("%s: the schema accepts %s", name, bad)
		}
	}
	var missing []string
	for _, name := range fieldNames {
		if schema.Properties[name] == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		t.Errorf("fields that the schema does not describe: %v", missing)
	}
	for _, word := range []string{"node", "message"} {
		if slices.Contains(slices.Collect(maps.Keys(schema.Properties)), word) {
			t.Errorf("a field is called %q: say broker, or records", word)
		}
	}
}

func TestTracerOff(t *testing.T) {
	var off *Tracer
	if off.On() || off.Emit(Event{Kind: HW}) != (ID{}) {
		t.Error("a nil tracer is on")
	}
	if n := testing.AllocsPerRun(100, func() { off.Emit(Event{Kind: HW, From: 1, To: 2}) }); n != 0 {
		t.Errorf("an event while tracing is off: %v allocations, want 0", n)
	}
}

func TestTracerOn(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out)
	tr := NewTracer(2, w)
	waiting := []int32{1}
	first := tr.Emit(Event{Kind: HW, TopicPartition: "t-0", From: 1, To: 2, WaitingFor: waiting})
	second := tr.Emit(Event{Kind: HW, TopicPartition: "t-0", From: 2, To: 3, Cause: first})
	if first != (ID{2, 1}) || second != (ID{2, 2}) {
		t.Errorf("ids %v and %v, want 2:1 and 2:2", first, second)
	}
	if n := testing.AllocsPerRun(100, func() { tr.Emit(Event{Kind: HW, TopicPartition: "t-0", From: 1, To: 2, WaitingFor: waiting}) }); n != 0 {
		t.Errorf("an event: %v allocations, want 0", n)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), `"cause":"2:1"`); got != 1 {
		t.Errorf("%d events say that the first led to them, want 1", got)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriterKeepsTheFirstError(t *testing.T) {
	w := NewWriter(fullDisk{})
	w.Write(&Event{ID: ID{1, 1}, Kind: Verdict})
	if err := w.Flush(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("flush to a full disk: %v, want %v", err, io.ErrShortWrite)
	}
	if err := w.Flush(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("second flush forgets: %v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, bad := range map[string]string{
		"not JSON":     `append`,
		"no id":        `{"t_ns":1,"broker":1,"event":"hw"}`,
		"other broker": `{"id":"2:1","t_ns":1,"broker":1,"event":"hw"}`,
		"unknown kind": `{"id":"1:1","t_ns":1,"broker":1,"event":"gossip"}`,
		"bad cause":    `{"id":"1:1","cause":"x","t_ns":1,"broker":1,"event":"hw"}`,
	} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%s: %s is accepted", name, bad)
		}
	}
	if err := Read(strings.NewReader("{}\n"), func(Event) error { return nil }); err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
		t.Errorf("error %v does not say which line", err)
	}
}

// FuzzDecode: whatever is accepted is written and read back as the same line.
func FuzzDecode(f *testing.F) {
	for _, e := range story() {
		f.Add(AppendJSON(nil, &e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			return
		}
		once := AppendJSON(nil, &e)
		again, err := Decode(once)
		if err != nil {
			t.Fatalf("what was written is refused: %v\n%s", err, once)
		}
		if twice := AppendJSON(nil, &again); !bytes.Equal(once, twice) {
			t.Errorf("written twice, it differs:\n%s\n%s", once, twice)
		}
	})
}

func BenchmarkEmit(b *testing.B) {
	tr := NewTracer(1, NewWriter(io.Discard))
	b.ReportAllocs()
	for b.Loop() {
		tr.Emit(Event{Kind: Append, TopicPartition: "orders-0", Epoch: 3, From: 7, To: 9, Records: 2})
	}
}
