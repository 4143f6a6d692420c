package replica

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/broker/purgatory"
	"tidemark/commitlog"
	"tidemark/engines"
	"tidemark/internal/vfs"
	"tidemark/protocol/record"
	"tidemark/replication"
)

// Partition is this broker's replica of one partition. It is safe for concurrent
// use. Appends share mu, so that leadership and in-sync set stand still from the
// check to the append (Kafka's leaderIsrUpdateLock); the log orders them and
// validates them side by side. Readers take no lock of the partition's.
type Partition struct {
	// Topic is what the partition belongs to.
	Topic *Topic
	// Index is the partition's number.
	Index int32
	// Changed is woken when the high watermark moves, when leadership changes
	// and when the replica goes away. Wake is called with no lock held.
	Changed purgatory.Key

	self     int32
	manager  *Manager
	strategy string
	// fetcherHash is fetcherHash of its ID.
	fetcherHash uint32
	promise     replication.Promise // the strategy's
	dir         *logDir
	flush       flusher
	background  *sync.WaitGroup // the manager's; for flushes under way

	log   *commitlog.Log
	acked acked

	mu   sync.RWMutex               // held to write by whoever changes who leads
	lead atomic.Pointer[leadership] // written under stepping
	// leaving: nothing is appended here any more; guarded by mu.
	leaving bool

	stepping sync.Mutex // guards driven, and writing what follows
	driven
	// hw is the high watermark; of a leader it only grows. end is the log end that
	// the machine knows.
	hw, end atomic.Int64
	// ackedLeader and ackedAll are up to where producers with acks=1 and acks=all may
	// be answered; of those before tooFewBelow, acks=all that are not yet are failed.
	ackedLeader, ackedAll, tooFewBelow atomic.Int64
	// admits: acks=all may append.
	admits atomic.Bool
	// suspect: suspectFile is there; written under mu and stepping.
	suspect atomic.Bool
	trust   trust
	damage  damage
}

// leadership is immutable once published.
type leadership struct {
	leader, epoch, partitionEpoch int32
	replicas, isr                 []int32
	// since is the leader epoch since which this broker leads without a break,
	// epochStart the log end when the present one began.
	since      int32
	epochStart int64
	// brokerEpoch is the registration that this broker was made leader under. In a
	// later one it leads only once it is told so again: meanwhile another may.
	brokerEpoch int64
	// stopped is set when the replica was stopped or deleted.
	stopped bool
}

// ID names the partition.
func (p *Partition) ID() ID { return ID{Topic: p.Topic.Name, Partition: p.Index} }

// Leader returns who leads since which leader epoch; −1 for none.
func (p *Partition) Leader() (broker, leaderEpoch int32) {
	l := p.lead.Load()
	return l.leader, l.epoch
}

// HighWatermark is the first offset consumers may not read.
func (p *Partition) HighWatermark() int64 { return p.hw.Load() }

// LastStableOffset bounds read_committed readers: where the oldest transaction begins
// that is open or not replicated to its end, else the high watermark.
func (p *Partition) LastStableOffset() int64 { return p.log.LastStableOffset(p.hw.Load()) }

// LogStartOffset is the first offset kept.
func (p *Partition) LogStartOffset() int64 { return p.log.LogStartOffset() }

// LogEndOffset is the next offset to be written.
func (p *Partition) LogEndOffset() int64 { return p.log.LogEndOffset() }

// Size is the number of bytes in the log.
func (p *Partition) Size() int64 { return p.log.Size() }

// Dir is the log directory that holds the partition.
func (p *Partition) Dir() string { return p.dir.path }

// AnyEpoch stands for a caller that knows no leader epoch.
const AnyEpoch int32 = -1

// check says why the partition cannot be led here for a caller that knows the
// given leader epoch.
func (p *Partition) check(callerEpoch int32) error {
	l := p.lead.Load()
	switch {
	case l.stopped:
		return ErrUnknownPartition
	case p.offline():
		return ErrStorage
	case callerEpoch != AnyEpoch && callerEpoch < l.epoch:
		return ErrFencedEpoch
	case callerEpoch != AnyEpoch && callerEpoch > l.epoch:
		return ErrUnknownEpoch
	case l.leader != p.self, l.brokerEpoch != p.manager.brokerEpoch():
		return ErrNotLeader
	}
	return nil
}

// Check returns nil if this broker leads the partition and the caller's leader
// epoch, if it is not AnyEpoch, is the current one.
func (p *Partition) Check(callerEpoch int32) error { return p.check(callerEpoch) }

// AckAll is the required acknowledgement of every in-sync replica.
const AckAll int16 = -1

// Append validates the batch and writes it at the end of the log, patching its
// offset and leader epoch in place; b is the caller's again on return. If moved
// is true the high watermark moved, and the caller must call Changed.Wake once
// it holds no lock.
func (p *Partition) Append(b record.Batch, acks int16, o commitlog.AppendOrigin) (info commitlog.AppendInfo, moved bool, err error) {
	return p.append(AnyEpoch, b, acks, o)
}

