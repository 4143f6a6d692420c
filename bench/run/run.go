package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tidemark/bench/calibrate"
	"tidemark/bench/env"
	"tidemark/bench/result"
	"tidemark/bench/stats"
	"tidemark/bench/workload"
	"tidemark/engines"
)

// Options is one invocation.
type Options struct {
	Spec *workload.Spec
	// Text is the suite file as it was read.
	Text []byte
	// Results is the root of run folders, "results" by convention.
	Results string
	// Data is where runs keep their data meanwhile; Results if empty.
	Data string
	// Executable starts targets; the running program if empty.
	Executable string
	Engines    engines.Catalog
	Command    []string
	// Calibrate takes the machine's limits first.
	Calibrate bool
	Progress  Progress
	// Report writes the report of a finished folder and returns its path; nil
	// for none.
	Report func(folder string) (string, error)
}

// Progress is told how an invocation goes. All calls come from one goroutine.
type Progress interface {
	Planned(p result.Plan, folder string)
	Note(text string)
	Started(order, total int, experiment, label string, block int, left time.Duration)
	Finished(r *result.Run, err error)
	// TrialStarted and TrialFinished are of the faults that follow the runs.
	TrialStarted(number, total int, left time.Duration)
	TrialFinished(cells []result.Trial, err error)
}

// Summary is what came of an invocation.
type Summary struct {
	Folder      string          `json:"folder"`
	Report      string          `json:"report,omitempty"`
	Done        int             `json:"done"`
	Degraded    int             `json:"degraded"`
	Invalid     int             `json:"invalid"`
	Failed      int             `json:"failed"`
	Planned     int             `json:"planned"`
	Interrupted bool            `json:"interrupted"`
	Seconds     float64         `json:"seconds"`
	Compare     *result.Compare `json:"compare"`
	// Durability is what the trials say; nil where the suite has none.
	Durability *result.Durability `json:"durability,omitempty"`
}

// Run carries out the suite. When ctx ends, the run in progress is finished and
// the closing files are written all the same. The error is about the invocation
// as a whole; failed and invalid runs are counted in the summary.
func Run(ctx context.Context, o Options) (*Summary, error) {
	if o.Data == "" {
		o.Data = o.Results
	}
	if err := os.MkdirAll(o.Results, 0o755); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	unlock, err := lock(filepath.Join(os.TempDir(), "tidemark-bench.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := removeStale(o.Data); err != nil {
		return nil, err
	}
	plan, planned := Plan(o.Spec, o.Text, o.Command)
	environment := env.Collect(o.Data)
	if err := checkDisk(environment, plan.Totals.PeakBytes); err != nil {
		return nil, err
	}
	began := time.Now()
	w, err := result.Create(o.Results, plan.Suite, result.FolderName(began, plan.Commit, environment.Host))
	if err != nil {
		return nil, err
	}
	if err := errors.Join(w.Begin(o.Text, plan, planned), w.JSON("env.json", environment)); err != nil {
		return nil, err
	}
	o.Progress.Planned(plan, w.Dir())
	v := &invocation{Options: o, ctx: ctx, writer: w, plan: plan, env: environment, jobs: order(o.Spec),
		summary: &Summary{Folder: w.Dir(), Planned: len(planned)}, bases: map[string][]float64{}}
	if v.data, err = dataDir(o.Data); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(v.data) }() // the next invocation removes what stays
	if err := errors.Join(v.all(), v.trials()); err != nil {
		return v.summary, err
	}
	v.summary.Seconds = time.Since(began).Seconds()
	return v.summary, v.close()
}

// invocation is the state of Run. It is confined to one goroutine.
type invocation struct {
	Options
	ctx     context.Context // ends when the user asks to stop; never passed on
	writer  *result.Writer
	plan    result.Plan
	env     *result.Env
	data    string
	jobs    []job
	summary *Summary
	// bases holds the throughput of each experiment's base cell so far, and
	// rates the rate that was derived of it, which stays for the invocation.
	bases map[string][]float64
	rates map[string]float64
	spent time.Duration
}

func (v *invocation) all() error {
	if v.Calibrate {
		v.Progress.Note("calibrating: what this machine can do without a broker")
		c, err := calibrate.Run(v.ctx, calibrate.Options{Dir: v.data, Env: v.env.Comparable})
		if err != nil {
			return fmt.Errorf("calibrate: %w", err)
		}
		if err := v.writer.JSON("calib.json", c); err != nil {
			return err
		}
	}
	binary := v.env.Build.Binary
	for i := range v.jobs {
		if v.ctx.Err() != nil {
			v.summary.Interrupted = true
			return nil
		}
		if err := v.one(i, binary); err != nil {
			return err
		}
	}
	return nil
}

// one does the i-th run. Its error is about the folder, not about the run.
func (v *invocation) one(i int, binary string) error {
	j := v.jobs[i]
	v.Progress.Started(i, len(v.jobs), j.experiment.Name.Value, j.cell.Label, j.block, v.left(i))
	if err := v.writer.Mark(i, result.Running, nil); err != nil {
		return err
	}
	began := time.Now()
	m, err := v.measure(i, j, binary)
	v.spent += time.Since(began)
	if err != nil {
		v.summary.Failed++
		v.Progress.Finished(&m.run, err)
		return v.writer.Mark(i, result.Failed, err)
	}
	v.count(&m.run)
	if err := v.writer.Run(m.run, m.files); err != nil {
		return err
	}
	state := result.Done
	if m.run.Status == result.Invalid {
		state = result.Voided
	} else if m.run.Base && m.run.Produce != nil {
		v.bases[m.run.Experiment] = append(v.bases[m.run.Experiment], float64(m.run.Produce.AckedPerS))
	}
	v.Progress.Finished(&m.run, nil)
	return v.writer.Mark(i, state, nil)
}

