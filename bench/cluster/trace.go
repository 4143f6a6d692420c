package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tidemark/internal/trace"
)

// TraceDir is where the brokers of a cluster with Options.Trace write what happens
// inside them, and what was done to them stands beside it.
func (c *Cluster) TraceDir() string { return filepath.Join(c.dir, "traces") }

// setTracesAside moves the traces of an earlier cluster out of the way of a new one's
// and returns the folder in the cluster's directory where they are now; empty if there
// are none.
func (c *Cluster) setTracesAside() (string, error) {
	old, err := filepath.Glob(filepath.Join(c.TraceDir(), "trace-*.jsonl"))
	if err != nil || len(old) == 0 {
		return "", err
	}
	name, err := c.freeFolder(filepath.Base(c.TraceDir()))
	if err != nil {
		return "", err
	}
	for _, path := range old {
		if err := os.Rename(path, filepath.Join(c.dir, name, filepath.Base(path))); err != nil {
			return "", fmt.Errorf("cluster: %w", err)
		}
	}
	_ = os.Remove(c.TraceDir()) // stays where somebody else has put something
	return name, nil
}

// freeFolder makes a folder in the cluster's directory with the first number behind
// its name that none has.
func (c *Cluster) freeFolder(name string) (string, error) {
	for n := 1; ; n++ {
		numbered := name + "-" + strconv.Itoa(n)
		err := os.Mkdir(filepath.Join(c.dir, numbered), 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("cluster: %w", err)
		}
		return numbered, nil
	}
}

// tracing lets one goroutine at a time add to the trace of faults.
var tracing sync.Mutex

// traceFault adds an action to the traces, where there are any.
func (c *Cluster) traceFault(a Action) error {
	e, ok := faultEvent(a)
	if !ok {
		return nil
	}
	s, err := c.State()
	if err != nil || !s.Trace {
		return err
	}
	tracing.Lock()
	defer tracing.Unlock()
	if err := trace.Add(c.TraceDir(), trace.Outside, time.Duration(a.Time.UnixNano()), e); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// upAgain is the action up, where it goes on with a cluster that was down: to its
// traces that is the end of a fault.
const upAgain = "up again"

// ends are the actions that end a fault.
var ends = map[string]string{"resume": "pause", "restart": "kill", "heal": "cut", upAgain: "down"}

// faultEvent is an action as an event; ok is false where it is no fault.
func faultEvent(a Action) (e trace.Event, ok bool) {
	if a.Do == "up" {
		return e, false
	}
	e = trace.Event{Kind: trace.Fault, Phase: "begin", What: strings.ReplaceAll(a.Do, " ", "-"), Why: a.Rule}
	if begun, isEnd := ends[a.Do]; isEnd {
		e.Phase, e.What = "end", begun
	}
	if a.Broker > 0 {
		e.New = append(e.New, a.Broker)
	}
	for _, link := range a.Links {
		for _, end := range strings.Split(link, "→") {
			if id, err := strconv.ParseInt(end, 10, 32); err == nil && !slices.Contains(e.New, int32(id)) {
				e.New = append(e.New, int32(id))
			}
		}
	}
	if a.Seconds > 0 {
		e.Why = strings.TrimSpace(fmt.Sprintf("%s for %gs", e.Why, a.Seconds))
	}
	if len(a.Links) > 0 {
		e.Why = strings.TrimSpace(strings.Join(a.Links, " ") + " " + e.Why)
	}
	return e, true
}
