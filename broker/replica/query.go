package replica

import (
	"fmt"
	"math"

	"tidemark/commitlog"
	"tidemark/replication"
)

// TimestampOffset answers an offset query; its Epoch is the leader epoch or −1.
type TimestampOffset struct {
	TimestampMs, Offset int64
	Epoch               int32
}

// nothingFound answers a query that no record matches.
var nothingFound = TimestampOffset{TimestampMs: -1, Offset: -1, Epoch: -1}

// FirstAfter finds the first record, inside compressed batches too, whose
// timestamp is at least timestampMs and which a reader of the isolation may read.
func (p *Partition) FirstAfter(timestampMs int64, i Isolation) (TimestampOffset, error) {
	found, ok, err := p.log.OffsetForTimestamp(timestampMs)
	return p.ifReadable(found, ok, err, i)
}

// MaxTimestamp finds the record with the largest timestamp, if a reader of the
// isolation may read it.
func (p *Partition) MaxTimestamp(i Isolation) (TimestampOffset, error) {
	found, ok, err := p.log.OffsetOfMaxTimestamp()
	return p.ifReadable(found, ok, err, i)
}

func (p *Partition) ifReadable(found commitlog.TimestampOffset, ok bool, err error, i Isolation) (TimestampOffset, error) {
	if err != nil {
		return nothingFound, p.failed("query timestamps of", err)
	}
	if !ok || found.Offset >= p.bound(i) {
		return nothingFound, p.undecided(i)
	}
	return TimestampOffset{TimestampMs: found.TimestampMs, Offset: found.Offset, Epoch: p.epochOf(found.Offset)}, nil
}

// Latest is the end of what a reader of the isolation may read; ErrOffsetNotAvailable
// while that is not known.
func (p *Partition) Latest(i Isolation) (TimestampOffset, error) {
	_, epoch := p.Leader()
	return TimestampOffset{TimestampMs: -1, Offset: p.bound(i), Epoch: epoch}, p.undecided(i)
}

// undecided is ErrOffsetNotAvailable while consumers may have read more than this
// leader knows to be committed (KIP-207).
func (p *Partition) undecided(i Isolation) error {
	if l := p.lead.Load(); i < ReadAll && l.leader == p.self && p.hw.Load() < l.epochStart {
		return ErrOffsetNotAvailable
	}
	return nil
}

// Earliest is the log start offset.
func (p *Partition) Earliest() TimestampOffset {
	start := p.log.LogStartOffset()
	return TimestampOffset{TimestampMs: -1, Offset: start, Epoch: p.epochOf(start)}
}

// epochOf is the leader epoch whose records include offset: the lowest one that
// ends behind it.
func (p *Partition) epochOf(offset int64) int32 {
	latest, ok := p.log.LatestEpoch()
	if !ok {
		return -1
	}
	lo, hi := int32(0), latest
	for lo < hi {
		mid := lo + (hi-lo)/2
		if _, end := p.log.EndOffsetForEpoch(mid); end > offset {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	found, _ := p.log.EndOffsetForEpoch(lo)
	return found
}

// EndOffsetForEpoch returns the greatest leader epoch of at most epoch that the
// log knows, and where it ends; −1 and −1 for an epoch that is not known. The error is
// ErrNotLeader where that may be the epoch of another leader since.
func (p *Partition) EndOffsetForEpoch(epoch int32) (found int32, end int64, err error) {
	if _, current := p.Leader(); epoch == current {
		return epoch, p.log.LogEndOffset(), nil
	}
	found, end = p.log.EndOffsetForEpoch(epoch)
	if found < 0 && p.outdated() { // Who read what that one appended would take it for gone.
		err = ErrNotLeader
	}
	return found, end, err
}

// ToHighWatermark makes DeleteRecords delete all that consumers could read.
const ToHighWatermark int64 = -1

// DeleteRecords drops the records before offset and returns the new log start
// offset. The error is commitlog.ErrOffsetOutOfRange for an offset beyond the
// high watermark.
func (p *Partition) DeleteRecords(offset int64) (logStart int64, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.check(AnyEpoch); err != nil {
		return -1, err
	}
	hw := p.hw.Load()
	if offset == ToHighWatermark {
		offset = hw
	}
	if offset < 0 || offset > hw {
		return -1, fmt.Errorf("delete records before %d, high watermark is %d: %w", offset, hw, commitlog.ErrOffsetOutOfRange)
	}
	if err := p.log.AdvanceLogStart(offset); err != nil {
		return -1, p.failed("delete records of", err)
	}
	p.stepping.Lock()
	p.logStartMoved()
	p.stepping.Unlock()
	return p.log.LogStartOffset(), nil
}

// DirInfo describes a log directory.
type DirInfo struct {
	Path string
	// ID tells it from another directory in its place.
	ID replication.DirID
	// Offline is set when the directory failed.
	Offline bool
	// TotalBytes and FreeBytes are −1 where unknown.
	TotalBytes, FreeBytes int64
}

// Dirs describes the log directories.
func (m *Manager) Dirs() []DirInfo {
	out := make([]DirInfo, 0, len(m.dirs))
	for _, d := range m.dirs {
		info := DirInfo{Path: d.path, ID: d.id, Offline: d.offline.Load(), TotalBytes: -1, FreeBytes: -1}
		if free, err := d.fs.Free(d.path); err == nil && free != math.MaxInt64 {
			info.FreeBytes = free
		}
		out = append(out, info)
	}
	return out
}

// CleanEpoch is the broker epoch under which the last process left every log
// directory cleanly; NoBrokerEpoch where one of them was not (KIP-966), or where a log
// has less than it had then, whatever the marker says.
func (m *Manager) CleanEpoch() int64 {
	epoch := replication.NoBrokerEpoch
	if m.lossy.Load() {
		return epoch
	}
	for i, d := range m.dirs {
		if d.offline.Load() || !d.clean || i > 0 && d.cleanEpoch != epoch {
			return replication.NoBrokerEpoch
		}
		epoch = d.cleanEpoch
	}
	return epoch
}