func (v *invocation) count(r *result.Run) {
	v.summary.Done++
	switch r.Status {
	case result.Invalid:
		v.summary.Invalid++
	case result.Degraded:
		v.summary.Degraded++
	}
}

// measure does one run in a directory of its own. It is not cut off when the
// user asks to stop.
func (v *invocation) measure(i int, j job, binary string) (*measurement, error) {
	l := j.cell.Load
	m := &measurement{load: l, seed: v.plan.Seed + uint64(j.block), executable: v.Executable, available: v.env.Memory.AvailableBytes, engines: v.Engines}
	m.run = result.Run{Schema: result.RunSchema, Suite: v.plan.Suite, Experiment: j.experiment.Name.Value, Kind: workload.KindOf(l),
		Cell: j.cell.ID, Label: j.cell.Label, Base: j.cell.Base, Axes: j.cell.Axes, Block: j.block, Order: i, Seed: m.seed,
		Driver: l.Driver, Target: l.Target, Config: j.cell.Config, Env: v.env.Comparable, Binary: binary, Spec: v.plan.Spec}
	m.run.Ledger.Stored = -1
	var err error
	if m.perSecond, err = v.rate(l.Rate); err != nil {
		return m, err
	}
	if m.followerPerS, err = v.rate(l.FollowerRate); err != nil {
		return m, err
	}
	dir, remove, err := freshDir(v.data, i)
	if err != nil {
		return m, err
	}
	m.dir = dir
	err = m.do(context.WithoutCancel(v.ctx))
	return m, errors.Join(err, remove())
}

// rate resolves a cell's rate; one that refers to another experiment takes the
// median of its base cell's runs before the first such run.
func (v *invocation) rate(r workload.Rate) (float64, error) {
	if r.Of == "" {
		return r.PerSecond, nil
	}
	if v.rates == nil {
		v.rates = map[string]float64{}
	}
	whole, ok := v.rates[r.Of]
	if !ok {
		if len(v.bases[r.Of]) == 0 {
			return 0, fmt.Errorf("no usable run of the base cell of %s to take %v %% of", r.Of, r.Percent)
		}
		whole = stats.Median(v.bases[r.Of])
		v.rates[r.Of] = whole
	}
	return whole * r.Percent / 100, nil
}

// left estimates the time that the runs from i on take, by how the estimates
// fared so far, and the trials behind them.
func (v *invocation) left(i int) time.Duration {
	var before, after float64
	for k, j := range v.jobs {
		seconds, _, _ := estimate(j.cell.Load)
		if k < i {
			before += seconds
		} else {
			after += seconds
		}
	}
	if before > 0 {
		after *= v.spent.Seconds() / before
	}
	if t := v.plan.Trials; t != nil {
		after += t.SecondsPerTrial * float64(t.Count)
	}
	return time.Duration(after * float64(time.Second)).Round(time.Second)
}

// close writes what is made of all runs, and the report.
func (v *invocation) close() error {
	folder, err := result.Load(v.writer.Dir())
	if err != nil {
		return err
	}
	v.summary.Compare = stats.Summarise(folder)
	var runs, text strings.Builder
	err = errors.Join(
		v.closeTrials(folder),
		result.WriteRunsCSV(&runs, folder.Runs),
		result.WriteBenchText(&text, folder.Plan, folder.Env, folder.Runs),
		v.writer.JSON("compare.json", v.summary.Compare),
		v.writer.Bytes("runs.csv", []byte(runs.String())),
		v.writer.Bytes("bench.txt", []byte(text.String())),
		v.writer.End(!v.summary.Interrupted, v.summary.Interrupted))
	if err != nil {
		return err
	}
	var reportErr error
	if v.Report != nil {
		if v.summary.Report, reportErr = v.Report(v.writer.Dir()); reportErr != nil {
			reportErr = fmt.Errorf("report: %w", reportErr)
		}
	}
	return errors.Join(reportErr, v.writer.Manifest())
}

// checkDisk refuses to start where a run's data could fill the disk.
func checkDisk(e *result.Env, peak int64) error {
	if e.Disk.FreeBytes > 0 && e.Disk.FreeBytes < 2*peak {
		return fmt.Errorf("%s has %s free; a run holds up to %s at one time, and twice that must be free",
			e.Disk.Path, workload.FormatSize(e.Disk.FreeBytes), workload.FormatSize(peak))
	}
	return nil
}

// removeStale deletes data directories of invocations that were killed; the
// lock says that none is running.
func removeStale(root string) error {
	dirs, err := filepath.Glob(filepath.Join(root, dataPrefix+"*"))
	if err != nil {
		return err
	}
	for _, d := range dirs {
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("data of an earlier invocation: %w", err)
		}
	}
	return nil
}
