package replica

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/commitlog/checkpoint"
	"tidemark/internal/vfs"
	"tidemark/replication"
)

// logDir is one log directory: its lock, its checkpoints and whether it still
// works. It is safe for concurrent use; mu guards the maps.
type logDir struct {
	path string
	id   replication.DirID
	// cleanEpoch is the broker epoch that the last process left the directory under;
	// NoBrokerEpoch where it left no word.
	cleanEpoch int64
	fs         vfs.FS
	logger     *slog.Logger
	lock       io.Closer
	device     *device
	offline    atomic.Bool
	// failed is called once, after offline was set.
	failed func(cause error)
	// full is set from a write that found no room to the next checkpoint that is
	// written; it only keeps the logger from being told every time.
	full atomic.Bool

	// What was found at start; the maps hold what is not claimed yet.
	clean                          bool
	recoveryPoints, highWatermarks map[ID]int64
	logStarts, cleaned             map[ID]int64
	checkpointing                  sync.Mutex // one writer of checkpoint files at a time
	// onDisk are the offsets of each checkpoint file as it was read or last
	// written; guarded by checkpointing.
	onDisk     map[string]map[ID]int64
	mu         sync.Mutex
	partitions map[ID]*Partition
}

// openDir locks a directory, checks that it belongs to this broker and reads its
// checkpoints. The clean-shutdown marker is taken away.
func openDir(o *Options, path string) (*logDir, error) {
	d := &logDir{path: path, fs: o.FS, logger: o.Logger, partitions: make(map[ID]*Partition), onDisk: make(map[string]map[ID]int64)}
	if err := d.fs.MkdirAll(path); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	var err error
	if d.lock, err = d.fs.Lock(filepath.Join(path, checkpoint.LockFile)); err != nil {
		return nil, fmt.Errorf("lock log directory %s: %w", path, err)
	}
	if err := d.load(o); err != nil {
		return nil, errors.Join(fmt.Errorf("log directory %s: %w", path, err), d.lock.Close())
	}
	return d, nil
}

func (d *logDir) load(o *Options) error {
	metaPath := filepath.Join(d.path, checkpoint.MetaPropertiesFile)
	mine := checkpoint.Meta{BrokerID: o.BrokerID, ClusterID: o.ClusterID}
	meta, found, err := checkpoint.ReadMeta(d.fs, metaPath)
	switch {
	case err != nil:
		return explainFormat(err)
	case !found:
		meta = mine
	case meta.ClusterID != mine.ClusterID:
		err = fmt.Errorf("it belongs to cluster %s and this broker to cluster %s: use another directory (--set log.dirs=DIR), or the metadata store that it was made with (zookeeper.connect)",
			meta.ClusterID, mine.ClusterID)
	case meta.BrokerID != mine.BrokerID:
		err = fmt.Errorf("it belongs to broker %d and this is broker %d: use another directory (--set log.dirs=DIR), or start broker %d with it (--set broker.id=%d)",
			meta.BrokerID, mine.BrokerID, meta.BrokerID, meta.BrokerID)
	}
	if err != nil {
		return err
	}
	if meta.DirectoryID == (replication.DirID{}) {
		_, _ = rand.Read(meta.DirectoryID[:]) // it does not fail
		if err := checkpoint.WriteMeta(d.fs, metaPath, meta); err != nil {
			return err
		}
	}
	d.id = meta.DirectoryID
	if d.clean, d.cleanEpoch, err = checkpoint.TakeCleanShutdown(d.fs, d.path); err != nil {
		return err
	}
	d.recoveryPoints = d.read(checkpoint.RecoveryPointFile)
	d.highWatermarks = d.read(checkpoint.HighWatermarkFile)
	d.logStarts = d.read(checkpoint.LogStartFile)
	d.cleaned = d.read(checkpoint.CleanerFile)
	return nil
}

// explainFormat says what to do about a file of a log directory that cannot be
// understood.
func explainFormat(err error) error {
	var format *checkpoint.FormatError
	switch {
	case !errors.As(err, &format):
		return err
	case format.Newer:
		return fmt.Errorf("%w: start the version that wrote it, or use another directory (--set log.dirs=DIR)", err)
	}
	return fmt.Errorf("%w: restore the file, or use another directory (--set log.dirs=DIR)", err)
}

// read loads an offset checkpoint. One that is damaged is as good as none: it
// only saves work or narrows what is readable.
func (d *logDir) read(name string) map[ID]int64 {
	offsets, err := checkpoint.ReadOffsets(d.fs, filepath.Join(d.path, name))
	if err != nil {
		d.logger.Warn("checkpoint is unreadable and is not used", "dir", d.path, "error", err)
	}
	if offsets == nil {
		offsets = make(map[ID]int64)
	}
	d.onDisk[name] = maps.Clone(offsets)
	return offsets
}

// fail takes the directory offline for good, and its partitions with it; the first
// cause is logged. Locks may be held.
func (d *logDir) fail(cause error) {
	if d.offline.CompareAndSwap(false, true) {
		d.logger.Error("log directory goes offline", "dir", d.path, "error", cause)
		d.failed(cause)
	}
}

