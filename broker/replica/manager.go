package replica

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/commitlog"
	"tidemark/engines"
	"tidemark/internal/vfs"
	"tidemark/replication/isr"
)

// Manager holds every replica of this broker. It is safe for concurrent use. Mu
// serializes changes to the set of partitions; lookups take no lock. Lock order:
// Manager.mu, Partition.mu, Partition.stepping, then the log's own, a log directory's
// or a fetcher's.
type Manager struct {
	o    Options
	dirs []*logDir

	topics atomic.Pointer[index]

	// devices are those whose number is known; allDevices has them all.
	devices    map[uint64]*device
	allDevices []*device

	mu     sync.Mutex
	found  map[ID]*foundLog // opened at start, not yet claimed by Apply
	closed bool
	tasks  []*task // written by Open alone

	recovery    recovery
	lossy       atomic.Bool // some log has less than the last process left
	offlineDirs atomic.Int32

	cleaning *cleaning // set by Open

	origin   time.Time // of the machines' time
	fetchers *fetchers // nil without Options.Leaders
	quotas   *quotas   // nil without Options.ThrottleRates
	counters counters
	// knownEpoch is the broker epoch that the machines were told; of the task that
	// ticks alone.
	knownEpoch int64

	background sync.WaitGroup // flushes under way
}

// foundLog is a log that was on disk at start.
type foundLog struct {
	log     *commitlog.Log
	dir     *logDir
	topicID [16]byte // zero where the log directory names none

	appendEngine string // that log was opened with
	suspect      bool   // its replica is
	gaveUp       bool   // its replica did
}

// New returns a manager that Open brings to life.
func New(o Options) *Manager {
	if len(o.Strategies.Specs()) == 0 {
		o.Strategies = o.Strategies.With(isr.Spec())
	}
	if o.LagTimeMax <= 0 {
		o.LagTimeMax = defaultLagTimeMax
	}
	o.Fetch = o.Fetch.kafkas()
	m := &Manager{o: o, found: make(map[ID]*foundLog), devices: make(map[uint64]*device)}
	m.topics.Store(&index{byName: map[string]*Topic{}, byID: map[[16]byte]*Topic{}})
	m.origin = o.Clock.Now()
	m.quotas = newQuotas(&m.o)
	if o.Leaders != nil {
		m.fetchers = newFetchers(m, o.Leaders)
	}
	return m
}

// What stands where nothing is set.
const (
	defaultStrategy   = isr.Name
	defaultLagTimeMax = 30 * time.Second
)

// Topic finds a topic by name; nil when no partition of it is here.
func (m *Manager) Topic(name string) *Topic { return m.topics.Load().byName[name] }

// TopicBytes is Topic for a name inside a buffer; it does not allocate.
func (m *Manager) TopicBytes(name []byte) *Topic { return m.topics.Load().byName[string(name)] }

// TopicByID finds a topic by id; nil when no partition of it is here.
func (m *Manager) TopicByID(id [16]byte) *Topic { return m.topics.Load().byID[id] }

// Partition finds a partition; nil when it is not here.
func (m *Manager) Partition(topic string, index int32) *Partition {
	t := m.Topic(topic)
	if t == nil {
		return nil
	}
	return t.Partition(index)
}

// Topics returns all topics, by name.
func (m *Manager) Topics() []*Topic {
	byName := m.topics.Load().byName
	out := make([]*Topic, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		out = append(out, byName[name])
	}
	return out
}

// dirFailed deals with a log directory that has gone offline: whoever waits for one
// of its partitions is told, and without any directory left the broker is.
func (m *Manager) dirFailed(d *logDir, cause error) {
	m.background.Go(d.halt) // Not here: whoever met the error may hold locks.
	if m.o.Offline != nil {
		m.o.Offline()
	}
	if int(m.offlineDirs.Add(1)) == len(m.dirs) && m.o.Failed != nil {
		m.o.Failed(fmt.Errorf("no log directory is left, the last was %s: %w: see to the disks, then start again", d.path, cause))
	}
}

// OfflineDirs is how many log directories have failed.
func (m *Manager) OfflineDirs() int { return int(m.offlineDirs.Load()) }

