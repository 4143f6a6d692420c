// Package txns runs this broker's transaction coordinator: it hosts a txn.Txns on
// each partition of __transaction_state that the broker leads, hands out producer
// ids, and carries the markers of what was decided to the partitions of each
// transaction. It is the part of Kafka's TransactionCoordinator, of its
// TransactionMarkerChannelManager and of AddPartitionsToTxnManager that is not pure.
//
// It decides nothing about transactions, which package txn does, and nothing about
// leadership, of which it is told.
package txns

import (
	"context"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"tidemark/broker/api/codec"
	"tidemark/broker/config"
	"tidemark/broker/groups"
	"tidemark/broker/metadata"
	"tidemark/broker/purgatory"
	"tidemark/broker/replica"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/txn"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
)

// Topic holds transactions.
const Topic = "__transaction_state"

// Options make a Coordinator. All fields but Trace are required.
type Options struct {
	BrokerID int32
	// Config is the broker's own configuration.
	Config *config.Broker
	// Replicas finds the partitions, Metadata says who leads them.
	Replicas *replica.Manager
	Metadata *metadata.Cache
	// Groups takes the markers of __consumer_offsets.
	Groups *groups.Coordinator
	// Blocks is where producer ids come from.
	Blocks ProducerIDBlocks
	// Peers reaches the other brokers.
	Peers  Peers
	Clock  clock.Clock
	Logger *slog.Logger
	// Trace takes the states of transactions; nil is off.
	Trace *trace.Tracer
}

// Operation is one request put to the transactions of a partition.
type Operation = shard.Operation[*txn.Txns, *txn.Record]

// Coordinator coordinates the transactional ids whose partitions this broker leads.
// It is safe for concurrent use.
type Coordinator struct {
	o       Options
	watches *purgatory.Purgatory
	host    *shard.Host[*txn.Txns, *txn.Record]
	ids     producerIDs

	// stopped ends when Close begins; running counts what it waits for.
	stopped context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	terms map[int32]*term   // by partition of Topic; guarded by mu
	boxes map[int32]*outbox // by broker; guarded by mu
}

// maxQueued bounds the requests that wait for one partition's goroutine.
const maxQueued = 100_000

// New returns a coordinator of no partition. Close it.
func New(o Options) *Coordinator {
	t := &o.Config.Transactions
	settings := txn.Options{MaxTimeout: t.MaxTimeout, AbortInterval: t.AbortInterval, Expiration: t.IDExpiration, ExpireInterval: t.ExpiryInterval, Watch: watch(o.Trace)}
	c := &Coordinator{o: o, watches: purgatory.New(o.Clock), terms: map[int32]*term{}, boxes: map[int32]*outbox{}}
	c.ids = producerIDs{blocks: o.Blocks, broker: o.BrokerID}
	c.stopped, c.stop = context.WithCancel(context.Background())
	c.host = shard.New(shard.Options[*txn.Txns, *txn.Record]{
		Clock: o.Clock, New: func(int32) *txn.Txns { return txn.New(settings) }, Codec: codec.Txns{},
		CommitTimeout: o.Config.Groups.CommitTimeout, MaxQueued: maxQueued, LoadBytes: int(t.LoadBytes),
		Failed: func(partition int32, err error) {
			o.Logger.Error("transaction coordinator", "topic", Topic, "partition", partition, "error", err)
		},
	})
	return c
}

// TopicSettings is how the topic is created with that many brokers alive.
func (c *Coordinator) TopicSettings(brokers int) (partitions int32, replicationFactor int16, settings map[string]string) {
	t := &c.o.Config.Transactions
	factor := min(int(t.ReplicationFactor), max(brokers, 1), math.MaxInt16)
	return t.Partitions, int16(factor), map[string]string{
		"cleanup.policy": "compact", "compression.type": "uncompressed", "segment.bytes": strconv.Itoa(int(t.SegmentBytes)),
		"min.insync.replicas":   strconv.Itoa(min(int(t.MinISR), factor)),
		"storage.append.engine": "buffered", "storage.flush": config.FlushOS,
	}
}

// Led takes note of who leads a partition of the topic since which leader epoch. The
// replica must know already.
func (c *Coordinator) Led(partition, leader, leaderEpoch int32) {
	p := c.o.Replicas.Partition(Topic, partition)
	if leader == c.o.BrokerID && p != nil {
		c.host.Elected(partition, leaderEpoch, p.ForCoordinator(c.watches))
		c.begin(partition, leaderEpoch)
		return
	}
	c.end(partition, leaderEpoch)
	c.host.Resigned(partition, leaderEpoch)
}

// Stopped takes note that a partition of the topic is here no more.
func (c *Coordinator) Stopped(partition int32) {
	c.end(partition, shard.AnyEpoch)
	c.host.Resigned(partition, shard.AnyEpoch)
}

// TopicsDeleted has nothing to do: a partition that is not there needs no marker,
// which is found out when it is due.
func (c *Coordinator) TopicsDeleted([]string) {}

// Partition is where a transactional id belongs; ok is false while the topic is not
// there.
func (c *Coordinator) Partition(id string) (partition int32, ok bool) {
	t := c.o.Metadata.View().Topic(Topic)
	if t == nil || len(t.Partitions) == 0 {
		return 0, false
	}
	return shard.PartitionFor(id, int32(len(t.Partitions))), true
}

// Submit puts an operation to the partition of a transactional id. done is called
// exactly once, at once where the operation is refused, and must not block. Beside
// the errors of packages txn and replica there are those of package shard.
func (c *Coordinator) Submit(id string, operation Operation, done func(shard.Reply)) {
	partition, ok := c.Partition(id)
	if !ok {
		done(shard.Reply{Err: shard.ErrNotCoordinator})
		return
	}
	c.host.Submit(partition, operation, done)
}

// SubmitAll puts an operation to every partition that is coordinated here. done is
// called exactly once, with the replies in order of the partitions.
func (c *Coordinator) SubmitAll(operation Operation, done func([]shard.Reply)) {
	c.host.SubmitAll(operation, done)
}

// backoff is how long a step that failed waits before it is tried again.
const backoff = 50 * time.Millisecond

// later calls f once backoff has passed, unless the coordinator was closed.
func (c *Coordinator) later(f func()) {
	c.o.Clock.AfterFunc(backoff, func() {
		if c.stopped.Err() == nil {
			f()
		}
	})
}

// inBackground runs f on a goroutine that Close waits for; ok is false once Close has
// begun.
func (c *Coordinator) inBackground(f func(context.Context)) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped.Err() != nil {
		return false
	}
	c.running.Go(func() { f(c.stopped) })
	return true
}

// Close ends all coordination and waits for it; who still waits is told
// shard.ErrNotCoordinator.
func (c *Coordinator) Close() {
	c.mu.Lock()
	c.stop()
	c.mu.Unlock()
	c.host.Close()
	c.running.Wait()
	c.watches.Close()
}
