package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
)

// Open takes the log directories and opens every log in them, several at a time;
// after an unclean stop that includes recovery. Nothing is served until Apply.
// Where it fails, everything is closed again.
func (m *Manager) Open(ctx context.Context) error {
	for _, path := range m.o.Dirs {
		d, err := openDir(&m.o, path)
		if err != nil {
			return errors.Join(err, m.release())
		}
		d.device = m.deviceOf(path)
		d.failed = func(cause error) { m.dirFailed(d, cause) }
		m.dirs = append(m.dirs, d)
	}
	if err := m.recover(ctx); err != nil {
		return errors.Join(err, m.release())
	}
	m.startTasks()
	return nil
}

// release closes what a failed Open had opened.
func (m *Manager) release() error {
	var errs []error
	for _, f := range m.found {
		errs = append(errs, f.log.Close())
	}
	for _, d := range m.dirs {
		errs = append(errs, d.lock.Close())
	}
	m.closeDevices()
	m.found, m.dirs = make(map[ID]*foundLog), nil
	return errors.Join(errs...)
}

// candidate is a directory that looks like a partition's.
type candidate struct {
	id  ID
	dir *logDir
}

// recover opens all logs on disk, those of each directory with a bounded number of
// goroutines.
func (m *Manager) recover(ctx context.Context) error {
	var queues [][]candidate
	count := 0
	for _, d := range m.dirs {
		list, err := m.scan(d)
		if err != nil {
			return err
		}
		queues, count = append(queues, list), count+len(list)
	}
	m.recovery.begin(m.o.Clock.Now(), count)
	opened := opened{m: m}
	var all sync.WaitGroup
	for _, list := range queues {
		eachAtOnce(&all, m.recoveryThreads(), list, func(c candidate) {
			if ctx.Err() == nil {
				opened.note(c.id, m.openFound(c))
			}
		})
	}
	all.Wait()
	return errors.Join(append(opened.errs, ctx.Err())...)
}

// recoveryThreads is how many logs of one directory are opened, or closed, at a time.
func (m *Manager) recoveryThreads() int {
	if m.o.RecoveryThreads > 0 {
		return m.o.RecoveryThreads
	}
	return max(1, runtime.GOMAXPROCS(0)/len(m.dirs))
}

// opened collects what the goroutines of recover come to.
type opened struct {
	m    *Manager
	mu   sync.Mutex // guards errs and the manager's found
	errs []error
}

func (o *opened) note(id ID, r openResult) {
	o.mu.Lock()
	if r.err != nil {
		o.errs = append(o.errs, r.err)
	} else {
		o.m.claimable(id, r.found, &o.errs)
	}
	o.mu.Unlock()
	o.m.recovery.step(&o.m.o, r)
}

// claimable notes an opened log; two of one partition in two directories are an
// operator's mistake that only the operator can mend.
func (m *Manager) claimable(id ID, f *foundLog, errs *[]error) {
	if other := m.found[id]; other != nil {
		*errs = append(*errs, fmt.Errorf("partition %s lies in %s and in %s", id, other.dir.path, f.dir.path), f.log.Close())
		return
	}
	m.found[id] = f
}

// scan lists the partitions in a directory. Names that are none are left alone.
func (m *Manager) scan(d *logDir) ([]candidate, error) {
	entries, err := d.fs.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("list log directory: %w", err)
	}
	var out []candidate
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if id, ok := parseLogPath(e.Name()); ok {
			out = append(out, candidate{id: id, dir: d})
		} else if strings.Contains(e.Name(), "-") {
			m.o.Logger.Warn("directory is no partition and is left alone", "dir", filepath.Join(d.path, e.Name()))
		}
	}
	return out, nil
}

// openResult is what became of a log on disk: one of the two.
type openResult struct {
	found *foundLog
	err   error
}

func (m *Manager) openFound(c candidate) openResult {
	f := &foundLog{dir: c.dir}
	path := logPath(c.dir.path, c.id)
	meta, found, err := checkpoint.ReadPartitionMetadata(m.o.FS, filepath.Join(path, checkpoint.PartitionMetadataFile))
	if err != nil {
		return openResult{err: fmt.Errorf("open %s: %w", path, explainFormat(err))}
	}
	if found {
		f.topicID = meta.TopicID
	}
	config := m.o.Config(c.id.Topic)
	f.appendEngine = config.AppendEngine
	f.log, err = m.openLog(c.dir, c.id, config, commitlog.OpenState{
		CleanShutdown:  c.dir.clean,
		RecoveryPoint:  c.dir.recoveryPoints[c.id],
		LogStartOffset: c.dir.logStarts[c.id],
		FirstDirty:     c.dir.cleaned[c.id],
	})
	return openResult{f, err}
}

