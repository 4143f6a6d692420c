// Package run carries out a suite: it plans the runs, starts a fresh target with
// a fresh data directory for each, measures it, judges what the figures are
// worth, and fills the run folder as it goes.
package run

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"tidemark/bench/env"
	"tidemark/bench/result"
	"tidemark/bench/workload"
)

// job is one run to do.
type job struct {
	experiment *workload.Experiment
	cell       *workload.Cell
	block      int
}

// order lays out the runs: block by block, every cell of the block once and
// shuffled by the seed, those whose rate depends on another cell behind the
// rest. An experiment with fewer blocks than the suite has is in the last ones.
func order(s *workload.Spec) []job {
	blocks := 0
	for _, e := range s.Experiments {
		blocks = max(blocks, e.Blocks)
	}
	random := rand.New(rand.NewPCG(s.Seed, 0x7469646d61726b))
	var jobs []job
	for block := range blocks {
		for _, dependent := range []bool{false, true} {
			first := len(jobs)
			for i := range s.Experiments {
				e := &s.Experiments[i]
				if e.Dependent() != dependent || block < blocks-e.Blocks {
					continue
				}
				cells := e.Cells()
				for c := range cells {
					jobs = append(jobs, job{e, &cells[c], block - (blocks - e.Blocks)})
				}
			}
			part := jobs[first:]
			random.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
		}
	}
	return jobs
}

// What estimates assume before anything was measured; the time left is
// corrected while running.
const (
	assumedStart = 1100 * time.Millisecond // process, topic, payloads, stop
	// assumedClusterStart is the same of a metadata store and several brokers.
	assumedClusterStart = 2500 * time.Millisecond
	assumedBytesPerS    = 1.5e9
	// assumedCopiedPerS is the same where there are several replicas.
	assumedCopiedPerS  = 0.5e9
	assumedPresentPerS = 1e9  // as a host gives it
	assumedRate        = 10e6 // records/s of a cell that a relative rate refers to
)

// estimate is the time of one run of a cell, the bytes it writes, and how many
// of them it holds at one time.
func estimate(l workload.Load) (seconds float64, bytes, peak int64) {
	measured := l.WarmUp + l.Window
	if l.Rate == (workload.Rate{}) {
		bound := time.Duration(float64(l.Bytes) / through(l) * float64(time.Second))
		measured = min(measured, max(bound, 100*time.Millisecond))
	}
	bytes = written(l)
	start, copies := assumedStart, int64(max(1, l.Replicas))
	if l.Brokers > 1 {
		start = assumedClusterStart
	}
	memory := float64(presentBytes(l, math.MaxInt64)) / assumedPresentPerS
	return (start + measured + l.Fetch).Seconds() + memory, bytes * copies, min(bytes, kept(l)) * copies
}

// through is the bytes a second that a saturating run is assumed to write, of one copy.
func through(l workload.Load) float64 {
	if l.Replicas > 1 {
		return assumedCopiedPerS
	}
	return assumedBytesPerS
}

// written is how many bytes of one copy a run is assumed to write.
func written(l workload.Load) int64 {
	if l.Target == "none" || l.Target == "memory" || l.Target == "external" {
		return 0
	}
	measured, perSecond := (l.WarmUp + l.Window).Seconds(), l.Rate.PerSecond
	if l.Rate.Of != "" {
		perSecond = min(assumedRate, through(l)/float64(l.RecordBytes+8)) * l.Rate.Percent / 100
	}
	if perSecond > 0 {
		return int64(perSecond * measured * float64(l.RecordBytes+8))
	}
	return min(l.Bytes, int64(through(l)*measured))
}

// kept is how many bytes the topic's retention leaves, with the segment being
// written and what may wait for deletion.
func kept(l workload.Load) int64 {
	retention, err := strconv.ParseInt(l.Topic["retention.bytes"], 10, 64)
	if err != nil || retention < 0 {
		return math.MaxInt64
	}
	segment, err := strconv.ParseInt(l.Topic["segment.bytes"], 10, 64)
	if err != nil {
		segment = 1 << 30
	}
	waiting := deletionLag.Seconds() * 2 * assumedBytesPerS
	return int64(l.Partitions)*(retention+segment) + int64(waiting)
}

// deletionLag is how long a segment outlives its retention with the broker's
// check interval and the topic's delete delay at a second each.
const deletionLag = 2 * time.Second

// Plan describes what running the suite would do.
func Plan(s *workload.Spec, spec []byte, command []string) (result.Plan, []result.PlannedRun) {
	p := result.Plan{Schema: result.PlanSchema, Suite: s.Name.Value, About: s.About, CreatedUTC: time.Now().UTC().Format(time.RFC3339),
		Command: command, Seed: s.Seed, Spec: result.Digest(spec), Experiments: []result.PlanExperiment{}}
	p.Commit, p.Dirty = env.Commit()
	for i := range s.Experiments {
		e := &s.Experiments[i]
		design := e.Matrix.Design.Value
		if design == "" {
			design = "oneway"
		}
		pe := result.PlanExperiment{Name: e.Name.Value, About: e.About, Kind: e.Kind(), Design: design, Blocks: e.Blocks,
			Axes: e.ResolvedAxes(), Cells: []result.PlanCell{}}
		if pe.Axes == nil {
			pe.Axes = []result.Axis{}
		}
		for _, c := range e.Cells() {
			seconds, bytes, peak := estimate(c.Load)
			pe.Cells = append(pe.Cells, result.PlanCell{ID: c.ID, Label: c.Label, Base: c.Base, AA: c.AA, Axes: c.Axes, Driver: c.Load.Driver,
				Target: c.Load.Target, Config: c.Config, SecondsPerRun: seconds, BytesPerRun: bytes})
			p.Totals.Cells++
			p.Totals.Runs += e.Blocks
			p.Totals.Seconds += seconds * float64(e.Blocks)
			p.Totals.BytesWritten += bytes * int64(e.Blocks)
			p.Totals.PeakBytes = max(p.Totals.PeakBytes, peak)
		}
		p.Experiments = append(p.Experiments, pe)
	}
	if p.Trials = planTrials(s); p.Trials != nil {
		bytes := trialBytes(s)
		p.Totals.Seconds += p.Trials.SecondsPerTrial * float64(p.Trials.Count)
		p.Totals.BytesWritten += bytes * int64(p.Trials.Count)
		p.Totals.PeakBytes = max(p.Totals.PeakBytes, bytes)
	}
	var planned []result.PlannedRun
	for i, j := range order(s) {
		planned = append(planned, result.PlannedRun{Order: i, Experiment: j.experiment.Name.Value, Block: j.block, Cell: j.cell.ID, Label: j.cell.Label})
	}
	return p, planned
}

// dataDir is where the runs of this process keep their data.
func dataDir(root string) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(root, dataPrefix)
}

// dataPrefix begins the name of every data directory, so that those of a killed
// invocation can be told and removed.
const dataPrefix = "tidemark-bench-data-"
