package trace

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/golden"
)

// TestMerge: the traces of a leader and a follower become one, and causes go from
// request to response to what came of it.
func TestMerge(t *testing.T) {
	const tp = "orders-0"
	at := func(ms int) time.Duration { return time.Hour + time.Duration(ms)*time.Millisecond }
	leader := []Event{
		{ID: ID{1, 1}, At: at(0), Kind: Append, TopicPartition: tp, Epoch: 1, To: 2, Records: 2},
		{ID: ID{1, 2}, At: at(2), Kind: Fetch, TopicPartition: tp, Epoch: 1, Phase: "response", Follower: 2, Correlation: 7, Records: 2, LogEndOffset: 2, Asked: Request{2, 7}},
		{ID: ID{1, 3}, At: at(5), Kind: HW, TopicPartition: tp, Epoch: 1, To: 2, LogEndOffset: 2, Asked: Request{2, 8}},
		{ID: ID{1, 4}, Cause: ID{1, 3}, At: at(5), Kind: Purgatory, TopicPartition: tp, Epoch: 1, Phase: "completed", What: "produce", Key: "2", Deadline: at(30)},
		{ID: ID{1, 5}, At: at(6), Kind: Fetch, TopicPartition: tp, Epoch: 1, Phase: "response", Follower: 2, Correlation: 8, From: 2, LogEndOffset: 2, HighWatermark: 2, Asked: Request{2, 8}},
		{ID: ID{1, 6}, At: at(9), Kind: ISR, TopicPartition: tp, Epoch: 1, Phase: "proposed", Old: []int32{1, 2}, New: []int32{1}, Asked: Request{3, 1}},
	}
	follower := []Event{
		{ID: ID{2, 1}, At: at(1), Kind: Fetch, TopicPartition: tp, Epoch: 1, Phase: "request", Follower: 2, Correlation: 7},
		{ID: ID{2, 2}, Cause: ID{2, 1}, At: at(3), Kind: Append, TopicPartition: tp, Epoch: 1, To: 2, Records: 2},
		{ID: ID{2, 3}, At: at(4), Kind: Fetch, TopicPartition: tp, Epoch: 1, Phase: "request", Follower: 2, Correlation: 8, From: 2, LogEndOffset: 2},
		{ID: ID{2, 4}, Cause: ID{2, 3}, At: at(7), Kind: HW, TopicPartition: tp, Epoch: 1, To: 2, LogEndOffset: 2},
	}
	var out []byte
	err := Merge([]io.Reader{bytes.NewReader(write(t, leader)), bytes.NewReader(write(t, follower))}, func(e *Event) error {
		out = append(AppendText(out, e), '\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/merged.txt", string(out))
}

// TestMergeSaysWhere: an error names the file, and every field of a kind is wanted.
func TestMergeSaysWhere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName(1))
	if err := os.WriteFile(path, []byte(`{"id":"1:1","t_ns":1,"broker":1,"event":"hw","tp":"t-0","epoch":1,"from":1}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	err := MergeFiles([]string{dir}, func(*Event) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "hw without to") || !strings.Contains(err.Error(), FileName(1)) {
		t.Errorf("got %v, want it to name file and field", err)
	}
	if err := MergeFiles([]string{t.TempDir()}, func(*Event) error { return nil }); err == nil || !strings.Contains(err.Error(), "--trace") {
		t.Errorf("an empty directory: %v, want to be told how to get a trace", err)
	}
}

// TestRecordGoesOn: a restarted broker's numbers go on, after half a line too.
func TestRecordGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "traces")
	now := func() time.Duration { return time.Second }
	for life := range 3 {
		r, err := Record(dir, 4, now, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r.Tracer().Emit(Event{Kind: Verdict, What: "I1"})
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, FileName(4)), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		half := AppendJSON(nil, &Event{ID: ID{4, uint64(2*life + 3)}, Kind: Verdict, What: "lost"})
		if _, err := f.Write(half[:len(half)/2]); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	seq := uint64(0)
	err := MergeFiles([]string{dir}, func(e *Event) error {
		if seq++; e.ID != (ID{4, seq}) || e.What != "I1" {
			t.Errorf("got %s, want number %d", AppendText(nil, e), seq)
		}
		return nil
	})
	if err != nil || seq != 6 {
		t.Errorf("%d events, %v; want 6", seq, err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName(5)), []byte("no trace\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Record(dir, 5, now, nil); err == nil {
		t.Error("a file that is no trace is gone on with")
	}
}

func TestNilRecording(t *testing.T) {
	var off *Recording
	if off.Tracer().On() || off.Dropped() != 0 || off.Close() != nil {
		t.Error("a nil recording records")
	}
}

func TestAdd(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		if err := Add(dir, Outside, time.Duration(i), Event{Kind: Fault, Phase: "begin", What: "kill", New: []int32{1}}); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	if err := MergeFiles([]string{dir}, func(e *Event) error { n++; return nil }); err != nil || n != 3 {
		t.Errorf("%d events, %v; want 3", n, err)
	}
}

// TestResolveRepeatedQuestion: a follower tells a question once that it asks again and
// again; the answer that brings something at last has it as its cause.
func TestResolveRepeatedQuestion(t *testing.T) {
	var r Resolver
	request := Event{ID: ID{2, 1}, Kind: Fetch, TopicPartition: "t-0", Phase: "request", Follower: 2, Correlation: 3}
	response := Event{ID: ID{1, 1}, Kind: Fetch, TopicPartition: "t-0", Phase: "response", Follower: 2, Correlation: 9, Asked: Request{2, 9}}
	appended := Event{ID: ID{2, 2}, Cause: ID{2, 1}, Kind: Append, TopicPartition: "t-0"}
	for _, e := range []*Event{&request, &response, &appended} {
		r.Resolve(e)
	}
	if response.Cause != request.ID || appended.Cause != response.ID {
		t.Errorf("the response is for %v and the append for %v, want %v and %v", response.Cause, appended.Cause, request.ID, response.ID)
	}
}
