package load

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/bench/driver"
	"tidemark/bench/driver/memserver"
	"tidemark/bench/result"
	"tidemark/bench/schedule"
	"tidemark/bench/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// still is a probe of a machine that does nothing.
type still struct{}

func (still) Broker() Usage          { return Usage{} }
func (still) Client() Usage          { return Usage{} }
func (still) Threads() map[int]int64 { return nil }
func (still) Machine() Machine       { return Machine{} }

// cellOf parses a one-cell suite with the given workload lines.
func cellOf(t testing.TB, lines string) workload.Load {
	t.Helper()
	s, err := workload.Parse([]byte("apiVersion: bench/v1\nname: t\nexperiments:\n  - name: e\n" + lines))
	if err != nil {
		t.Fatal(err)
	}
	return s.Experiments[0].Cells()[0].Load
}

func memory(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := memserver.Serve(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.Addr()
}

func open(t testing.TB, l workload.Load, bootstrap string) driver.Session {
	t.Helper()
	s, err := driver.Open(t.Context(), driver.Options{Load: l, Bootstrap: bootstrap, Topic: "t", Dir: t.TempDir(), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// checkLedger fails unless every record is accounted for and stored.
func checkLedger(t *testing.T, s driver.Session, o *Outcome) {
	t.Helper()
	if !o.Ledger.Balanced() || o.Ledger.InFlight != 0 || o.Ledger.Failed != 0 || o.Ledger.Acked == 0 {
		t.Errorf("ledger %+v: want all accepted records acknowledged", o.Ledger)
	}
	var stored int64
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); { // with acks=0 the last records may still be on their way
		var err error
		if stored, err = s.Count(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stored < 0 || stored >= o.Ledger.Acked {
			break
		}
	}
	if stored >= 0 && stored != o.Ledger.Acked {
		t.Errorf("the target holds %d records, %d were acknowledged", stored, o.Ledger.Acked)
	}
	w := o.Window
	if w.InFlightStart+w.Accepted != w.Acked+w.Failed+w.InFlightEnd {
		t.Errorf("window does not balance: %+v", w)
	}
	var rows result.Row
	for _, r := range o.Rows {
		rows.Acked += r.Acked
	}
	if rows.Acked > o.Ledger.Acked || rows.Acked < w.Acked {
		t.Errorf("rows add up to %d acknowledged records, window %d, ledger %d", rows.Acked, w.Acked, o.Ledger.Acked)
	}
}

func TestSaturatingIsBoundInBytes(t *testing.T) {
	for _, d := range []string{"raw", "franz"} {
		for _, acks := range []string{"0", "1", "all"} {
			t.Run(d+" acks="+acks, func(t *testing.T) {
				l := cellOf(t, "    workload: {driver: "+d+", target: memory, partitions: 4, window: 20s, warmup: 1s, bytes: 8MiB}\n    client: {acks: "+acks+", batch.size: 16KiB}\n")
				s := open(t, l, memory(t))
				o, err := Produce(t.Context(), s, Options{Load: l, Probe: still{}})
				if err != nil {
					t.Fatal(err)
				}
				checkLedger(t, s, o)
				if !o.BoundByBytes {
					t.Errorf("the window ended after %d ns, want it to end by bytes", o.Window.WindowNs)
				}
				if total := o.Ledger.Acked * 108; total < 7<<20 || total > 16<<20 {
					t.Errorf("wrote about %d bytes, want about 8 MiB", total)
				}
			})
		}
	}
}

func TestPacedKeepsTheSchedule(t *testing.T) {
	for _, d := range []string{"raw", "franz", "null"} {
		t.Run(d, func(t *testing.T) {
			target := "memory"
			if d == "null" {
				target = "none"
			}
			l := cellOf(t, "    workload: {driver: "+d+", target: "+target+", rate: 2000/s, partitions: 2, window: 300ms, warmup: 100ms, interval: 100ms, tail: "+map[bool]string{true: "true", false: "false"}[d != "null"]+"}\n    client: {batch.records: 1}\n")
			bootstrap := ""
			if d != "null" {
				bootstrap = memory(t)
			}
			s := open(t, l, bootstrap)
			o, err := Produce(t.Context(), s, Options{Load: l, PerSecond: l.Rate.PerSecond, Probe: still{}, Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			checkLedger(t, s, o)
			var offered int64
			for _, r := range o.Rows {
				if r.Phase == "window" {
					offered += r.Offered
				}
			}
			if offered < 599 || offered > 601 {
				t.Errorf("%d records were due in 300 ms at 2000/s, want 600", offered)
			}
			if o.Ledger.Accepted+o.Window.Dropped < 799 {
				t.Errorf("%d sent and %d dropped, want 800 together", o.Ledger.Accepted, o.Window.Dropped)
			}
			r, v := o.Window.ResponseNs, o.Window.ServiceNs
			if r == nil || v == nil || r.Mean < v.Mean {
				t.Errorf("response %+v is less than service %+v", r, v)
			}
			if d == "null" {
				return
			}
			if o.Check.Lost != 0 || o.Check.Duplicate != 0 || o.Check.Read != o.Ledger.Acked {
				t.Errorf("followers saw %+v of %d acknowledged records", o.Check, o.Ledger.Acked)
			}
			if e := o.Window.E2ENs; e == nil || e.N+o.Window.Dropped < 500 { // A busy machine drops what it is late for.
				t.Errorf("end-to-end times: %+v and %d dropped, want about 600 together", e, o.Window.Dropped)
			}
		})
	}
}

// TestTheClientCompresses: the codec reaches the real client, and both phases
// count the bytes that travelled. The load is paced, so that acknowledgements come all
// through the window, and the client waits for a thousand records: a batch of a few gets
// no smaller.
func TestTheClientCompresses(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		t.Run(codec, func(t *testing.T) {
			l := cellOf(t, "    workload: {driver: franz, target: memory, window: 1s, warmup: 0s, fetch: 100ms}\n    client: {compression.type: "+codec+", linger.ms: 50}\n")
			s := open(t, l, memory(t))
			o, err := Produce(t.Context(), s, Options{Load: l, Probe: still{}, PerSecond: 20_000})
			if err != nil {
				t.Fatal(err)
			}
			permil := s.Unit().CompressPermil
			if codec == "none" && permil != 1000 || codec != "none" && (permil < 300 || permil > 900) {
				t.Errorf("half random values travelled with %d ‰ of their size", permil)
			}
			whole := float64(o.Window.Acked * int64(l.RecordBytes+8))
			if share := float64(o.Window.WireBytes) / whole; whole == 0 || codec != "none" && share > 0.95 || share < 0.3 {
				t.Errorf("%d bytes produced of %.0f uncompressed", o.Window.WireBytes, whole)
			}
			if o, err = Fetch(t.Context(), s, Options{Load: l, Probe: still{}}); err != nil || o.Window.WireBytes == 0 {
				t.Errorf("fetched %d bytes, %v", o.Window.WireBytes, err)
			}
		})
	}
}

func TestFetchReadsAgainAndAgain(t *testing.T) {
	for _, d := range []string{"raw", "franz"} {
		t.Run(d, func(t *testing.T) {
			l := cellOf(t, "    workload: {driver: "+d+", target: memory, partitions: 3, window: 1s, bytes: 16MiB, fetch: 200ms}\n")
			s := open(t, l, memory(t))
			if _, err := Produce(t.Context(), s, Options{Load: l, Probe: still{}}); err != nil {
				t.Fatal(err)
			}
			o, err := Fetch(t.Context(), s, Options{Load: l, Probe: still{}})
			if err != nil {
				t.Fatal(err)
			}
			if o.Window.Acked == 0 || o.Window.WireBytes == 0 {
				t.Errorf("nothing was read: %+v", o.Window)
			}
		})
	}
}

// TestStalledTargetIsNotHidden checks the point of an open loop: while the
// target stalls, sends that were due meanwhile wait, and their response time
// shows it. Each is either answered or counted as dropped.
func TestStalledTargetIsNotHidden(t *testing.T) {
	sp := newSpan(0, 100*time.Millisecond, time.Second, 1<<40)
	sp.fix()
	f := &feed{span: sp, records: 1, sending: newTally(sp), acking: newTally(sp)}
	var err error
	if f.arrivals, err = schedule.New("uniform", 1000, schedule.Share{Index: 0, Count: 1}, 1); err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		due, ok := f.Next()
		if !ok {
			break
		}
		if i == 10 {
			time.Sleep(50 * time.Millisecond) // the stall itself
		}
		now := schedule.Now()
		f.Sent(due, now, driver.Send{Records: 1})
		f.Acked(driver.Ack{Due: due, Sent: now, Now: now, Records: 1, Offset: -1})
	}
	_, _, window := sum([]*tally{f.sending, f.acking})
	if n := window[0].response.Count() + f.dropped; n != 100 {
		t.Errorf("%d of 100 sends due in the window are accounted for: a stall hides the others", n)
	}
	if longest := window[0].response.Max(); longest < 45e6 {
		t.Errorf("longest response %d ns, the stall was 50 ms", longest)
	}
	if service := window[0].service.Max(); service > window[0].response.Max() {
		t.Errorf("service %d ns is longer than response", service)
	}
}

// TestOwnLatenessLeavesOutTheTarget: a wait for the target and what queued up
// behind it is not the harness's, the same stall without one is, for every send.
func TestOwnLatenessLeavesOutTheTarget(t *testing.T) {
	sp := newSpan(0, 100*time.Millisecond, time.Second, 1<<40)
	sp.fix()
	f := &feed{span: sp, records: 1, sending: newTally(sp), acking: newTally(sp)}
	var err error
	if f.arrivals, err = schedule.New("uniform", 1000, schedule.Share{Index: 0, Count: 1}, 1); err != nil {
		t.Fatal(err)
	}
	at := func(ms int64) int64 { return sp.begin + ms*1e6 }
	for ms := range int64(5) {
		f.Sent(at(ms), at(20), driver.Send{Records: 1, Held: at(20)})
	}
	_, _, window := sum([]*tally{f.sending})
	if own, all := window[0].own.Max(), window[0].lateness.Max(); own != 0 || all < 19e6 {
		t.Errorf("held up for 20 ms by the target: own lateness %d ns, lateness %d ns, want 0 and 20 ms", own, all)
	}
	for ms := range int64(5) {
		f.Sent(at(30+ms), at(50), driver.Send{Records: 1, Held: at(20)})
	}
	_, _, window = sum([]*tally{f.sending})
	if own := window[0].own; own.Max() < 19e6 || own.At(0.6) < 15e6 {
		t.Errorf("late by itself for up to 20 ms: own lateness at most %d ns, at 60 %% %d ns", own.Max(), own.At(0.6))
	}
}

func TestCancelledPhaseEnds(t *testing.T) {
	for _, rate := range []string{"max", "1000/s"} {
		l := cellOf(t, "    workload: {driver: raw, target: memory, rate: "+rate+", window: 1h, bytes: 1000GiB}\n")
		s := open(t, l, memory(t))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		o, err := Produce(ctx, s, Options{Load: l, PerSecond: l.Rate.PerSecond, Probe: still{}})
		if err != nil {
			t.Fatal(err)
		}
		if !o.Ledger.Balanced() {
			t.Errorf("rate %s: ledger %+v does not balance after a cancel", rate, o.Ledger)
		}
	}
}

// TestAnswersDoNotWaitForTheNextSend: the raw driver sends and takes answers in one
// thread, and must not notice an answer only when the next send is due.
func TestAnswersDoNotWaitForTheNextSend(t *testing.T) {
	l := cellOf(t, "    workload: {driver: raw, target: memory, rate: 10/s, partitions: 1, producers: 1, window: 500ms, warmup: 0s}\n    client: {batch.records: 1}\n")
	s := open(t, l, memory(t))
	o, err := Produce(t.Context(), s, Options{Load: l, PerSecond: l.Rate.PerSecond, Probe: still{}})
	if err != nil {
		t.Fatal(err)
	}
	checkLedger(t, s, o)
	if v := o.Window.ServiceNs; v == nil || v.Min >= 100e6 {
		t.Errorf("service %+v: want an answer sooner than the next send, 100 ms later", v)
	}
}

// TestPacedTakesAnswersWhileTheSocketIsFull: batches longer than a socket's buffers,
// due faster than they go.
func TestPacedTakesAnswersWhileTheSocketIsFull(t *testing.T) {
	l := cellOf(t, "    workload: {driver: raw, target: memory, rate: 1M/s, record.size: 1KiB, partitions: 2, producers: 1, window: 200ms, warmup: 0s}\n    client: {batch.size: 8MiB}\n")
	s := open(t, l, memory(t))
	o, err := Produce(t.Context(), s, Options{Load: l, PerSecond: 20e6, Probe: still{}})
	if err != nil {
		t.Fatal(err)
	}
	checkLedger(t, s, o)
}

func BenchmarkRawAgainstMemory(b *testing.B) {
	for _, batch := range []string{"16KiB", "64KiB", "1MiB"} {
		b.Run(batch, func(b *testing.B) {
			l := cellOf(b, "    workload: {driver: raw, target: memory, window: 1h, warmup: 0s, bytes: 1GiB}\n    client: {batch.size: "+batch+"}\n")
			for b.Loop() {
				s := open(b, l, memory(b))
				o, err := Produce(b.Context(), s, Options{Load: l, Probe: still{}})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(o.Window.AckedPerS), "records/s")
				b.ReportMetric(float64(o.Window.WirePerS)/1e9, "GB/s")
			}
		})
	}
}

func BenchmarkHarnessCeiling(b *testing.B) {
	l := cellOf(b, "    workload: {driver: null, window: 200ms, warmup: 0s, bytes: 100000GiB}\n    client: {batch.records: 1}\n")
	for b.Loop() {
		o, err := Produce(b.Context(), open(b, l, ""), Options{Load: l, Probe: still{}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(o.Window.AckedPerS), "records/s")
	}
}

func BenchmarkFranzAgainstMemory(b *testing.B) {
	l := cellOf(b, "    workload: {driver: franz, target: memory, producers: 1, consumers: 1, window: 2s, warmup: 300ms, fetch: 1s, bytes: 1GiB}\n")
	for b.Loop() {
		s := open(b, l, memory(b))
		o, err := Produce(b.Context(), s, Options{Load: l, Probe: still{}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(o.Window.AckedPerS), "produced/s")
		if o, err = Fetch(b.Context(), s, Options{Load: l, Probe: still{}}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(o.Window.AckedPerS), "consumed/s")
	}
}
