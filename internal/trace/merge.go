package trace

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// Merge calls each for the events of several traces in the order of their times, the
// events of one trace in its own order; causes across brokers are resolved. Times count
// from the first event. It returns the first error of a trace or of each.
func Merge(traces []io.Reader, each func(*Event) error) error {
	m := &merge{next: make([]Event, len(traces)), pull: make([]func() (Event, error, bool), len(traces))}
	for i, t := range traces {
		pull, stop := iter.Pull2(events(t))
		defer stop()
		m.pull[i] = pull
		if err := m.advance(i); err != nil {
			return err
		}
	}
	var resolver Resolver
	began, first := time.Duration(0), true
	for {
		i := m.earliest()
		if i < 0 {
			return nil
		}
		e := m.next[i]
		if first {
			began, first = e.At, false
		}
		e.At -= began
		if e.Kind == Purgatory {
			e.Deadline -= began
		}
		resolver.Resolve(&e)
		if err := each(&e); err != nil {
			return err
		}
		if err := m.advance(i); err != nil {
			return err
		}
	}
}

// merge holds the next event of each trace; one without Kind has ended.
type merge struct {
	next []Event
	pull []func() (Event, error, bool)
}

func (m *merge) advance(i int) error {
	e, err, ok := m.pull[i]()
	if !ok {
		e = Event{}
	}
	m.next[i] = e
	return err
}

func (m *merge) earliest() int {
	best := -1
	for i := range m.next {
		if m.next[i].Kind != 0 && (best < 0 || m.next[i].At < m.next[best].At) {
			best = i
		}
	}
	return best
}

var errStopped = errors.New("stopped")

// events is Read as a sequence; an error comes last.
func events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		err := read(r, DecodeWhole, func(e Event) error {
			if !yield(e, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && err != errStopped {
			if file, ok := r.(*os.File); ok {
				err = fmt.Errorf("%s: %w", file.Name(), err)
			}
			yield(Event{}, err)
		}
	}
}

// MergeFiles is Merge of files, and of all traces in directories.
func MergeFiles(paths []string, each func(*Event) error) error {
	var traces []io.Reader
	for _, path := range paths {
		names, err := tracesAt(path)
		if err != nil {
			return err
		}
		for _, name := range names {
			file, err := os.Open(name)
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }() // only read
			traces = append(traces, file)
		}
	}
	return Merge(traces, each)
}

// tracesAt is the file at path, or the traces in the directory there.
func tracesAt(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	names, err := filepath.Glob(filepath.Join(path, "trace-*.jsonl"))
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: there is no trace-*.jsonl; start brokers with --trace DIR", path)
	}
	return names, err
}
