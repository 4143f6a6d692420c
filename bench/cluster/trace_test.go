package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"tidemark/internal/golden"
	"tidemark/internal/trace"
)

// TestFaultEvents: what is done to a cluster as events of its trace.
func TestFaultEvents(t *testing.T) {
	var out []byte
	for i, a := range []Action{
		{Do: "up"}, {Do: "kill", Broker: 2}, {Do: "restart", Broker: 2}, {Do: "pause", Broker: 1}, {Do: "resume", Broker: 1}, {Do: "power cut", Broker: 3},
		{Do: "cut", Links: []string{"1→2", "2→1"}, Rule: "hang", Seconds: 30}, {Do: "link", Links: []string{"3→client"}, Rule: "delay 5ms"}, {Do: "heal"}, {Do: "down"}, {Do: upAgain},
	} {
		if e, ok := faultEvent(a); ok {
			e.ID, e.At = trace.ID{Broker: trace.Outside, Seq: uint64(i)}, time.Duration(i)*time.Second
			out = append(trace.AppendText(out, &e), '\n')
		}
	}
	golden.Check(t, "testdata/faults.txt", string(out))
}

// faultsTold are the faults in a directory of traces.
func faultsTold(t *testing.T, dir string) (told []string) {
	t.Helper()
	must(t, trace.MergeFiles([]string{filepath.Join(dir, trace.FileName(trace.Outside))}, func(e *trace.Event) error {
		told = append(told, e.Phase+" "+e.What)
		return nil
	}))
	return told
}

// TestTracesAreOfOneCluster: a cluster that goes on with kept data goes on with its
// traces, and a mark parts before from after; the traces of one whose data is deleted
// are set aside by the next, and what else lies beside them stays.
func TestTracesAreOfOneCluster(t *testing.T) {
	dir := t.TempDir()
	o := Options{Dir: dir, Brokers: 1, Trace: true}
	c := start(t, o)
	must(t, c.Kill(1))
	must(t, c.Restart(t.Context(), 1))
	must(t, c.Down(true))
	must(t, c.Down(true)) // is down already: there is nothing to tell
	c = start(t, o)
	if aside := stateOf(t, c).EarlierTraces; aside != "" {
		t.Errorf("traces of a cluster that goes on are set aside in %s", aside)
	}
	must(t, c.Down(false))
	if got, want := faultsTold(t, c.TraceDir()), []string{"begin kill", "end kill", "begin down", "end down", "begin down"}; !slices.Equal(got, want) {
		t.Errorf("the traces tell %q, want %q", got, want)
	}

	notes := filepath.Join(c.TraceDir(), "notes.txt")
	must(t, os.WriteFile(notes, []byte("mine"), 0o666))
	for _, want := range []string{"traces-1", "traces-2"} {
		o.Trace = want == "traces-1"
		c = start(t, o)
		if aside := stateOf(t, c).EarlierTraces; aside != want {
			t.Fatalf("the traces are set aside in %q, want %s", aside, want)
		}
		must(t, c.Down(true))
		c = start(t, o)
		if aside := stateOf(t, c).EarlierTraces; aside != want {
			t.Errorf("it goes on and knows of traces in %q, want %s", aside, want)
		}
		must(t, c.Down(false))
	}
	if got := len(faultsTold(t, filepath.Join(dir, "traces-1"))); got != 5 {
		t.Errorf("the first cluster's traces have %d faults, want 5", got)
	}
	if got, want := faultsTold(t, filepath.Join(dir, "traces-2")), []string{"begin down", "end down", "begin down"}; !slices.Equal(got, want) {
		t.Errorf("the second cluster's traces tell %q, want %q", got, want)
	}
	if _, err := os.Stat(notes); err != nil {
		t.Error(err)
	}
}
