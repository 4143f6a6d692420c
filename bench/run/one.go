package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/driver"
	"tidemark/bench/hist"
	"tidemark/bench/load"
	"tidemark/bench/result"
	"tidemark/bench/target"
	"tidemark/bench/workload"
	"tidemark/engines"
)

// measurement is one run on its way.
type measurement struct {
	load      workload.Load
	perSecond float64
	// followerPerS is what the last follower may take, 0 for all.
	followerPerS float64
	seed         uint64
	dir          string
	executable   string
	available    int64 // bytes of memory
	engines      engines.Catalog

	run    result.Run
	files  result.Files
	target *target.Target
	prod   *load.Outcome
	fetch  *load.Outcome
}

// topicName is the run's topic: a fresh cluster has no other, and on an external
// one it is like no other's.
func topicName(l workload.Load) string {
	if l.Target == "external" {
		return fmt.Sprintf("tidemark-bench-%d-%d", os.Getpid(), time.Now().UnixNano())
	}
	return "bench"
}

// slack is what a run may take beyond its measured phases.
const slack = 60 * time.Second

// do runs everything and fills run and files. The error says that there is no
// usable run; a run that went wrong in itself is judged, not an error.
func (m *measurement) do(ctx context.Context) (err error) {
	l := m.load
	ctx, cancel := context.WithTimeout(ctx, l.WarmUp+l.Window+2*l.Drain+l.Fetch+slack)
	defer cancel()
	m.run.StartedUTC = time.Now().UTC().Format(time.RFC3339Nano)
	began := time.Now()
	t, err := target.Start(ctx, target.Options{Executable: m.executable, Dir: m.dir, Load: l})
	if err != nil {
		return err
	}
	m.target = t
	stopped := false
	stop := func() error {
		if stopped {
			return nil
		}
		stopped = true
		return t.Stop()
	}
	defer func() { err = errors.Join(err, stop()) }()
	s, err := driver.Open(ctx, driver.Options{Load: l, Bootstrap: t.Bootstrap, Direct: t.Direct, Topic: topicName(l), Dir: m.dir, Engines: m.engines, Seed: m.seed})
	if err != nil {
		return err
	}
	closed := false
	defer func() {
		if !closed {
			err = errors.Join(err, s.Close())
		}
	}()
	m.run.Phases.Start = int64(time.Since(began))
	ready := time.Now()
	present(presentBytes(l, m.available))
	m.run.Phases.Memory = int64(time.Since(ready))
	if err := m.measure(ctx, s); err != nil {
		if said := t.Said(); said != "" {
			err = fmt.Errorf("%w (the target's log ends: %s)", err, said)
		}
		return err
	}
	m.files.Broker = t.Leftovers(ctx)
	m.run.DiskBytes = used(m.dir)
	ending := time.Now()
	closed = true
	if err := errors.Join(s.Close(), stop()); err != nil {
		return err
	}
	m.run.Phases.Stop = int64(time.Since(ending))
	judge(&m.run, m.prod, m.fetch)
	return nil
}

// measure runs the two phases of an open session.
func (m *measurement) measure(ctx context.Context, s driver.Session) error {
	unit := s.Unit()
	m.run.Records = result.Records{SizeBytes: int64(m.load.RecordBytes)}
	if unit.LatencyOf == "batch" {
		m.run.Records.PerBatch, m.run.Records.BatchBytes = unit.Records, unit.Wire
	}
	if err := m.slowFollower(ctx, unit); err != nil {
		return err
	}
	o := load.Options{Load: m.load, PerSecond: m.perSecond, Seed: m.seed, Probe: m.target.Probe()}
	prod, err := load.Produce(ctx, s, o)
	if err != nil {
		return fmt.Errorf("produce: %w", err)
	}
	m.prod = prod
	m.run.Records.CompressRate = s.Unit().CompressPermil // a client knows it now
	m.take(prod)
	m.run.Ledger, m.run.Check, m.run.Produce = prod.Ledger, prod.Check, &prod.Window
	m.run.Phases.WarmUp, m.run.Phases.Window, m.run.Phases.Drain = prod.WarmUpNs, prod.Window.WindowNs, prod.DrainNs
	if m.run.Ledger.Stored, err = stored(ctx, s, prod.Ledger); err != nil {
		return err
	}
	if m.load.Fetch == 0 {
		return nil
	}
	began := time.Now()
	fetch, err := load.Fetch(ctx, s, o)
	if err != nil {
		return fmt.Errorf("fetch: %w", err)
	}
	m.fetch = fetch
	m.take(fetch)
	m.run.Fetch, m.run.Phases.Fetch = &fetch.Window, int64(time.Since(began))
	return nil
}

// slowFollower holds the last follower to its rate.
func (m *measurement) slowFollower(ctx context.Context, unit driver.Unit) error {
	if m.followerPerS == 0 {
		return nil
	}
	perRecord := float64(m.load.RecordBytes) // of a client that decides later
	if unit.Wire > 0 {
		perRecord = float64(unit.Wire) / float64(unit.Records)
	}
	if err := m.target.SlowFollower(ctx, int64(m.followerPerS*perRecord)); err != nil {
		return fmt.Errorf("slow the last follower: %w", err)
	}
	return nil
}

// take collects a phase's files. The second phase's rows and intervals follow
// the first's in time, and its service times are those of fetches.
func (m *measurement) take(o *load.Outcome) {
	m.run.RSSAnonPeakBytes = max(m.run.RSSAnonPeakBytes, o.RSSAnonPeak)
	m.run.StealRatio = max(m.run.StealRatio, o.StealRatio)
	m.run.OthersRatio = max(m.run.OthersRatio, o.OthersRatio)
	if m.files.Whole == nil {
		m.files = result.Files{Rows: o.Rows, Whole: o.Whole, Intervals: o.Intervals, Began: o.Began}
		return
	}
	shift := o.Began.Sub(m.files.Began)
	for _, r := range o.Rows {
		r.TMs += shift.Milliseconds()
		r.Phase = "fetch"
		m.files.Rows = append(m.files.Rows, r)
	}
	for _, i := range o.Intervals {
		i.Start += shift
		i.Metric = result.HistFetch
		m.files.Intervals = append(m.files.Intervals, i)
	}
	if h := o.Whole[result.HistService]; h != nil {
		whole := map[string]*hist.Histogram{result.HistFetch: h}
		for metric, h := range m.files.Whole {
			whole[metric] = h
		}
		m.files.Whole = whole
	}
}

// storedWithin is how long records that nobody waits for (acks=0) may take.
const storedWithin = 5 * time.Second

// stored asks the target how many records it holds, until it has at least those
// acknowledged; -1 when it cannot say.
func stored(ctx context.Context, s driver.Session, l result.Ledger) (int64, error) {
	deadline := time.Now().Add(storedWithin)
	for {
		n, err := s.Count(ctx)
		if err != nil {
			return -1, err
		}
		if n < 0 || n >= l.Acked || time.Now().After(deadline) {
			return n, nil
		}
		timer := time.NewTimer(10 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return n, nil
		}
	}
}

// used is the bytes of all files below dir; what vanishes meanwhile is skipped.
func used(dir string) (sum int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error { // only a figure
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil
	})
	return sum
}

// freshDir makes the directory of one run, and remove deletes it.
func freshDir(root string, order int) (dir string, remove func() error, err error) {
	dir = filepath.Join(root, fmt.Sprintf("run-%d", order))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", nil, fmt.Errorf("data directory: %w", err)
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}