// partitions returns all partitions.
func (m *Manager) partitions() []*Partition {
	var out []*Partition
	for _, t := range m.Topics() {
		out = append(out, t.Partitions()...)
	}
	return out
}

// publish replaces the map of topics by what change makes of a copy. mu is held.
func (m *Manager) publish(change func(*index)) {
	old := m.topics.Load()
	next := &index{byName: maps.Clone(old.byName), byID: maps.Clone(old.byID)}
	change(next)
	m.topics.Store(next)
}

// logOptions resolves the engines of a configuration.
func (m *Manager) logOptions(c TopicConfig) (commitlog.Options, error) {
	var err error
	o := c.Log
	if o.Append, err = m.o.Engines.Append(c.AppendEngine); err != nil {
		return o, err
	}
	o.Read, err = m.o.Engines.Read(c.ReadEngine)
	return o, err
}

// engineUsable says why an engine cannot run in dir. A full disk is no reason: it
// may be freed, and what is there is served meanwhile.
func engineUsable(o commitlog.Options, dir string) error {
	for _, e := range []struct {
		name      string
		available func(string) error
	}{{o.Append.Name, o.Append.Available}, {o.Read.Name, o.Read.Available}} {
		if e.available == nil {
			continue
		}
		if err := e.available(dir); err != nil && !vfs.IsFull(err) {
			return fmt.Errorf("engine %s in %s: %w", e.name, dir, err)
		}
	}
	return nil
}

// CheckConfig says why logs of such a configuration could not be opened here.
func (m *Manager) CheckConfig(c TopicConfig) error {
	if _, err := m.strategy(c.Strategy); err != nil {
		return err
	}
	o, err := m.logOptions(c)
	if err != nil {
		return err
	}
	for _, d := range m.dirs {
		if err := engineUsable(o, d.path); err != nil {
			return err
		}
	}
	return nil
}

// Engines is the catalog that topics choose from.
func (m *Manager) Engines() engines.Catalog { return m.o.Engines }

// Reconfigure reads the topic's configuration again and passes it to its logs:
// append engines change at the next roll, everything else at once. An unknown
// topic is none of its business.
func (m *Manager) Reconfigure(topic string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.Topic(topic)
	if t == nil || m.closed {
		return nil
	}
	return m.reconfigure(t)
}

// ReconfigureAll does so for every topic, after the broker's defaults changed.
func (m *Manager) ReconfigureAll() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	for _, t := range m.Topics() {
		if err := m.reconfigure(t); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) reconfigure(t *Topic) error {
	c := m.o.Config(t.Name)
	o, err := m.logOptions(c)
	if err != nil {
		return fmt.Errorf("configure %s: %w", t.Name, err)
	}
	t.config.Store(&c)
	for _, p := range t.Partitions() {
		if err := p.log.Reconfigure(o); err != nil {
			return fmt.Errorf("configure %s-%d: %w", t.Name, p.Index, err)
		}
		p.reconfigured()
	}
	return nil
}

// BrokerEpochChanged tells every replica of another registration. It happens anyhow
// before long.
func (m *Manager) BrokerEpochChanged() {
	for _, p := range m.partitions() {
		p.reconfigured()
	}
}

// logPath is the directory of a partition's log.
func logPath(dir string, id ID) string {
	return filepath.Join(dir, id.Topic+"-"+strconv.Itoa(int(id.Partition)))
}

// parseLogPath splits a directory's name into topic and partition.
func parseLogPath(name string) (id ID, ok bool) {
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return ID{}, false
	}
	index, err := strconv.ParseInt(name[dash+1:], 10, 32)
	if err != nil || index < 0 || strconv.FormatInt(index, 10) != name[dash+1:] {
		return ID{}, false
	}
	return ID{Topic: name[:dash], Partition: int32(index)}, ValidName(name[:dash])
}

// ValidName applies Kafka's rule for topic names (Topic.java): 1 to 249
// characters of a–z, A–Z, 0–9, '.', '_' and '-', neither "." nor "..".
func ValidName(name string) bool {
	if name == "" || len(name) > 249 || name == "." || name == ".." {
		return false
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}