func (m *Manager) openLog(d *logDir, id ID, c TopicConfig, state commitlog.OpenState) (*commitlog.Log, error) {
	path := logPath(d.path, id)
	o, err := m.logOptions(c)
	if err == nil {
		err = engineUsable(o, d.path)
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	o.Background = d.device.background
	log, err := commitlog.Open(m.o.FS, path, o, state, m.o.Clock)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	m.report(path, log.Report())
	return log, nil
}

// report says what opening a log had to mend.
func (m *Manager) report(path string, r commitlog.OpenReport) {
	switch {
	case r.Corruption != nil:
		m.o.Logger.Error("log was corrupt and was cut; acknowledged records may be lost",
			"log", path, "bytes", r.TruncatedBytes, "segments", r.SegmentsDropped, "error", r.Corruption)
	case r.DroppedSynced:
		m.o.Logger.Error("log ends before what had been synced; acknowledged records are lost", "log", path, "bytes", r.TruncatedBytes)
	case r.TruncatedBytes > 0:
		m.o.Logger.Info("torn tail was cut", "log", path, "bytes", r.TruncatedBytes)
	}
	for _, note := range r.Notes {
		m.o.Logger.Info("log was mended", "log", path, "what", note)
	}
}

// open claims the partition's log from those found at start, or creates it.
// Manager's mu is held.
func (m *Manager) open(t *Topic, index int32) (*Partition, error) {
	id := ID{Topic: t.Name, Partition: index}
	f, err := m.claim(t, id)
	if err != nil {
		return nil, err
	}
	if f == nil {
		if f, err = m.create(t, id); err != nil {
			return nil, err
		}
	}
	acked, err := m.newAcked(f.log.Dir())
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", ErrStorage, id, err)
	}
	p := &Partition{Topic: t, Index: index, self: m.o.BrokerID, dir: f.dir, log: f.log, acked: acked, background: &m.background}
	p.flush.group = f.dir.device.flusher.Join(p.syncGroup)
	p.flush.tell = f.dir.device.answers.Join(func() { p.synced(nil) })
	p.flush.synced.Store(f.log.RecoveryPoint())
	p.lead.Store(&leadership{leader: -1, epoch: -1, partitionEpoch: -1})
	p.hw.Store(min(max(f.dir.highWatermarks[id], f.log.LogStartOffset()), f.log.LogEndOffset()))
	f.dir.add(p)
	return p, nil
}

// claim takes the log found at start, unless it belonged to a former topic of
// the same name: that one is deleted.
func (m *Manager) claim(t *Topic, id ID) (*foundLog, error) {
	f := m.found[id]
	if f == nil {
		return nil, nil
	}
	if f.topicID == ([16]byte{}) {
		f.topicID = t.ID
		if err := m.writeTopicID(f.dir, id, t.ID); err != nil {
			return nil, err
		}
	}
	if f.topicID == t.ID {
		delete(m.found, id)
		return f, m.adopt(f, id, *t.Config())
	}
	m.o.Logger.Warn("log of a deleted topic of the same name is removed", "partition", id.String())
	return nil, m.removeFound(id, f)
}

// adopt gives a log that was opened with what was known at start the topic's
// configuration. An append engine changes at a roll, so for another one the log is
// opened again.
func (m *Manager) adopt(f *foundLog, id ID, c TopicConfig) error {
	if c.AppendEngine == f.appendEngine {
		o, err := m.logOptions(c)
		if err == nil {
			err = f.log.Reconfigure(o)
		}
		return err
	}
	end := f.log.LogEndOffset()
	start, dirty := f.log.LogStartOffset(), f.log.FirstDirty()
	if err := f.log.Close(); err != nil {
		return err
	}
	var err error
	f.log, err = m.openLog(f.dir, id, c, commitlog.OpenState{CleanShutdown: true, RecoveryPoint: end, LogStartOffset: start, FirstDirty: dirty})
	return err
}

// create makes an empty log in the least loaded directory. One that fails goes
// offline, and the next is tried.
func (m *Manager) create(t *Topic, id ID) (*foundLog, error) {
	var errs []error
	for {
		d, err := m.leastLoaded()
		if err != nil {
			return nil, errors.Join(append(errs, err)...)
		}
		f, err := m.createIn(d, t, id)
		if err == nil || !dirFault(err) {
			return f, err
		}
		d.fail(err)
		errs = append(errs, err)
	}
}

func (m *Manager) createIn(d *logDir, t *Topic, id ID) (*foundLog, error) {
	log, err := m.openLog(d, id, *t.Config(), commitlog.OpenState{CleanShutdown: true})
	if err != nil {
		return nil, fmt.Errorf("%w: create %s: %w", ErrStorage, id, err)
	}
	if err := m.writeTopicID(d, id, t.ID); err != nil {
		return nil, fmt.Errorf("%w: create %s: %w", ErrStorage, id, errors.Join(err, log.Delete()))
	}
	return &foundLog{log: log, dir: d, topicID: t.ID}, nil
}

// dirFault says whether err is of a directory that is broken or may not be written
// to, and neither of a full disk nor of the process.
func dirFault(err error) bool {
	return slices.ContainsFunc([]error{syscall.EIO, syscall.EROFS, syscall.EACCES, syscall.EPERM, syscall.ENOTDIR, fs.ErrNotExist},
		func(known error) bool { return errors.Is(err, known) })
}

func (m *Manager) writeTopicID(d *logDir, id ID, topicID [16]byte) error {
	if topicID == ([16]byte{}) {
		return nil // a topic from before topic ids
	}
	path := filepath.Join(logPath(d.path, id), checkpoint.PartitionMetadataFile)
	return checkpoint.WritePartitionMetadata(m.o.FS, path, checkpoint.PartitionMetadata{TopicID: topicID})
}

// leastLoaded is the working directory with the fewest partitions.
func (m *Manager) leastLoaded() (*logDir, error) {
	var best *logDir
	for _, d := range m.dirs {
		if !d.offline.Load() && (best == nil || d.count() < best.count()) {
			best = d
		}
	}
	if best == nil {
		return nil, ErrStorage
	}
	return best, nil
}
