package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"tidemark/bench/hist"
	"tidemark/bench/result"
	"tidemark/bench/stats"
)

// sample is a made-up invocation with known effects, so that a test can say what a
// report of it must show. It is written through the types and writers of
// bench/result and bench/hist, as a real one is.
type sample struct {
	t    testing.TB
	w    *result.Writer
	dir  string
	rng  *rand.Rand
	plan result.Plan
	runs []sampleRun
	// trials are of the experiment storage.
	trials []result.Trial
	// host goes into the comparability key.
	host   string
	blocks int
}

// sampleRun is a run with its files.
type sampleRun struct {
	result.Run
	files result.Files
}

// cellSpec is a cell with its true rate and cost in relation to the base.
type cellSpec struct {
	axis, value      string
	produce, fetch   float64
	cost, ratio      float64
	batch            int64
	bound            string
	invalid, degrade int  // how many runs are so
	again            bool // the base under a second name
}

func newSample(t testing.TB, seed uint64, host string, blocks int) *sample {
	t.Helper()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	root, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	w, err := result.Create(root, "quick", result.FolderName(began, "abc1234def", host))
	if err != nil {
		t.Fatal(err)
	}
	s := &sample{t: t, w: w, dir: w.Dir(), rng: rand.New(rand.NewPCG(seed, 7)), host: host, blocks: blocks}
	s.plan = result.Plan{
		Schema: result.PlanSchema, Suite: "quick", About: "What mmap, sendfile, batching and compression buy on one broker.",
		CreatedUTC: "2026-01-02T03:04:05Z", Command: []string{"tidemark", "bench", "run", "quick"}, Seed: seed, Commit: "abc1234def", Spec: "sha256:00",
	}
	return s
}

// scratch is the directory of all samples; TestMain removes it.
var scratch string

// TestMain gives the samples a directory that outlives the test which made them.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "reports")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// shared is a whole invocation that the tests have in common; who changes it puts
// it back.
var shared struct {
	once sync.Once
	dir  string
}

// wholeFolder is the folder of a finished invocation that resembles a quick bench.
func wholeFolder(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.dir = whole(t, "aaaaaa", 6).write() })
	if shared.dir == "" {
		t.Fatal("the shared sample could not be made; an earlier test says why")
	}
	return shared.dir
}

// whole is the suite that a quick bench resembles.
func whole(t testing.TB, host string, blocks int) *sample {
	s := newSample(t, 42, host, blocks)
	s.burst("burst", 100, 5.4e6, []cellSpec{
		{},
		{axis: "storage.append.engine", value: "mapped", produce: 1.11, cost: 0.9},
		{axis: "storage.read.engine", value: "pread", fetch: 0.9},
		{axis: "storage.read.engine", value: "mapped", fetch: 1.09},
		{axis: "compression.type", value: "lz4", produce: 0.93, ratio: 1.9, cost: 0.62, bound: "client_cpu"},
		{axis: "compression.type", value: "snappy", produce: 1.02, ratio: 1.7, cost: 0.66, bound: "client_cpu"},
		{axis: "compression.type", value: "zstd", produce: 0.55, ratio: 2.6, cost: 0.5, bound: "client_cpu", degrade: 1},
		{axis: "batch.size", value: "16KiB", produce: 0.46, batch: 16 << 10, cost: 1.9},
		{axis: "batch.size", value: "256KiB", produce: 1.55, batch: 256 << 10, cost: 0.7},
		{axis: "batch.size", value: "1MiB", produce: 2.1, batch: 1 << 20, cost: 0.5, bound: "bytes"},
		{axis: "acks", value: "all", produce: 0.995},
		{axis: "storage.validation", value: "header", produce: 1.26, cost: 0.7, invalid: 1},
		{again: true},
	})
	s.burst("kilobyte", 1024, 1.15e6, []cellSpec{
		{},
		{axis: "storage.append.engine", value: "mapped", produce: 1.07},
		{axis: "storage.read.engine", value: "pread", fetch: 0.93},
		{axis: "batch.size", value: "1MiB", produce: 1.8, batch: 1 << 20},
	})
	s.paced("curve", []float64{100e3, 500e3, 1e6, 1.5e6, 2e6}, 4_000)
	s.paced("latency", []float64{10e3}, 101_000) // enough for p99.9
	s.sustained("sustained", 60)
	s.storage("storage", 60)
	return s
}

