package clock

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestManualRunsDueCallsInOrder(t *testing.T) {
	start := time.Unix(100, 0)
	m := NewManual(start)
	var got []time.Duration
	note := func() { got = append(got, m.Now().Sub(start)) }
	m.AfterFunc(3*time.Second, note)
	m.AfterFunc(time.Second, func() {
		note()
		m.AfterFunc(time.Second, note)
	})
	stopped := m.AfterFunc(2500*time.Millisecond, note)
	m.AfterFunc(time.Hour, note)
	if !stopped.Stop() {
		t.Error("Stop of a pending timer: got false, want true")
	}
	m.Advance(5 * time.Second)
	want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls differ (-want +got):\n%s", diff)
	}
	if stopped.Stop() {
		t.Error("second Stop: got true, want false")
	}
	if got := m.Now().Sub(start); got != 5*time.Second {
		t.Errorf("clock shows %v after the advance, want 5s", got)
	}
}
