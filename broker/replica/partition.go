package replica

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"tidemark/broker/purgatory"
	"tidemark/commitlog"
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
