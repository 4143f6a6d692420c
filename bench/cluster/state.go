package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/bench/process"
)

// The names in a cluster's directory.
const (
	stateFile  = "state.json"
	faultsFile = "faults.jsonl"
	lockFile   = "lock"
	storeDir   = "zookeeper"
	meshDir    = "mesh"
)

// State is what a cluster is; state.json holds it.
type State struct {
	Schema  string    `json:"schema"`
	Started time.Time `json:"started"`
	Program string    `json:"program"`
	// Zookeeper is as in Options, Connect where the store listens in truth, Chroot
	// what brokers keep theirs under.
	Zookeeper string   `json:"zookeeper"`
	Connect   string   `json:"zookeeper_connect"`
	Chroot    string   `json:"chroot,omitempty"`
	Settings  []string `json:"settings"`
	Proxy     bool     `json:"proxy"`
	// TickMs is the store's tickTime.
	TickMs int64 `json:"tick_ms,omitempty"`
	// LogDirs is how many log directories a broker has; 0 is one.
	LogDirs int `json:"log_dirs,omitempty"`
	// Record says whether brokers record what is durable.
	Record bool   `json:"record,omitempty"`
	Trace  bool   `json:"trace,omitempty"`
	Seed   uint64 `json:"seed,omitempty"`
	// EarlierTraces is the folder, in the cluster's directory, for the traces of
	// another cluster that were there when this one was new.
	EarlierTraces string `json:"earlier_traces,omitempty"`
	// Owner is who ends the cluster when it ends itself; nobody where it is zero.
	Owner   process.ID `json:"owner,omitzero"`
	Brokers []Process  `json:"brokers"`
	Store   Process    `json:"store,omitzero"`
	Mesh    Process    `json:"mesh,omitzero"`
	// StoreLinks are the mesh's addresses of the store, by broker id.
	StoreLinks map[int32]string `json:"store_links,omitempty"`
}

// schema is the version of state.json.
const schema = "cluster/v1"

// Process is one process of a cluster.
type Process struct {
	// Broker is its id; 0 for the store and the mesh.
	Broker int32 `json:"broker,omitempty"`
	// Dir is its folder in the cluster's directory.
	Dir string     `json:"dir"`
	ID  process.ID `json:"process,omitzero"`
	// Listener is where it listens in truth, Address where others reach it: the
	// mesh's address where there is one.
	Listener string `json:"listener"`
	Address  string `json:"address,omitempty"`
	// Metrics is a broker's metrics listener; a mesh's is its control.
	Metrics string `json:"metrics,omitempty"`
}

// State tells what the process does now.
func (p Process) State() process.State { return p.ID.State() }

// plan decides names, ports and settings of a cluster that is to be started.
func plan(o Options) (*State, error) {
	s := &State{
		Schema: schema, Started: time.Now().UTC().Truncate(time.Millisecond), Program: o.Program, Zookeeper: o.Zookeeper, Proxy: o.Proxy, Seed: o.Seed, TickMs: o.Tick.Milliseconds(), LogDirs: o.LogDirs, Record: o.Record, Trace: o.Trace,
		Settings: append([]string{
			"default.replication.factor=" + strconv.Itoa(min(3, o.Brokers)),
			"min.insync.replicas=" + strconv.Itoa(min(2, o.Brokers)),
			"zookeeper.session.timeout.ms=6000",
		}, o.Set...),
	}
	if !o.Outlive {
		owner, err := process.Identify(os.Getpid(), filepath.Base(os.Args[0]))
		if err != nil {
			return nil, err
		}
		s.Owner = owner
	}
	public, err := publicPorts(o)
	if err != nil {
		return nil, err
	}
	var private []int
	if o.Proxy {
		if private, err = FreePorts(o.Brokers); err != nil {
			return nil, err
		}
	}
	for i := range o.Brokers {
		p := Process{Broker: int32(i + 1), Dir: "broker-" + strconv.Itoa(i+1), Address: loopback(public[i])}
		p.Listener = p.Address
		if o.Proxy {
			p.Listener = loopback(private[i])
		}
		s.Brokers = append(s.Brokers, p)
	}
	return s, nil
}

func (s *State) brokerIDs() []int32 {
	var ids []int32
	for _, b := range s.Brokers {
		ids = append(ids, b.Broker)
	}
	return ids
}

// runs says whether any broker has not ended.
func (s *State) runs() bool {
	return slices.ContainsFunc(s.Brokers, func(p Process) bool { return p.State() != process.Gone })
}

// broker finds a broker's process, for good or to change it.
func (s *State) broker(id int32) (*Process, error) {
	i := slices.IndexFunc(s.Brokers, func(p Process) bool { return p.Broker == id })
	if i < 0 {
		return nil, fmt.Errorf("no broker %d: the cluster has 1 to %d", id, len(s.Brokers))
	}
	return &s.Brokers[i], nil
}

// Bootstrap is what clients connect to.
func (s *State) Bootstrap() string {
	var all []string
	for _, b := range s.Brokers {
		all = append(all, b.Address)
	}
	return strings.Join(all, ",")
}

// State reads the cluster's state.
func (c *Cluster) State() (*State, error) {
	path := filepath.Join(c.dir, stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNone, c.dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	s := &State{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("cluster: %s is damaged: %w; end what still runs of the cluster (the files %s say which processes) and delete %s", path, err, filepath.Join(c.dir, "*", pidFile), c.dir)
	}
	if s.Schema != schema {
		return nil, fmt.Errorf("cluster: %s is %q, this program knows %q; use the one that made it", path, s.Schema, schema)
	}
	return s, nil
}

// save replaces state.json. It is called with the lock held.
func (c *Cluster) save(s *State) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	path := filepath.Join(c.dir, stateFile)
	if err := os.WriteFile(path+".new", append(data, '\n'), 0o666); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// Action is a line of faults.jsonl.
type Action struct {
	Time time.Time `json:"time"`
	// Do is up, down, kill, power cut, stop, pause, resume, restart, cut, link, reset
	// or heal.
	Do     string `json:"do"`
	Broker int32  `json:"broker,omitempty"`
	// Links are the flows concerned, as from→to, Rule what holds for them.
	Links []string `json:"links,omitempty"`
	Rule  string   `json:"rule,omitempty"`
	// Seconds is how long it lasts where it ends by itself.
	Seconds float64 `json:"seconds,omitempty"`
}

// note appends to faults.jsonl; a short line is appended whole.
func (c *Cluster) note(a Action) error {
	a.Time = time.Now().UTC()
	line, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(c.dir, faultsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close(), c.traceFault(a))
}

// Actions is everything that has been done to the cluster.
func (c *Cluster) Actions() (all []Action, err error) {
	f, err := os.Open(filepath.Join(c.dir, faultsFile))
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	for d := json.NewDecoder(f); ; {
		var a Action
		if err := d.Decode(&a); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("cluster: %s: %w", f.Name(), err)
		}
		all = append(all, a)
	}
}
