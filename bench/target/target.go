// Package target starts what a run measures: a fresh broker process on a free
// loopback port with a fresh data directory, the discarding memory server as a
// process of its own, or nothing where the target is in this process or runs
// elsewhere. It never imports the broker: the running program is started again.
package target

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"tidemark/bench/load"
	"tidemark/bench/workload"
)

// Options is what to start.
type Options struct {
	// Executable is started as `EXECUTABLE broker …`; os.Executable if empty.
	Executable string
	// Dir is a directory for the target's data and log: a fresh one, or one of a
	// broker that has ended.
	Dir string
	// Load names the target and its broker properties.
	Load workload.Load
	// Flags are further arguments of a broker.
	Flags []string
}

// Target is something that takes load. It is confined to one goroutine, but for
// Probe.
type Target struct {
	// Bootstrap is its address; empty where there is none.
	Bootstrap string
	// Readiness is how long it took from the start to being ready.
	Readiness time.Duration

	metrics string
	dir     string
	child   *child
	probe   *probe
}

// readyWithin bounds how long a target may take to serve.
const readyWithin = 20 * time.Second

// Start starts the load's target and waits until it serves.
func Start(ctx context.Context, o Options) (*Target, error) {
	t := &Target{dir: o.Dir, probe: newProbe(0)}
	switch o.Load.Target {
	case "none", "inproc":
		return t, nil
	case "external":
		t.Bootstrap = o.Load.Bootstrap
		return t, nil
	case "process":
		return t, t.start(ctx, o, brokerArgs(o))
	case "memory":
		return t, t.start(ctx, o, []string{"bench", "memory-server", "--json", "--listen", "127.0.0.1:0"})
	}
	return nil, fmt.Errorf("no target %q", o.Load.Target)
}

// DataDir is where a broker that is started in dir keeps its data. It is still
// there when the broker is gone, and the next one started in dir goes on with it.
func DataDir(dir string) string { return filepath.Join(dir, "data") }

// brokerArgs is the command line of a broker.
func brokerArgs(o Options) []string {
	args := []string{"broker", "--json", "--log-level", "warn", "--listen", "127.0.0.1:0", "--set", "log.dirs=" + DataDir(o.Dir)}
	names := make([]string, 0, len(o.Load.Broker))
	for name := range o.Load.Broker {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		args = append(args, "--set", name+"="+o.Load.Broker[name])
	}
	return append(args, o.Flags...)
}

// ready is what a started process prints on one line once it serves.
type ready struct {
	Listener string `json:"listener"`
	Metrics  string `json:"metrics"`
}

// Program is the program to start: the given one or, where none is, the running one.
func Program(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	return path, nil
}

func (t *Target) start(ctx context.Context, o Options, args []string) error {
	executable, err := Program(o.Executable)
	if err != nil {
		return err
	}
	began := time.Now()
	c, err := startChild(executable, args, filepath.Join(o.Dir, "process.log"))
	if err != nil {
		return err
	}
	t.child = c
	line := make(chan ready, 1)
	failed := make(chan error, 1)
	go func() {
		var r ready
		if err := json.NewDecoder(c.stdout).Decode(&r); err != nil {
			failed <- err
			return
		}
		line <- r
		_, _ = io.Copy(io.Discard, c.stdout) // keep the pipe empty until the process ends
	}()
	timer := time.NewTimer(readyWithin)
	defer timer.Stop()
	select {
	case r := <-line:
		t.Bootstrap, t.metrics = r.Listener, r.Metrics
	case err = <-failed:
		err = fmt.Errorf("it ended before it served: %w", err)
	case <-timer.C:
		err = fmt.Errorf("not ready within %s", readyWithin)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w: %s", strings.Join(args, " "), err, t.logTail()), t.Stop())
	}
	t.Readiness = time.Since(began)
	t.probe = newProbe(c.Pid)
	if t.metrics != "" {
		t.probe.debt = "http://" + t.metrics + "/debt"
	}
	return nil
}

// Probe reads the usage of the target and of this process.
func (t *Target) Probe() load.Probe { return t.probe }

// Leftovers are the files that a run keeps of its target: its last log lines
// and its metrics. A part that cannot be had is missing.
func (t *Target) Leftovers(ctx context.Context) map[string][]byte {
	out := map[string][]byte{}
	if t.child == nil {
		return out
	}
	if tail := t.logTail(); tail != "" {
		out["log.tail"] = []byte(tail)
	}
	if t.metrics != "" {
		if data, err := get(ctx, "http://"+t.metrics+"/metrics"); err == nil {
			out["metrics.prom"] = data
		}
	}
	return out
}

func get(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // only read
	return io.ReadAll(io.LimitReader(answer.Body, 4<<20))
}

// logTail is the end of what the process wrote to its standard error.
func (t *Target) logTail() string {
	data, err := os.ReadFile(filepath.Join(t.dir, "process.log"))
	if err != nil {
		return ""
	}
	const keep = 4 << 10
	if len(data) > keep {
		data = data[len(data)-keep:]
	}
	return string(bytes.TrimSpace(data))
}

// Stop kills the process; it may be called twice. A gentle end would sync data
// that is deleted next, at the cost of the runs that follow. The data directory
// is the caller's to delete.
func (t *Target) Stop() error {
	if t.child == nil {
		return nil
	}
	return t.child.Kill()
}
