package calibrate

import (
	"io"
	"os"
	"testing"
	"time"
)

// TestOpenPingCountsFromDue: the far end answers when all pings are there, so the
// first has waited for the last to be due. A closed loop would never send the second.
func TestOpenPingCountsFromDue(t *testing.T) {
	const pings = 100
	o, finish, err := newOpenPinger(func(f *os.File) error {
		all := make([]byte, pings*pingBytes)
		if _, err := io.ReadFull(f, all); err != nil {
			return err
		}
		_, err := f.Write(all)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_, p99, err := o.run(pings * time.Second / openRate)
	if err := finish(); err != nil {
		t.Error(err)
	}
	if err != nil || len(o.times) != pings {
		t.Fatalf("%d times, %v; want %d", len(o.times), err, pings)
	}
	if least := float64((pings - 1) * time.Second / openRate); p99 < least {
		t.Errorf("p99 is %v ns, want %v at least: the answer came when the last ping was due", p99, least)
	}
}
