// Package cluster runs a cluster of real broker processes on this machine: the
// metadata store, the brokers and, where links are to be cut, the proxy mesh between
// them are programs of their own, started from one binary. Processes can be killed,
// paused and restarted, links cut and healed, from the process that started the
// cluster or from any other that opens its directory.
//
// The directory holds the state (state.json, rewritten whole), a folder for each
// process with its log, what it printed when it was ready, its pid and its data, and
// faults.jsonl, a line for each thing that was done to the cluster. A process is only
// ever signalled where its number, its start time and its command line say that it is
// the cluster's own. The package never imports the broker.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"tidemark/bench/process"
)

// The kinds of metadata store; anything else is host:port of one that runs.
const (
	// Embedded is `tidemark zk`, one process for all brokers.
	Embedded = "embedded"
	// Real is Apache ZooKeeper as Debian packages it.
	Real = "real"
)

// MaxBrokers is how many brokers a cluster may have; each has a loopback address of
// its own in a mesh.
const MaxBrokers = 100

// Options is what to start.
type Options struct {
	// Program is the tidemark command; the running program if empty.
	Program string
	// Dir is the cluster's directory. Data of an earlier cluster there is gone on
	// with, by no fewer brokers and with the same metadata store; processes of one
	// whose starter has died are ended.
	Dir string
	// Brokers is how many; their ids are 1 and up.
	Brokers int
	// Zookeeper is Embedded, Real or host:port[,host:port…][/chroot]; empty is
	// Embedded. Through a mesh each broker has one of the servers, in turn.
	Zookeeper string
	// Tick is the tickTime of a store of the cluster's own: sessions last between 2
	// and 20 of them, and end on one. 0 is half a second, and sessions up to 10 s.
	Tick time.Duration
	// Set are further settings of every broker, as name=value.
	Set []string
	// Port is where the first broker listens and the others after it; 0 takes free
	// ones.
	Port int
	// LogDirs is how many log directories a broker has; 0 is one.
	LogDirs int
	// Record has every broker keep a record of what is on stable storage, which
	// CutPower needs.
	Record bool
	// Trace has every broker write what happens inside it to TraceDir, with what is
	// done to them.
	Trace bool
	// Proxy puts a mesh between all, so that links can be cut. Seed is its jitter's.
	Proxy bool
	Seed  uint64
	// Outlive lets the processes live on when this one ends; else they die with it.
	Outlive bool
}

// Cluster is a running cluster. It is immutable, all else is in its directory, and safe for concurrent use, also beside other
// processes that have opened its directory.
type Cluster struct {
	dir     string
	outlive bool // what this process starts lives on when it ends
}

// ErrInterrupted says that a start was given up because its context was canceled.
var ErrInterrupted = errors.New("interrupted before every broker served; what had started is ended")

// Start starts a cluster and waits until every process serves. On an error
// everything is ended again, and logs and data stay.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	if err := o.findStore(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c := &Cluster{dir: o.Dir, outlive: o.Outlive}
	unlock, err := c.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	s, err := c.prepare(o)
	if err != nil {
		c.leaveIfNone()
		return nil, err
	}
	if err := c.startAll(ctx, s); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			err = ErrInterrupted // why a process was not ready yet is no news then
		}
		return nil, errors.Join(err, c.end(s, false), c.save(s))
	}
	return c, nil
}

// prepare decides what is to start and saves it; what an earlier cluster has left in
// the directory is ended, gone on with or set aside.
func (c *Cluster) prepare(o Options) (*State, error) {
	earlier, err := c.clearLeftovers()
	if err != nil {
		return nil, err
	}
	s, err := plan(o)
	if err != nil {
		return nil, err
	}
	if earlier == nil {
		if s.EarlierTraces, err = c.setTracesAside(); err != nil {
			return nil, err
		}
		return s, c.save(s)
	}
	if err := s.goOn(earlier); err != nil {
		return nil, err
	}
	if err := c.save(s); err != nil {
		return nil, err
	}
	return s, c.traceFault(Action{Time: time.Now(), Do: upAgain})
}

// startAll starts every process and waits until it serves.
func (c *Cluster) startAll(ctx context.Context, s *State) error {
	if err := c.startStore(ctx, s); err != nil {
		return err
	}
	if s.Proxy {
		if err := c.startMesh(ctx, s); err != nil {
			return err
		}
	}
	if err := c.startBrokers(ctx, s, s.brokerIDs()...); err != nil {
		return err
	}
	return c.note(Action{Do: "up"})
}

// complete fills in defaults and checks.
func (o *Options) complete() (err error) {
	if o.Program == "" {
		if o.Program, err = os.Executable(); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
	}
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if o.Zookeeper == "" {
		o.Zookeeper = Embedded
	}
	if o.Tick == 0 {
		o.Tick = 500 * time.Millisecond
	}
	return o.Check()
}

// ErrNone says that a directory holds no cluster.
var ErrNone = errors.New("no cluster")

// Open takes over a cluster that some process has started in dir. What this process
// starts there outlives it.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c := &Cluster{dir: dir, outlive: true}
	if _, err := c.State(); err != nil {
		return nil, err
	}
	return c, nil
}

// ErrRuns says that the directory's cluster is up.
var ErrRuns = errors.New("the cluster is running already")

// clearLeftovers ends what is left of an earlier cluster in the directory, unless
// that is up and somebody's, and returns what it was; nil if there was none.
func (c *Cluster) clearLeftovers() (*State, error) {
	s, err := c.State()
	if errors.Is(err, ErrNone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	orphaned := s.Owner.Pid != 0 && s.Owner.State() == process.Gone
	if s.runs() && !orphaned {
		return nil, fmt.Errorf("%s: %w", c.dir, ErrRuns)
	}
	return s, c.end(s, false)
}

// Down ends the cluster: gently and keeping all files, or at once and deleting the
// data and logs. Traces stay.
func (c *Cluster) Down(keep bool) error {
	return c.change(func(s *State) error {
		noted := c.noteIf(s.runs(), Action{Do: "down"})
		if err := c.end(s, keep); err != nil {
			return errors.Join(noted, err)
		}
		if keep {
			return errors.Join(noted, c.save(s))
		}
		return errors.Join(noted, c.erase(s))
	})
}

// erase deletes what the cluster has made, and nothing else that lies there.
func (c *Cluster) erase(s *State) error {
	names := []string{storeDir, meshDir, stateFile, faultsFile}
	for _, b := range s.Brokers {
		names = append(names, b.Dir)
	}
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(c.dir, name)); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	c.leaveIfNone()
	return nil
}

// leaveIfNone removes the directory where there is no cluster in it.
func (c *Cluster) leaveIfNone() {
	if _, err := c.State(); errors.Is(err, ErrNone) {
		_ = os.Remove(filepath.Join(c.dir, lockFile)) // the next one makes another
		_ = os.Remove(c.dir)                          // stays where somebody else has put something
	}
}

// Dir is the cluster's directory.
func (c *Cluster) Dir() string { return c.dir }

// graceful is how long a process may take to end when it is asked to.
const graceful = 20 * time.Second
