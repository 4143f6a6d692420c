package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tidemark/internal/trace"
)

// TestLogTrace: traces of two brokers and of faults are one list, half a line at the
// end of one is no error, and a line that is no event is exit code 2.
func TestLogTrace(t *testing.T) {
	dir := t.TempDir()
	at := time.Duration(0)
	add := func(broker int32, e trace.Event) {
		t.Helper()
		at += time.Millisecond
		if err := trace.Add(dir, broker, time.Hour+at, e); err != nil {
			t.Fatal(err)
		}
	}
	add(2, trace.Event{Kind: trace.Fetch, TopicPartition: "orders-0", Epoch: 1, Phase: "request", Follower: 2, Correlation: 5, From: 3, LogEndOffset: 3})
	add(1, trace.Event{Kind: trace.HW, TopicPartition: "orders-0", Epoch: 1, From: 1, To: 3, LogEndOffset: 3, Asked: trace.Request{Broker: 2, Correlation: 5}})
	add(1, trace.Event{Kind: trace.HW, TopicPartition: "clicks-0", Epoch: 1, To: 1, LogEndOffset: 1})
	add(trace.Outside, trace.Event{Kind: trace.Fault, Phase: "begin", What: "kill", New: []int32{1}})
	f, err := os.OpenFile(filepath.Join(dir, trace.FileName(1)), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"id":"1:3","t_ns":36`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, _ := runLine(t, "log", "trace", dir, "--only", "hw,fault", "--partition", "orders-0")
	want := "1ms b1:1 orders-0@1 hw from=1 to=3 leo=3 <- b2:1\n3ms #1 fault begin kill new=[1]\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d, got\n%swant\n%s", code, out, want)
	}
	if err := os.WriteFile(filepath.Join(dir, trace.FileName(3)), []byte(`{"event":"gossip"}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runLine(t, "log", "trace", dir); code != ExitInvalid || !strings.Contains(errs, trace.FileName(3)) {
		t.Errorf("exit code %d, got %s; want %d and the file's name", code, errs, ExitInvalid)
	}
}

// TestLogTraceWithoutTraces: where there is nothing to judge, nothing is invalid.
func TestLogTraceWithoutTraces(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		code, _, errs := runLine(t, "log", "trace", path)
		if code != ExitFailed || !strings.Contains(errs, path) || !strings.Contains(errs, "with --trace") {
			t.Errorf("exit code %d, got %s; want %d, the path and who writes traces", code, errs, ExitFailed)
		}
	}
	if err := trace.Add(dir, 1, time.Second, trace.Event{Kind: trace.Fault, Phase: "begin", What: "kill"}); err != nil {
		t.Fatal(err)
	}
	if code, out, errs := runLine(t, "log", "trace", dir, "--only", "leader"); code != ExitOK || out != "" || !strings.Contains(errs, "none of 1 events") {
		t.Errorf("where nothing is wanted: exit code %d, printed %q, said %q", code, out, errs)
	}
	if code, _, errs := runLine(t, "log", "trace", dir, "--jsonl", filepath.Join(dir, "no", "such.jsonl")); code != ExitFailed || strings.Contains(errs, "--trace") {
		t.Errorf("where the file cannot be made: exit code %d, got %s", code, errs)
	}
}
