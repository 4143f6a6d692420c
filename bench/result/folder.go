package result

import (
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
}

// Load reads a run folder. A file that is present but unreadable is an error
// that names it.
func Load(dir string) (*Folder, error) {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	f := &Folder{Dir: dir}
	if err := readJSON(filepath.Join(dir, "resolved.json"), PlanSchema, &f.Plan); err != nil {
		return nil, err
	}
	if err := optional(readJSON(filepath.Join(dir, "state.json"), StateSchema, &f.State)); err != nil {
		return nil, err
	}
	var err error
	if f.Env, err = load[Env](dir, "env.json", EnvSchema); err != nil {
		return nil, err
	}
	if f.Calib, err = load[Calib](dir, "calib.json", CalibSchema); err != nil {
		return nil, err
	}
	if f.Compare, err = load[Compare](dir, "compare.json", CompareSchema); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "cells", "*", "*", "run.json"))
	if err != nil {
		return nil, fmt.Errorf("list runs of %s: %w", dir, err)
	}
	for _, file := range files {
		var r Run
		if err := readJSON(file, RunSchema, &r); err != nil {
			return nil, err
		}
		f.Runs = append(f.Runs, r)
	}
	sort.SliceStable(f.Runs, func(i, j int) bool { return f.Runs[i].Order < f.Runs[j].Order })
	return f, nil
}

func load[T any](dir, name, schema string) (*T, error) {
	v := new(T)
	err := readJSON(filepath.Join(dir, name), schema, v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

func optional(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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
	HistE2E      = "e2e"
	HistFetch    = "fetch" // service time of fetch requests
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
