// Package target starts what a run measures: a fresh broker process on a free
// loopback port with a fresh data directory, a cluster of them, the discarding memory server as a
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
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
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
	// Bootstrap is its address, or those of its brokers with commas between; empty
	// where there is none.
	Bootstrap string
	// Direct is where brokers listen in truth by the address that they tell, where
	// a mesh lies between: a load that must not pass it connects there.
	Direct map[string]string
	// Readiness is how long it took from the start to being ready.
	Readiness time.Duration

	// metrics are the metrics listeners of brokers, by the name of their files.
	metrics map[string]string
	dir     string
	child   *child
	cluster *cluster.Cluster
	slowed  []proxy.Flow // to the last follower
	probe   *probe
}

// readyWithin bounds how long a target may take to serve.
const readyWithin = time.Minute

// Start starts the load's target and waits until it serves.
func Start(ctx context.Context, o Options) (*Target, error) {
	t := &Target{dir: o.Dir, probe: newProbe()}
	switch o.Load.Target {
	case "none", "inproc":
		return t, nil
	case "external":
		t.Bootstrap = o.Load.Bootstrap
		return t, nil
	case "process":
		if o.Load.Brokers > 1 {
			return t, t.startCluster(ctx, o)
		}
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
	for _, setting := range settings(o.Load) {
		args = append(args, "--set", setting)
	}
	return append(args, o.Flags...)
}

// settings are the load's broker properties as name=value.
func settings(l workload.Load) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(l.Broker)) {
		all = append(all, name+"="+l.Broker[name])
	}
	return all
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
		t.Bootstrap = r.Listener
		if r.Metrics != "" {
			t.metrics = map[string]string{"": r.Metrics}
			t.probe.debt = "http://" + r.Metrics + "/debt"
		}
	case err = <-failed:
		err = fmt.Errorf("it ended before it served: %w", err)
	case <-timer.C:
		err = fmt.Errorf("not ready within %s", readyWithin)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w: %s", strings.Join(args, " "), err, t.Said()), t.Stop())
	}
	t.Readiness = time.Since(began)
	t.probe.brokers = []int{c.Pid}
	return nil
}

// Probe reads the usage of the target and of this process.
func (t *Target) Probe() load.Probe { return t.probe }

// Leftovers are the files that a run keeps of its target: its last log lines
// and its metrics. A part that cannot be had is missing.
func (t *Target) Leftovers(ctx context.Context) map[string][]byte {
	out := map[string][]byte{}
	for name, log := range t.logs() {
		if tail := tailOf(log); tail != "" {
			out[name+"log.tail"] = []byte(tail)
		}
	}
	for name, address := range t.metrics {
		if data, err := get(ctx, "http://"+address+"/metrics"); err == nil {
			out[name+"metrics.prom"] = data
		}
	}
	return out
}

// Said is how the logs of the target's processes end.
func (t *Target) Said() string {
	var all []string
	logs := t.logs()
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		if tail := tailOf(logs[name]); tail != "" {
			all = append(all, name+tail)
		}
	}
	return strings.Join(all, "\n")
}

// logs are the log files of the target's processes, by what begins the names of
// the files kept of each.
func (t *Target) logs() map[string]string {
	switch {
	case t.cluster != nil:
		return t.clusterLogs()
	case t.child != nil:
		return map[string]string{"": filepath.Join(t.dir, "process.log")}
	}
	return nil
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

// tailOf is the end of what a process wrote to its standard error.
func tailOf(log string) string {
	data, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	const keep = 4 << 10
	if len(data) > keep {
		data = data[len(data)-keep:]
	}
	return string(bytes.TrimSpace(data))
}

// Stop kills the processes; it may be called twice. A gentle end would sync data
// that is deleted next, at the cost of the runs that follow. The data directory
// is the caller's to delete.
func (t *Target) Stop() error {
	t.probe.close()
	switch {
	case t.cluster != nil:
		err := t.cluster.Down(false)
		t.cluster = nil
		return err
	case t.child != nil:
		return t.child.Kill()
	}
	return nil
}
