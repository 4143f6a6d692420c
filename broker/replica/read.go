package replica

import (
	"tidemark/commitlog"
	"tidemark/engines"
)

// Isolation says up to where a reader may read.
type Isolation int8

// The isolation levels; the first two have the protocol's values.
const (
	// ReadUncommitted reads up to the high watermark.
	ReadUncommitted Isolation = iota
	// ReadCommitted reads up to the last stable offset.
	ReadCommitted
	// ReadAll reads up to the log end offset.
	ReadAll
	// ReadAsReplica reads up to what the machine knows, as followers do.
	ReadAsReplica
)

func (p *Partition) bound(i Isolation) int64 {
	switch i {
	case ReadAll:
		return p.log.LogEndOffset()
	case ReadAsReplica:
		return p.end.Load()
	case ReadCommitted:
		return p.LastStableOffset()
	default:
		return p.hw.Load()
	}
}

// ReadRequest says what to read of a partition.
type ReadRequest struct {
	Offset      int64
	MaxBytes    int64
	LeaderEpoch int32 // AnyEpoch or the one the caller knows
	Isolation   Isolation
	// WholeBatch returns the first batch even where it is over MaxBytes.
	WholeBatch bool
	// AnyReplica lets a follower answer too (KIP-392).
	AnyReplica bool
	// Aborted, where it is not nil, is given the aborted transactions that have
	// records in the chunk, by where they began; for ReadCommitted.
	Aborted *[]commitlog.AbortedTxn
}

// readable says why the partition cannot be read here.
func (p *Partition) readable(r *ReadRequest) error {
	err := p.check(r.LeaderEpoch)
	if err == ErrNotLeader && r.AnyReplica && p.lead.Load().leader >= 0 {
		return nil
	}
	switch {
	case err != nil || r.Offset <= p.hw.Load():
		return err
	case r.Offset > p.log.LogEndOffset() && p.outdated():
		return ErrNotLeader
	}
	return p.undecided(r.Isolation)
}

// Offsets are the offsets that accompany an answer; −1 where unknown.
type Offsets struct {
	HighWatermark, LastStable, LogStart int64
}

// NoOffsets accompany an answer about a partition that is not here.
var NoOffsets = Offsets{HighWatermark: -1, LastStable: -1, LogStart: -1}

// Offsets returns the current ones.
func (p *Partition) Offsets() Offsets {
	hw := p.hw.Load()
	return Offsets{HighWatermark: hw, LastStable: p.log.LastStableOffset(hw), LogStart: p.log.LogStartOffset()}
}

// Read returns whole batches from the one that contains the offset on, up to the
// isolation's bound; chunk is nil when there are none yet. The caller releases
// chunk. The error is commitlog.ErrOffsetOutOfRange only outside log start offset
// and log end offset, behind which a leader that may lead no longer answers ErrNotLeader.
func (p *Partition) Read(r ReadRequest) (chunk engines.Chunk, o Offsets, err error) {
	o = NoOffsets
	if err := p.readable(&r); err != nil {
		return nil, o, err
	}
	o = p.Offsets()
	// A reader between the bound and the log end is early, not out of range.
	bound := min(p.bound(r.Isolation), p.log.LogEndOffset())
	if r.Offset >= bound && r.Offset <= p.log.LogEndOffset() {
		return nil, o, nil
	}
	info, err := p.readLog(&r, r.Offset, bound)
	for err == nil && info.NoRecords && r.Isolation < ReadAll && info.NextOffset < bound {
		// librdkafka takes a response without a record for one that was too small,
		// and after ten of them gives up; a segment may have nothing else.
		info.Chunk.Release()
		info, err = p.readLog(&r, info.NextOffset, bound)
	}
	if err != nil {
		return nil, o, p.failed("read", err)
	}
	if r.Aborted != nil {
		*r.Aborted = info.Aborted
	}
	return info.Chunk, o, nil
}

func (p *Partition) readLog(r *ReadRequest, offset, bound int64) (commitlog.ReadInfo, error) {
	if offset < p.trust.below.Load() {
		return p.readUnseen(r, offset, bound)
	}
	return p.readAsItIs(r, offset, bound)
}

func (p *Partition) readAsItIs(r *ReadRequest, offset, bound int64) (commitlog.ReadInfo, error) {
	if r.Aborted != nil {
		return p.log.ReadCommitted(offset, r.MaxBytes, bound, r.WholeBatch)
	}
	return p.log.Read(offset, r.MaxBytes, bound, r.WholeBatch)
}

// Available is the number of bytes that Read would return at most; 0 when the
// offset is not readable.
func (p *Partition) Available(r ReadRequest) int64 {
	bound := p.bound(r.Isolation)
	if r.Offset >= bound {
		return 0
	}
	return p.log.Available(r.Offset, bound, r.MaxBytes)
}

// Ready reports whether there is at least one record to read, or an error to
// tell.
func (p *Partition) Ready(r ReadRequest) bool {
	return r.Offset < p.bound(r.Isolation) || p.MustTell(r)
}

// MustTell reports whether Read would fail.
func (p *Partition) MustTell(r ReadRequest) bool {
	return p.readable(&r) != nil || r.Offset < p.log.LogStartOffset() || r.Offset > p.log.LogEndOffset()
}