func (s *sample) experiment(name string, kind result.Kind, axes []result.Axis) *result.PlanExperiment {
	s.plan.Experiments = append(s.plan.Experiments, result.PlanExperiment{
		Name: name, About: "about " + name, Kind: kind, Design: "oneway", Blocks: s.blocks, Axes: axes,
	})
	return &s.plan.Experiments[len(s.plan.Experiments)-1]
}

var firstValues = map[string]string{
	"storage.append.engine": "buffered", "storage.read.engine": "sendfile", "compression.type": "none",
	"batch.size": "64KiB", "acks": "1", "storage.validation": "records",
}

func axesOf(specs []cellSpec) []result.Axis {
	var out []result.Axis
	for _, c := range specs {
		if c.axis == "" {
			continue
		}
		if len(out) == 0 || out[len(out)-1].Name != c.axis {
			out = append(out, result.Axis{Name: c.axis, Values: []string{firstValues[c.axis]}})
		}
		last := &out[len(out)-1]
		last.Values = append(last.Values, c.value)
	}
	return out
}

func or(v, otherwise float64) float64 {
	if v == 0 {
		return otherwise
	}
	return v
}

func (s *sample) burst(name string, size int64, rate float64, specs []cellSpec) {
	e := s.experiment(name, result.Burst, axesOf(specs))
	for i, c := range specs {
		cell := result.PlanCell{ID: fmt.Sprintf("%s%02d", name[len(name)-4:], i), Label: "base", Base: c.axis == "" && !c.again, AA: c.again, Driver: "raw", Target: "process", Axes: map[string]string{}, Config: map[string]string{"entropy": "0.5"}}
		cell.Config["storage.read.engine"] = "sendfile"
		if c.axis != "" {
			cell.Axes[c.axis], cell.Config[c.axis], cell.Label = c.value, c.value, c.value
		}
		if c.again {
			cell.Label = "base again (A/A)"
		}
		e.Cells = append(e.Cells, cell)
		for b := range s.blocks {
			r := s.run(e, cell, b, size)
			if c.batch > 0 {
				r.Records.BatchBytes = c.batch
			}
			r.Records.CompressRate = int64(1000 / or(c.ratio, 1))
			r.BoundBy = "broker_cpu"
			if c.bound != "" {
				r.BoundBy = c.bound
			}
			wire := float64(size+9) / or(c.ratio, 1)
			r.Produce = s.window(rate*or(c.produce, 1), wire, 0.19*or(c.cost, 1), 2e9)
			r.Fetch = s.window(rate*2.6*or(c.fetch, 1), wire, 0.05, 1e9)
			switch {
			case b < c.invalid:
				r.Status, r.Reasons = result.Invalid, []string{"ledger out of balance by 12 records"}
			case b >= s.blocks-c.degrade:
				r.Status, r.Reasons = result.Degraded, []string{"steal 2.1 % > 1 %"}
			}
			s.runs = append(s.runs, sampleRun{Run: r})
		}
	}
}

func (s *sample) run(e *result.PlanExperiment, c result.PlanCell, block int, size int64) result.Run {
	return result.Run{
		Schema: result.RunSchema, Suite: s.plan.Suite, Experiment: e.Name, Kind: e.Kind, Cell: c.ID, Label: c.Label, Base: c.Base, Axes: c.Axes,
		Block: block, Order: len(s.runs), Status: result.Valid, Reasons: []string{}, Driver: c.Driver, Target: c.Target, Config: c.Config,
		WarmUp: "fixed", BoundBy: "broker_cpu", Records: result.Records{SizeBytes: size, PerBatch: 600, BatchBytes: 64 << 10},
		Ledger: result.Ledger{Accepted: 1_000_000, Acked: 1_000_000, Stored: 1_000_000},
		Check:  result.Check{Read: 1_200_000}, RSSAnonPeakBytes: 60 << 20,
	}
}