// append is Append for a caller that knows the given leader epoch.
func (p *Partition) append(callerEpoch int32, b record.Batch, acks int16, o commitlog.AppendOrigin) (info commitlog.AppendInfo, moved bool, err error) {
	return p.appendBy(callerEpoch, acks, func(leaderEpoch int32) (commitlog.AppendInfo, error) {
		return p.log.AppendAsLeader(b, leaderEpoch, o)
	})
}

// appendBy is append of what write writes with the current leader epoch.
func (p *Partition) appendBy(callerEpoch int32, acks int16, write func(leaderEpoch int32) (commitlog.AppendInfo, error)) (info commitlog.AppendInfo, moved bool, err error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.check(callerEpoch); err != nil {
		return commitlog.AppendInfo{}, false, err
	}
	if err := p.admitted(acks); err != nil {
		return commitlog.AppendInfo{}, false, err
	}
	l := p.lead.Load()
	info, err = write(l.epoch)
	if err != nil {
		return info, false, p.failed("append", err)
	}
	info.LeaderEpoch = l.epoch
	return info, p.appended(l, &info), nil
}

// admitted says why a leader may not append now; mu is held.
func (p *Partition) admitted(acks int16) error {
	switch {
	case p.leaving:
		return ErrNotLeader
	case acks == AckAll && !p.admits.Load():
		return ErrNotEnoughReplicas
	case !p.manager.leased():
		return ErrNotLeader
	}
	return nil
}

// appended does what follows every append and reports whether somebody who waits
// should look again; mu is held.
func (p *Partition) appended(l *leadership, info *commitlog.AppendInfo) (changed bool) {
	end := info.LastOffset + 1
	p.stepping.Lock()
	if !p.grown(end, l.epoch) && !info.Duplicate && p.Topic.Config().Flush == FlushBatch {
		p.flushSoon(end) // Told with a later batch, it has a sync of its own still.
	}
	return p.unlock()
}

// Acknowledged reports whether a producer may be told that its batch is written: with
// AckAll once every replica that counts has it, else once this one counts it. An
// error says that it never may. info is what Append returned.
func (p *Partition) Acknowledged(info *commitlog.AppendInfo, acks int16) (bool, error) {
	for {
		l := p.lead.Load()
		if err := p.check(AnyEpoch); err != nil {
			return false, err
		}
		if info.LeaderEpoch < l.since {
			return false, ErrNotLeader // This broker led, did not, and leads again.
		}
		cell := &p.ackedLeader
		if acks == AckAll {
			cell = &p.ackedAll
		}
		acked := cell.Load() > info.LastOffset
		switch {
		case p.lead.Load() != l: // The cell may be of another term.
			continue
		case acked && !p.manager.leased():
			return false, ErrNotLeader // Somebody else may lead already.
		case !acked && acks == AckAll && info.LastOffset < p.tooFewBelow.Load():
			return false, ErrNotEnoughReplicasAfterAppend
		}
		return acked, nil
	}
}

// failed tells a refusal from a disk that let the log down. Where the log gave up
// for good, so does the whole log directory; where it is damaged, the replica; a full
// disk may be freed.
func (p *Partition) failed(operation string, err error) error {
	rotten := damaged(err)
	if refusal(err) && !rotten {
		return err
	}
	switch {
	case errors.Is(err, commitlog.ErrFailed):
		p.dir.fail(fmt.Errorf("%s %s: %w", operation, p.ID(), err))
	case rotten:
		p.foundDamage(fmt.Errorf("%s: %w", operation, err))
	case vfs.IsFull(err):
		p.dir.noRoom(fmt.Errorf("%s %s: %w", operation, p.ID(), err))
	}
	return fmt.Errorf("%w: %s %s: %w", ErrStorage, operation, p.ID(), err)
}

// refusals are the errors of a log that is well.
var refusals = []error{
	record.ErrShort, record.ErrCorrupt, record.ErrInvalidRecord, record.ErrTooLarge,
	record.ErrUnsupportedCodec, record.ErrInvalidTimestamp,
	commitlog.ErrOffsetOutOfRange, commitlog.ErrClosed, commitlog.ErrOutOfOrderSequence,
	commitlog.ErrInvalidProducerEpoch, commitlog.ErrRecordListTooLarge, commitlog.ErrUnexpectedOffset,
	commitlog.ErrInvalidTxnState, commitlog.ErrCoordinatorFenced,
}

func refusal(err error) bool {
	return slices.ContainsFunc(refusals, func(known error) bool { return errors.Is(err, known) })
}

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
	if err == nil && r.Offset > p.hw.Load() {
		return p.undecided(r.Isolation)
	}
	return err
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
// and log end offset.
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
