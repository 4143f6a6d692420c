package trial

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/check"
	"tidemark/bench/ledger"
	"tidemark/bench/result"
)

// What follows are the parts that need no broker; e2e does whole trials.

// TestChoices: a seed always chooses the same, and seeds choose everything there is.
func TestChoices(t *testing.T) {
	seen := map[string]int{}
	o := Options{LeastLoad: 100 * time.Millisecond, MostLoad: time.Second}
	var early, late int
	for seed := range uint64(1000) {
		o.Seed = seed
		c := choose(o)
		if c != choose(o) {
			t.Fatalf("seed %d chooses differently the second time", seed)
		}
		if c.phase < o.LeastLoad || c.phase >= o.MostLoad {
			t.Fatalf("seed %d: phase %s, want %s to %s", seed, c.phase, o.LeastLoad, o.MostLoad)
		}
		if c.phase < 550*time.Millisecond {
			early++
		} else {
			late++
		}
		seen[c.acks+" "+c.torn]++
	}
	for _, k := range []string{"1 sector", "1 page", "all sector", "all page"} {
		if seen[k] < 150 {
			t.Errorf("%s was chosen %d times of 1000, want about 250", k, seen[k])
		}
	}
	if math.Abs(float64(early-late)) > 150 {
		t.Errorf("%d early and %d late phases of 1000: not uniform", early, late)
	}
	o.MostLoad = o.LeastLoad
	if c := choose(o); c.phase != o.LeastLoad {
		t.Errorf("phase %s where only %s is allowed", c.phase, o.LeastLoad)
	}
}

func TestDebts(t *testing.T) {
	d, err := parseDebts([]byte(`{"seed":1,"files":[],"debt":[{"partition":"cell-0-0","dir":"/x","acked_end":9,"durable_end":2,"debt_records":7}],"debt_records":7}`))
	if err != nil || d.of("cell-0") != 7 || d.of("cell-1") != -1 {
		t.Errorf("debts %v, %v; want 7 for cell-0 and unknown for cell-1", d, err)
	}
	if _, err := parseDebts([]byte("power cut, seed 1")); err == nil {
		t.Error("text was read as JSON")
	}
}

func TestOpenRefusesRecordsWithoutRoom(t *testing.T) {
	if _, err := Open(t.Context(), Options{Dir: t.TempDir(), RecordBytes: ledger.HeaderBytes - 1}); err == nil {
		t.Error("records too small for their header were accepted")
	}
}

// TestLine: the loss window counts from the acknowledgement of the earliest lost
// record to the fault.
func TestLine(t *testing.T) {
	r := &Rig{ledger: ledger.New(1), unavailable: []time.Duration{70 * time.Millisecond}}
	a := r.account(0)
	const ms = int64(time.Millisecond)
	for i := range int64(100) {
		a.Stamp(make([]byte, ledger.HeaderBytes), 0)
		if i < 90 {
			a.Acked(uint64(i), 1, i, 10*ms*i)
		}
	}
	c := check.New(r.ledger, 0, 0)
	for i := range int64(50) {
		value := make([]byte, ledger.HeaderBytes)
		ledger.Record{Run: 1, Seq: uint64(i)}.Put(value)
		c.Read(i, value)
	}
	got := r.line(0, c.Report(), Fault{AtNs: 900 * ms})
	want := result.Trial{Sent: 100, Acked: 90, Unknown: 10, Read: 50, Lost: 40, LossWindowMs: 400, UnavailableMs: 70}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("line (-want +got):\n%s", d)
	}
}

// TestErrorsEndTheLoad: any number of producers that fail before the fault end the
// wait, and the first error is told; after the fault errors are expected.
func TestErrorsEndTheLoad(t *testing.T) {
	first := errors.New("first")
	l := newLoad(t.Context(), 3)
	l.fail(first)
	l.fail(errors.New("second"))
	l.fail(errors.New("third"))
	if err := l.await(t.Context(), time.Hour); err != nil || !errors.Is(l.failure(), first) {
		t.Errorf("await %v, failure %v; want none and the first", err, l.failure())
	}
	l = newLoad(t.Context(), 0)
	if err := l.await(t.Context(), 0); err != nil || l.failure() != nil {
		t.Errorf("without an error: await %v, failure %v", err, l.failure())
	}
	l.faulted.Store(true)
	l.fail(first)
	if l.failure() != nil {
		t.Errorf("an error after the fault is told: %v", l.failure())
	}
}