// halt ends the roles of the directory's partitions, and whoever waits for one looks
// again.
func (d *logDir) halt() {
	d.mu.Lock()
	partitions := slices.Collect(maps.Values(d.partitions))
	d.mu.Unlock()
	for _, p := range partitions {
		p.halt(func(*leadership) {})
		p.Changed.Wake()
	}
}

// noRoom says that the directory takes no more, once between two checkpoints. What does
// not fit is refused, and what is there is served.
func (d *logDir) noRoom(cause error) {
	if d.full.CompareAndSwap(false, true) {
		d.logger.Error("log directory takes no more for now", "dir", d.path, "error", cause)
	}
}

// highWatermark is what the checkpoint said of a partition at start; NoOffset where it
// said nothing.
func (d *logDir) highWatermark(id ID) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if hw, ok := d.highWatermarks[id]; ok {
		return hw
	}
	return replication.NoOffset
}

// add enters a partition; what the checkpoints said of it has been used.
func (d *logDir) add(p *Partition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.partitions[p.ID()] = p
	d.forgetAtStart(p.ID())
}

// remember notes what the checkpoints are to say of a partition that is stopped.
func (d *logDir) remember(p *Partition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := p.ID()
	d.recoveryPoints[id], d.highWatermarks[id], d.logStarts[id] = p.log.RecoveryPoint(), p.HighWatermark(), p.LogStartOffset()
	if cleaned := p.cleanedTo(); cleaned >= 0 {
		d.cleaned[id] = cleaned
	}
}

// forgetAtStart drops what the checkpoints said of a partition at start; mu is held.
func (d *logDir) forgetAtStart(id ID) {
	for _, atStart := range []map[ID]int64{d.recoveryPoints, d.highWatermarks, d.logStarts, d.cleaned} {
		delete(atStart, id)
	}
}

// forget drops p; another partition of the same id stays.
func (d *logDir) forget(p *Partition) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.partitions[p.ID()] == p {
		delete(d.partitions, p.ID())
	}
}

func (d *logDir) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.partitions)
}

// dropCheckpoints forgets what the checkpoints said of a log that is gone.
func (d *logDir) dropCheckpoints(id ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forgetAtStart(id)
}

// offsets collects one offset of every partition; a negative one says that it has
// none. What was found at start and is not claimed yet keeps what the checkpoint said.
func (d *logDir) offsets(atStart map[ID]int64, of func(*Partition) int64) map[ID]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[ID]int64, len(d.partitions))
	for id, offset := range atStart {
		out[id] = offset
	}
	for id, p := range d.partitions {
		if offset := of(p); offset >= 0 {
			out[id] = offset
		}
	}
	return out
}

// checkpoint writes one checkpoint file. The offsets are collected in the order
// of the writes, so that an older state never replaces a newer one. A full disk
// leaves the former checkpoint, which is as good as an old one.
func (d *logDir) checkpoint(name string, atStart map[ID]int64, of func(*Partition) int64) {
	if d.offline.Load() {
		return
	}
	d.checkpointing.Lock()
	defer d.checkpointing.Unlock()
	offsets := d.offsets(atStart, of)
	err := checkpoint.WriteOffsets(d.fs, filepath.Join(d.path, name), offsets)
	switch {
	case vfs.IsFull(err):
		d.noRoom(err)
	case err != nil:
		d.fail(fmt.Errorf("write %s: %w", name, err))
	default:
		d.onDisk[name] = offsets
		d.full.Store(false)
	}
}

// over reports whether a checkpoint file says more of p than is true now.
func (d *logDir) over(name string, p *Partition, offset int64) bool {
	d.checkpointing.Lock()
	defer d.checkpointing.Unlock()
	return d.onDisk[name][p.ID()] > offset
}

// lower rewrites the checkpoints that say more of p than its log has, as a log that
// was cut must have before it grows again: a crash after that would take the new
// records for the old. It reports whether none does any more.
func (d *logDir) lower(p *Partition) bool {
	for _, c := range []struct {
		name  string
		now   func() int64
		write func()
	}{
		{checkpoint.RecoveryPointFile, p.log.RecoveryPoint, d.checkpointRecoveryPoints},
		{checkpoint.HighWatermarkFile, p.HighWatermark, d.checkpointHighWatermarks},
		{checkpoint.LogStartFile, p.log.LogStartOffset, d.checkpointLogStarts},
		{checkpoint.CleanerFile, p.log.FirstDirty, d.checkpointCleaned},
	} {
		if !d.over(c.name, p, c.now()) {
			continue
		}
		if c.write(); d.over(c.name, p, c.now()) {
			return false
		}
	}
	return true
}

func (d *logDir) checkpointRecoveryPoints() {
	d.checkpoint(checkpoint.RecoveryPointFile, d.recoveryPoints, func(p *Partition) int64 { return p.log.RecoveryPoint() })
}

func (d *logDir) checkpointHighWatermarks() {
	d.checkpoint(checkpoint.HighWatermarkFile, d.highWatermarks, (*Partition).HighWatermark)
}

func (d *logDir) checkpointLogStarts() {
	d.checkpoint(checkpoint.LogStartFile, d.logStarts, (*Partition).LogStartOffset)
}

// checkpointAll writes all of them.
func (d *logDir) checkpointAll() {
	d.checkpointRecoveryPoints()
	d.checkpointHighWatermarks()
	d.checkpointLogStarts()
	d.checkpointCleaned()
}