// noisy spreads a value by about two per cent.
func (s *sample) noisy(v float64) float64 { return v * math.Exp(s.rng.NormFloat64()*0.018) }

func (s *sample) window(rate, wire, cost, ns float64) *result.Window {
	rate = s.noisy(rate)
	n := rate * ns / 1e9
	return &result.Window{
		WindowNs: int64(ns), Accepted: int64(n), Acked: int64(n), AckedPerS: int64(rate), WireBytes: int64(n * wire), WirePerS: int64(rate * wire),
		LatencyOf: "batch",
		CPU: result.CPU{
			BrokerUserNs: int64(s.noisy(cost) * n * 1e3 * 0.35), BrokerSysNs: int64(s.noisy(cost) * n * 1e3 * 0.65),
			ClientUserNs: int64(0.06 * n * 1e3), ClientSysNs: int64(0.06 * n * 1e3), ClientMaxThread: math.Min(0.97, 0.4+s.rng.Float64()*0.1),
		},
	}
}

func (s *sample) paced(name string, rates []float64, responses int) {
	axis := result.Axis{Name: "rate"}
	for _, r := range rates {
		axis.Values = append(axis.Values, fmt.Sprintf("%.0f", r))
	}
	e := s.experiment(name, result.Paced, []result.Axis{axis})
	for i, rate := range rates {
		cell := result.PlanCell{ID: fmt.Sprintf("%s%02d", name, i), Label: axis.Values[i], Base: i == 0, Driver: "raw", Target: "process", Axes: map[string]string{}}
		if i > 0 {
			cell.Axes["rate"] = axis.Values[i]
		}
		e.Cells = append(e.Cells, cell)
		for b := range s.blocks {
			r := s.run(e, cell, b, 100)
			r.BoundBy = "schedule"
			r.Produce = s.window(rate, 109, 0.2, 5e9)
			r.Produce.OfferedPerS, r.Produce.AckedPerS = int64(rate), int64(rate*0.9996)
			load := rate / 1.75e6
			if load > 1 {
				r.Produce.AckedPerS = int64(1.72e6)
				r.Status, r.Reasons = result.Degraded, []string{"86 % of the offered rate achieved"}
			}
			s.runs = append(s.runs, sampleRun{r, result.Files{Whole: s.latencies(&r, load, responses)}})
		}
	}
}

// latencies fills histograms of a queue under a load, with one stall that only the
// response time shows.
func (s *sample) latencies(r *result.Run, load float64, responses int) map[string]*hist.Histogram {
	response, service, late, endToEnd := hist.New(), hist.New(), hist.New(), hist.New()
	for range responses {
		x := 70e3 * math.Exp(s.rng.NormFloat64()*0.35)
		if s.rng.Float64() < 0.004 {
			x *= 8
		}
		l := 3e3 * math.Exp(s.rng.NormFloat64()*0.7)
		queue := x * load / math.Max(0.05, 1-math.Min(load, 0.97)) * s.rng.ExpFloat64() * 0.6
		stall := 0.0
		if s.rng.Float64() < 0.003*(0.3+load) {
			stall = s.rng.Float64() * 12e6
		}
		if load > 1 {
			stall += s.rng.Float64() * 800e6
		}
		service.Record(int64(x + queue))
		late.Record(int64(l))
		response.Record(int64(x + queue + l + stall))
		endToEnd.Record(int64(x + queue + l + stall + 40e3))
	}
	own := hist.New()
	own.Record(2e3)
	a, b, c, d, o := response.Summary(), service.Summary(), late.Summary(), endToEnd.Summary(), own.Summary()
	r.Produce.ResponseNs, r.Produce.ServiceNs, r.Produce.LatenessNs, r.Produce.E2ENs = &a, &b, &c, &d
	r.Produce.OwnLatenessNs = &o
	return map[string]*hist.Histogram{result.HistResponse: response, result.HistService: service, result.HistLateness: late, result.HistE2E: endToEnd}
}

