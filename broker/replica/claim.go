package replica

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"

	"tidemark/commitlog"
	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

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
	p, err := m.partitionOn(t, index, f)
	if err != nil {
		return nil, fmt.Errorf("%w: open %s: %w", ErrStorage, id, err)
	}
	return p, nil
}

// partitionOn makes the partition of a log and enters it into the log's directory.
func (m *Manager) partitionOn(t *Topic, index int32, f *foundLog) (*Partition, error) {
	acked, err := m.newAcked(f.log.Dir())
	if err != nil {
		return nil, err
	}
	spec, err := m.strategy(t.Config().Strategy)
	if err != nil {
		return nil, err
	}
	fenced, err := readFence(f.dir.fs, f.log)
	if err != nil {
		return nil, err
	}
	p := &Partition{Topic: t, Index: index, self: m.o.BrokerID, manager: m, strategy: spec.Name, promise: spec.Promise, fetcherHash: fetcherHash(ID{Topic: t.Name, Partition: index}), dir: f.dir, log: f.log, acked: acked, background: &m.background}
	p.suspect.Store(f.suspect)
	p.damage.gaveUp.Store(f.gaveUp)
	p.beginTrace()
	p.flush.group = f.dir.device.flusher.Join(p.syncGroup)
	p.flush.tell = f.dir.device.answers.Join(func() { p.synced(nil) })
	p.lead.Store(&leadership{leader: replication.NoBroker, epoch: replication.NoEpoch, partitionEpoch: replication.NoEpoch, since: replication.NoEpoch})
	p.start(spec, f.dir.highWatermark(p.ID()), fenced)
	f.dir.add(p)
	p.following.lowered = f.dir.lower(p)
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
	err := f.log.Close()
	if err != nil && !vfs.IsFull(err) { // What did not fit is made anew, as after an unclean stop.
		return err
	}
	f.log, err = m.openLog(f.dir, id, c, commitlog.OpenState{
		CleanShutdown: err == nil, RecoveryPoint: end, LogStartOffset: start, FirstDirty: dirty, HighWatermark: max(f.dir.highWatermark(id), 0),
	})
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
