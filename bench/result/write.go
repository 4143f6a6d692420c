package result

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"tidemark/bench/hist"
)

// Writer fills one run folder. Every file is written beside and renamed, so a
// reader and a crash only ever see whole files. It is confined to one goroutine.
type Writer struct {
	dir   string
	state State
}

// FolderName is <utc>-<commit>-<host>.
func FolderName(at time.Time, commit, host string) string {
	if len(commit) > 7 {
		commit = commit[:7]
	}
	return at.UTC().Format("20060102T150405Z") + "-" + commit + "-" + host
}

// Create makes the folder <root>/<suite>/<name> and points <root>/latest at it.
// Where there is one of that name, because two invocations began within a second,
// the new one gets -2, -3 and so on behind it.
func Create(root, suite, name string) (*Writer, error) {
	if err := os.MkdirAll(filepath.Join(root, suite), 0o755); err != nil {
		return nil, fmt.Errorf("results of %s: %w", suite, err)
	}
	first := name
	dir := filepath.Join(root, suite, name)
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || n > maxSameName {
			return nil, fmt.Errorf("run folder: %w", err)
		}
		name = fmt.Sprintf("%s-%d", first, n)
		dir = filepath.Join(root, suite, name)
	}
	latest := filepath.Join(root, "latest")
	beside := latest + ".new"
	_ = os.Remove(beside) // left by a crash, if at all
	if err := os.Symlink(filepath.Join(suite, name), beside); err != nil {
		return nil, fmt.Errorf("link to the latest results: %w", err)
	}
	if err := os.Rename(beside, latest); err != nil {
		return nil, fmt.Errorf("link to the latest results: %w", err)
	}
	return &Writer{dir: dir}, nil
}

// maxSameName bounds the folders of one name: more are a mistake.
const maxSameName = 100

// Dir is the folder.
func (w *Writer) Dir() string { return w.dir }

// Bytes writes one file of the folder; name may contain folders.
func (w *Writer) Bytes(name string, data []byte) error {
	path := filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := Replace(path, data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// Replace writes a file beside its place and renames it, so that whoever reads
// path sees what was there before or all of data. Errors name the path already.
func Replace(path string, data []byte) error {
	beside, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(beside.Name()) }() // gone after the rename
	_, err = beside.Write(data)
	if err == nil {
		err = beside.Chmod(0o644)
	}
	if e := beside.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(beside.Name(), path)
}

// JSON writes v indented.
func (w *Writer) JSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return w.Bytes(name, append(data, '\n'))
}

func (w *Writer) text(name string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return w.Bytes(name, b.Bytes())
}

// Begin writes the plan and the state of a new invocation.
func (w *Writer) Begin(spec []byte, p Plan, order []PlannedRun) error {
	if err := w.Bytes("spec.yaml", spec); err != nil {
		return err
	}
	if err := w.JSON("resolved.json", p); err != nil {
		return err
	}
	w.state = State{Schema: StateSchema, Runs: make([]StateLine, len(order))}
	var lines bytes.Buffer
	for i, r := range order {
		w.state.Runs[i] = StateLine{Order: r.Order, Cell: r.Cell, Block: r.Block, State: Planned}
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode plan.jsonl: %w", err)
		}
		lines.Write(append(line, '\n'))
	}
	if err := w.Bytes("plan.jsonl", lines.Bytes()); err != nil {
		return err
	}
	return w.JSON("state.json", w.state)
}

// Mark notes where the run of an order stands.
func (w *Writer) Mark(order int, s RunState, cause error) error {
	line := &w.state.Runs[order]
	line.State, line.Error = s, ""
	if cause != nil {
		line.Error = cause.Error()
	}
	return w.JSON("state.json", w.state)
}

// BeginTrials notes how many faults follow the runs.
func (w *Writer) BeginTrials(planned int) error {
	w.state.Trials = &TrialState{Planned: planned}
	return w.JSON("state.json", w.state)
}

// Trials writes the trials so far and where they stand, so that an interrupted
// invocation leaves all that are finished.
func (w *Writer) Trials(all []Trial, s TrialState) error {
	w.state.Trials = &s
	if err := w.text(TrialsFile, func(o io.Writer) error { return WriteTrials(o, all) }); err != nil {
		return err
	}
	return w.JSON("state.json", w.state)
}

// End notes how the invocation ended.
func (w *Writer) End(finished, interrupted bool) error {
	w.state.Finished, w.state.Interrupted = finished, interrupted
	return w.JSON("state.json", w.state)
}

// Files are the measurements of one run.
type Files struct {
	Rows      []Row
	Whole     map[string]*hist.Histogram // by metric
	Intervals []hist.Interval
	Began     time.Time
	// Broker holds what the target left behind: config.properties,
	// metrics.prom, log.tail.
	Broker map[string][]byte
}

// Run writes the files of one run, run.json last: a run with a run.json is whole.
// label.txt beside the cell's runs says in words what the cell is.
func (w *Writer) Run(r Run, f Files) error {
	dir, err := filepath.Rel(w.dir, RunDir(w.dir, r.Cell, r.Block))
	if err != nil {
		return err
	}
	if err := w.Bytes(filepath.Join("cells", r.Cell, "label.txt"), []byte(r.Experiment+": "+r.Label+"\n")); err != nil {
		return err
	}
	if err := w.text(filepath.Join(dir, "series.csv"), func(o io.Writer) error { return WriteSeries(o, f.Rows) }); err != nil {
		return err
	}
	for metric, h := range f.Whole {
		if err := w.text(filepath.Join(dir, "hist", metric+".hgrm"), func(o io.Writer) error { return hist.WriteHgrm(o, h) }); err != nil {
			return err
		}
	}
	if err := w.text(filepath.Join(dir, "hist", "all.hlog"), func(o io.Writer) error { return hist.WriteLog(o, f.Began, f.Intervals) }); err != nil {
		return err
	}
	for name, data := range f.Broker {
		if err := w.Bytes(filepath.Join(dir, "broker", name), data); err != nil {
			return err
		}
	}
	return w.JSON(filepath.Join(dir, "run.json"), r)
}

// Manifest writes MANIFEST.sha256 over every other file of the folder, in the
// form that sha256sum -c reads.
func (w *Writer) Manifest() error {
	var lines []string
	err := filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(w.dir, path)
		if err != nil || name == manifestName {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(data)
		lines = append(lines, hex.EncodeToString(sum[:])+"  "+filepath.ToSlash(name)+"\n")
		return nil
	})
	if err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	sort.Strings(lines)
	return w.Bytes(manifestName, []byte(strings.Join(lines, "")))
}

const manifestName = "MANIFEST.sha256"

// Digest is sha256:… of data, as files name each other.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}