func (s *sample) sustained(name string, seconds int) {
	e := s.experiment(name, result.Sustained, []result.Axis{{Name: "storage.cache", Values: []string{"keep", "dropbehind"}}})
	for i, cache := range []string{"keep", "dropbehind"} {
		cell := result.PlanCell{ID: "sust0" + fmt.Sprint(i), Label: cache, Base: i == 0, Driver: "raw", Target: "process", Axes: map[string]string{}}
		if i > 0 {
			cell.Axes["storage.cache"] = cache
		}
		e.Cells = append(e.Cells, cell)
		for b := range 2 {
			r := s.run(e, cell, b, 100)
			rows := s.seconds(seconds, i)
			var n int64
			for _, row := range rows {
				n += row.Acked
			}
			r.Produce = s.window(float64(n)/float64(seconds), 109, 0.24, float64(seconds)*1e9)
			r.BoundBy = "disk_write"
			s.runs = append(s.runs, sampleRun{r, result.Files{Rows: rows}})
		}
	}
}

func (s *sample) seconds(n, cell int) []result.Row {
	var rows []result.Row
	for i := range n {
		rate := 5.5e6
		if i > 9 && cell == 0 {
			rate = 3.0e6 + 0.7e6*math.Sin(float64(i)/3)
		}
		if i > 9 && cell == 1 {
			rate = 4.9e6
		}
		phase := "window"
		if i < 2 {
			phase = "warmup"
		}
		rate = s.noisy(s.noisy(rate))
		rows = append(rows, result.Row{TMs: int64(i+1) * 1000, Phase: phase, LengthMs: 1000, Offered: int64(rate), Accepted: int64(rate), Acked: int64(rate), WireBytes: int64(rate * 109), BrokerRSS: 50 << 20})
	}
	return rows
}

// write puts everything on disk as a finished invocation and returns the folder.
func (s *sample) write() string {
	s.t.Helper()
	s.begin()
	for _, r := range s.runs {
		s.must(s.w.Run(r.Run, r.files))
		state := result.Done
		if r.Status == result.Invalid {
			state = result.Voided
		}
		s.must(s.w.Mark(r.Order, state, nil))
	}
	s.must(s.w.JSON("env.json", s.env()))
	s.must(s.w.JSON("calib.json", s.calib()))
	folder, err := result.Load(s.dir)
	s.must(err)
	s.must(s.w.JSON("compare.json", stats.Summarise(folder)))
	if p := s.plan.Trials; p != nil {
		state := result.TrialState{Planned: p.Count, Done: p.Count}
		s.must(s.w.Trials(s.trials, state))
		s.must(s.w.JSON("durability.json", stats.Durability(*folder.Experiment(p.Of), *p, s.trials, nil)))
	}
	s.must(s.w.End(true, false))
	return s.dir
}

// begin writes what is there before the first run.
func (s *sample) begin() {
	s.t.Helper()
	var order []result.PlannedRun
	for _, r := range s.runs {
		order = append(order, result.PlannedRun{Order: r.Order, Experiment: r.Experiment, Block: r.Block, Cell: r.Cell, Label: r.Label})
	}
	s.must(s.w.Begin([]byte("name: quick\n"), s.plan, order))
}

