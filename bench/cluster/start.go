package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tidemark/bench/process"
)

// The names in a process's folder.
const (
	logFile   = "process.log"
	readyFile = "ready.json"
	pidFile   = "pid"
	dataDir   = "data"
	// timelineFile is what a mesh leaves when it ends.
	timelineFile = "timeline.jsonl"
)

// ready is what a process prints on one line once it serves.
type ready struct {
	Listener string `json:"listener"`
	Metrics  string `json:"metrics"`
	// Control and Links are a mesh's.
	Control string           `json:"control"`
	Links   map[int32]string `json:"links"`
}

// launch starts a process of the cluster. Its log goes on where it stood.
func (c *Cluster) launch(p *Process, program string, env, args []string) error {
	dir := filepath.Join(c.dir, p.Dir)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	out, err := os.Create(filepath.Join(dir, readyFile))
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		_ = out.Close() // nothing was written
		return fmt.Errorf("cluster: %w", err)
	}
	child, err := process.Start(process.Options{Program: program, Args: args, Env: env, Stdout: out, Stderr: log, Outlive: c.outlive})
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if p.ID, err = process.Identify(child.Pid, dir); err != nil {
		return fmt.Errorf("cluster: %s: %w: %s", p.Dir, err, c.why(p))
	}
	if err := os.WriteFile(filepath.Join(dir, pidFile), []byte(strconv.Itoa(child.Pid)+"\n"), 0o666); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// readyWithin bounds how long a process may take to serve: a broker may have to check
// its logs first.
const readyWithin = 60 * time.Second

// pause is how often what other processes do is looked at.
const pause = 10 * time.Millisecond

// await polls until so says yes or fails, the process is gone, or it takes too long.
func (c *Cluster) await(ctx context.Context, p *Process, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		gone := p.State() == process.Gone // looked at first: what it said last counts
		yes, err := so()
		switch {
		case err == nil && yes:
			return nil
		case err == nil && gone:
			err = errors.New("it ended before it served")
		}
		if err != nil {
			return fmt.Errorf("start %s: %w\n%s", p.Dir, err, c.why(p))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("start %s: not ready: %w\n%s", p.Dir, ctx.Err(), c.why(p))
		}
	}
}

// awaitReady waits for the line that a tidemark process prints when it serves.
func (c *Cluster) awaitReady(ctx context.Context, p *Process) (ready, error) {
	var r ready
	err := c.await(ctx, p, func() (bool, error) {
		data, err := os.ReadFile(filepath.Join(c.dir, p.Dir, readyFile))
		if err != nil || !bytes.HasSuffix(data, []byte("\n")) {
			return false, err
		}
		return true, json.Unmarshal(data, &r)
	})
	return r, err
}

// awaitHealth waits for a broker's readiness endpoint.
func (c *Cluster) awaitHealth(ctx context.Context, p *Process) error {
	if p.Metrics == "" {
		return nil // switched off by a setting
	}
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	return c.await(ctx, p, func() (bool, error) {
		answer, err := client.Get("http://" + p.Metrics + "/readyz")
		if err != nil {
			return false, nil // not yet
		}
		_ = answer.Body.Close() // its status says it
		return answer.StatusCode == http.StatusOK, nil
	})
}

// tailLines and tailBytes are how much of a log an error shows.
const (
	tailLines = 15
	tailBytes = 8 << 10
)

// why is the end of a process's log and where the rest is.
func (c *Cluster) why(p *Process) string {
	path := filepath.Join(c.dir, p.Dir, logFile)
	data, err := os.ReadFile(path)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return "it logged nothing (" + path + ")"
	}
	if len(data) > tailBytes {
		data = data[len(data)-tailBytes:]
	}
	lines := strings.Split(string(bytes.TrimSpace(data)), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return "its log ends (" + path + "):\n  " + strings.Join(lines, "\n  ")
}
