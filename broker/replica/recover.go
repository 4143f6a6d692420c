package replica

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

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
	queues, gone, err := m.onDisk()
	if err != nil {
		return err
	}
	count := len(gone)
	for _, list := range queues {
		count += len(list)
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
	for _, c := range gone {
		opened.note(c.id, m.openGone(c))
	}
	return errors.Join(append(opened.errs, ctx.Err())...)
}

// onDisk lists the partitions in each directory, and those of which a directory's
// checkpoints know and that lie nowhere: a log that is deleted in order leaves the
// checkpoints first.
func (m *Manager) onDisk() (queues [][]candidate, gone []candidate, err error) {
	there := make(map[ID]bool)
	for _, d := range m.dirs {
		list, err := m.scan(d)
		if err != nil {
			return nil, nil, err
		}
		queues = append(queues, list)
		for _, c := range list {
			there[c.id] = true
		}
	}
	for _, d := range m.dirs {
		for id, end := range d.recoveryPoints {
			if end > 0 && !there[id] {
				gone = append(gone, candidate{id: id, dir: d})
			}
		}
	}
	return queues, gone, nil
}

// openGone begins anew, and suspect, the log of a partition that is gone. Its checkpoints
// go once its mark is there.
func (m *Manager) openGone(c candidate) openResult {
	end := c.dir.recoveryPoints[c.id]
	m.o.Logger.Error("log is gone; acknowledged records may be lost", "partition", c.id.String(), "dir", c.dir.path, "end", end)
	config := m.o.Config(c.id.Topic)
	log, err := m.openLog(c.dir, c.id, config, commitlog.OpenState{})
	if err != nil {
		return openResult{err: err}
	}
	f := &foundLog{log: log, dir: c.dir, appendEngine: config.AppendEngine}
	if err := m.suspectFound(f, fmt.Sprintf("the log is gone and was synced to %d", end)); err != nil {
		return openResult{err: err}
	}
	c.dir.dropCheckpoints(c.id)
	return openResult{found: f}
}

// suspectFound makes a replica suspect whose log was found to lack what it once had; on
// an error the log is closed.
func (m *Manager) suspectFound(f *foundLog, why string) error {
	m.lossy.Store(true)
	f.suspect = true
	if err := writeSuspect(m.o.FS, f.log.Dir(), why); err != nil {
		return fmt.Errorf("open %s: %w", f.log.Dir(), errors.Join(err, f.log.Close()))
	}
	return nil
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
	state := commitlog.OpenState{
		CleanShutdown:  c.dir.clean,
		RecoveryPoint:  c.dir.recoveryPoints[c.id],
		LogStartOffset: c.dir.logStarts[c.id],
		HighWatermark:  c.dir.highWatermarks[c.id],
		FirstDirty:     c.dir.cleaned[c.id],
	}
	if f.suspect, err = isSuspect(m.o.FS, path); err != nil {
		return openResult{err: fmt.Errorf("open %s: %w", path, err)}
	}
	if f.suspect {
		state.CleanShutdown, state.RecoveryPoint = false, 0
	}
	if f.log, err = m.openLog(c.dir, c.id, config, state); err != nil {
		return openResult{err: err}
	}
	if synced := c.dir.recoveryPoints[c.id]; f.log.LogEndOffset() < synced {
		why := fmt.Sprintf("the log ends at %d and was synced to %d", f.log.LogEndOffset(), synced)
		if err := m.suspectFound(f, why); err != nil { // Before the checkpoint says less.
			return openResult{err: err}
		}
	}
	return openResult{found: f}
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
	if log.LogEndOffset() < state.RecoveryPoint || log.Report().Corruption != nil {
		m.lossy.Store(true)
	}
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