func (s *sample) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *sample) env() result.Env {
	return result.Env{
		Schema: result.EnvSchema, TakenUTC: s.plan.CreatedUTC, Hostname: "lab", Host: s.host, Comparable: "sha256:" + s.host,
		CPU:    result.EnvCPU{Model: "Example CPU @ 2.80GHz", Logical: 2, Cores: 1, MHz: 2800, SMT: "on", NUMANodes: 1, Hypervisor: "KVM"},
		Memory: result.EnvMemory{TotalBytes: 24 << 30, AvailableBytes: 21 << 30, TransparentHugePages: "madvise", Swappiness: "60", DirtyRatio: "20", DirtyBackgroundRatio: "10"},
		Kernel: result.EnvKernel{OS: "linux", Arch: "amd64", Distro: "Debian 12", Release: "6.1.0-" + s.host, ClockSource: "kvm-clock"},
		Disk:   result.EnvDisk{Path: "/data/bench", FileSystem: "ext4", Device: "/dev/vda1", Options: "rw,relatime", Rotational: "0", Scheduler: "none", FreeBytes: 400 << 30},
		Build:  result.EnvBuild{Go: "go1.26", GOMAXPROCS: 2, GOGC: "100", Commit: "abc1234def", Binary: "sha256:77"},
		Load:   result.EnvLoad{Load1: 0.1, Load5: 0.2, Processes: []string{"sshd 0.1 %"}, NTP: "synchronised"},
		Advice: []result.Advice{{Fact: "transparent huge pages: madvise", Why: "Go's heap may ask for them", Effect: "a few per cent", Test: "a cell with always and one with never"}},
		Unknown: map[string]string{
			"cpu.microcode": "not in /proc/cpuinfo",
		},
	}
}

func (s *sample) calib() result.Calib {
	c := result.Calib{Schema: result.CalibSchema, TakenUTC: s.plan.CreatedUTC, Dir: "/data/bench", Seconds: 58, Env: "sha256:" + s.host}
	add := func(id, what, unit string, value float64) {
		c.Limits = append(c.Limits, result.Limit{ID: id, What: what, Unit: unit, Value: value, Low: value * 0.93, High: value * 1.05, Samples: 5})
	}
	add(result.LimitWrite64K, "write(2) of 64 KiB to a fresh file", result.UnitBytesPerS, 4.9e9)
	add(result.LimitWrite16K, "write(2) of 16 KiB to a fresh file", result.UnitBytesPerS, 3.2e9)
	add(result.LimitWrite1M, "write(2) of 1 MiB to a fresh file", result.UnitBytesPerS, 6.2e9)
	add(result.LimitDirect1M, "O_DIRECT writes of 1 MiB", result.UnitBytesPerS, 0.55e9)
	add(result.LimitLoopback16K, "loopback TCP, 16 KiB writes", result.UnitBytesPerS, 2.4e9)
	add(result.LimitLoopback64K, "loopback TCP, 64 KiB writes", result.UnitBytesPerS, 4.4e9)
	add(result.LimitLoopback1M, "loopback TCP, 1 MiB writes", result.UnitBytesPerS, 4.5e9)
	add(result.LimitStore16K, "loopback TCP, appended 16 KiB at a time", result.UnitBytesPerS, 1.6e9)
	add(result.LimitStore64K, "loopback TCP, appended 64 KiB at a time", result.UnitBytesPerS, 2.4e9)
	add(result.LimitStore1M, "loopback TCP, appended 1 MiB at a time", result.UnitBytesPerS, 2.9e9)
	add(result.LimitSendfileDiscard, "sendfile(2), reader discards", result.UnitBytesPerS, 4.6e9)
	add(result.LimitCopyDiscard, "pread(2) and write(2), reader discards", result.UnitBytesPerS, 3.8e9)
	add(result.LimitMappedDiscard, "write(2) of a mapping, reader discards", result.UnitBytesPerS, 4.4e9)
	add(result.LimitSync4K, "fdatasync after 4 KiB", result.UnitNs, 200e3)
	add(result.LimitGroup8, "group commit, 8 waiters", result.UnitPerS, 20e3)
	add(result.LimitLZ4Compress, "lz4, compressing", result.UnitBytesPerS, 0.6e9)
	add(result.LimitZstdCompress, "zstd, compressing", result.UnitBytesPerS, 0.3e9)
	c.Limits = append(c.Limits, result.Limit{ID: result.LimitMmapCold, What: "stores into a cold mapping", Unit: result.UnitBytesPerS, Unavailable: "not on this file system"})
	return c
}
