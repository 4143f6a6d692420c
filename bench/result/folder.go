package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"

	"tidemark/bench/hist"
)

// Folder is a run folder read back. Files that an interrupted invocation did not
// reach are absent (nil), never an error.
type Folder struct {
	Dir   string
	Plan  Plan
	State State
	Env   *Env
	Calib *Calib
	// Runs are all finished runs, invalid ones included, in order of execution.
	Runs    []Run
	Compare *Compare
	// Trials are all finished trials in order; Durability what they say.
	Trials     []Trial
	Durability *Durability
	// Problems names files that could not be read, one sentence each; the rest
	// of the folder is here all the same.
	Problems []string
}

// Load reads a run folder. Only an unreadable resolved.json is an error; any
// other damaged file is left out and named in Problems.
func Load(dir string) (*Folder, error) {
	named := dir
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	f := &Folder{Dir: dir}
	if err := readJSON(filepath.Join(dir, "resolved.json"), PlanSchema, &f.Plan); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no folder of results: it has no resolved.json; `ls results/*` shows which there are", named)
	} else if err != nil {
		return nil, err
	}
	if state := load[State](f, "state.json", StateSchema); state != nil {
		f.State = *state
	}
	f.Env = load[Env](f, "env.json", EnvSchema)
	f.Calib = load[Calib](f, "calib.json", CalibSchema)
	f.Compare = load[Compare](f, "compare.json", CompareSchema)
	f.Durability = load[Durability](f, "durability.json", DurabilitySchema)
	f.loadTrials()
	files, err := filepath.Glob(filepath.Join(dir, "cells", "*", "*", "run.json"))
	if err != nil {
		return nil, fmt.Errorf("list runs of %s: %w", dir, err)
	}
	for _, file := range files {
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return nil, fmt.Errorf("list runs of %s: %w", dir, err)
		}
		if r := load[Run](f, name, RunSchema); r != nil {
			f.Runs = append(f.Runs, *r)
		}
	}
	sort.SliceStable(f.Runs, func(i, j int) bool { return f.Runs[i].Order < f.Runs[j].Order })
	return f, nil
}

// loadTrials reads trials.csv; absent or damaged it counts as load does.
func (f *Folder) loadTrials() {
	data, err := os.ReadFile(filepath.Join(f.Dir, TrialsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		f.Trials, err = ReadTrials(bytes.NewReader(data))
	}
	if err != nil {
		f.Problems = append(f.Problems, fmt.Sprintf("%s: %v", filepath.Join(f.Dir, TrialsFile), err))
	}
}

// load reads one file; nil when it is absent or, with a problem noted, damaged.
func load[T any](f *Folder, name, schema string) *T {
	v := new(T)
	err := readJSON(filepath.Join(f.Dir, name), schema, v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		f.Problems = append(f.Problems, err.Error())
		return nil
	}
	return v
}

func readJSON(path, schema string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if head.Schema != schema {
		return fmt.Errorf("%s: schema %q, this program reads %q", path, head.Schema, schema)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// RunDir is where the files of one run are.
func RunDir(folder, cell string, block int) string {
	return filepath.Join(folder, "cells", cell, strconv.Itoa(block))
}

// Of returns the runs of one cell in block order, invalid ones included.
func (f *Folder) Of(cell string) []Run {
	var out []Run
	for _, r := range f.Runs {
		if r.Cell == cell {
			out = append(out, r)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Block < out[j].Block })
	return out
}

// Experiment returns the plan of a named experiment; nil when there is none.
func (f *Folder) Experiment(name string) *PlanExperiment {
	for i := range f.Plan.Experiments {
		if f.Plan.Experiments[i].Name == name {
			return &f.Plan.Experiments[i]
		}
	}
	return nil
}

// Series reads the run's series.csv.
func (f *Folder) Series(r Run) ([]Row, error) {
	path := filepath.Join(RunDir(f.Dir, r.Cell, r.Block), "series.csv")
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	rows, err := ReadSeries(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rows, nil
}

// Histogram metrics of a run; the files are hist/<metric>.hgrm.
const (
	HistResponse = "response"
	HistService  = "service"
	HistLateness = "lateness"
	// HistOwnLateness is the harness's own part of lateness.
	HistOwnLateness = "own_lateness"
	HistE2E         = "e2e"
	HistFetch       = "fetch" // service time of fetch requests
)

// Spectrum reads the percentile distribution of one metric over the run's whole
// window; an error that is fs.ErrNotExist says that the run has none.
func (f *Folder) Spectrum(r Run, metric string) ([]hist.Point, error) {
	path := filepath.Join(RunDir(f.Dir, r.Cell, r.Block), "hist", metric+".hgrm")
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	points, err := hist.ReadHgrm(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return points, nil
}

// Intervals reads the run's HDR log: one histogram per metric and second.
func (f *Folder) Intervals(r Run) ([]hist.Interval, error) {
	path := filepath.Join(RunDir(f.Dir, r.Cell, r.Block), "hist", "all.hlog")
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	intervals, err := hist.ReadLog(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return intervals, nil
}
