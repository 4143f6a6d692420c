package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/schedule"
	"tidemark/bench/workload"
)

// franz drives a target through kgo, one client per worker, with Kafka's client
// properties translated. The first eight bytes of every value are the intended
// time, for end-to-end times in this process.
type franz struct {
	options Options
	admin   *admin
	values  [][]byte
	batches written
	// markers are the control records of committed transactions.
	markers atomic.Int64
}

// written counts the batches that clients wrote; it is a hook of theirs.
type written struct{ plain, wire atomic.Int64 }

// OnProduceBatchWritten implements kgo.HookProduceBatchWritten.
func (w *written) OnProduceBatchWritten(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.ProduceBatchMetrics) {
	w.plain.Add(int64(m.UncompressedBytes))
	w.wire.Add(int64(m.CompressedBytes))
}

// fetched counts the bytes of the batches that a client read, as they travelled;
// it is a hook of its.
type fetched struct{ wire atomic.Int64 }

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (r *fetched) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	r.wire.Add(int64(m.CompressedBytes))
}

// permil is wire bytes per 1000 uncompressed ones so far, 0 before any batch.
func (w *written) permil() int64 { return 1000 * w.wire.Load() / max(1, w.plain.Load()) }

// stampBytes is the room at the start of a value for its intended time.
const stampBytes = 8

func openFranz(ctx context.Context, o Options) (Session, error) {
	if o.Load.RecordBytes < stampBytes {
		return nil, fmt.Errorf("record.size %d: the franz driver needs %d bytes for the intended time", o.Load.RecordBytes, stampBytes)
	}
	if err := checkIdempotence(o.Load); err != nil {
		return nil, err
	}
	a, err := openAdmin(ctx, o)
	if err != nil {
		return nil, err
	}
	if _, err := a.leaders(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	f := &franz{options: o, admin: a}
	v := newValues(o.Load, o.Seed)
	for range 4096 {
		f.values = append(f.values, v.next())
	}
	return f, nil
}

// idempotentInFlight is how many requests an idempotent client has in flight, whatever
// it is told.
const idempotentInFlight = 5

// checkIdempotence says what an idempotent or a transactional client cannot have.
func checkIdempotence(l workload.Load) error {
	switch {
	case l.Transaction > 0 && !l.Idempotent:
		return errors.New("transaction.duration.ms: transactions need enable.idempotence=true")
	case l.Idempotent && l.Acks != -1:
		return errors.New("enable.idempotence: set acks=all")
	case l.Idempotent && l.InFlight != idempotentInFlight:
		return fmt.Errorf("enable.idempotence: set max.in.flight.requests.per.connection to %d", idempotentInFlight)
	}
	return nil
}

// Unit implements Session: one send is one record; the client batches, and how
// well it compresses is known once it has written some.
func (f *franz) Unit() Unit {
	return Unit{Records: 1, LatencyOf: "record", CompressPermil: f.batches.permil()}
}

// Count implements Session.
func (f *franz) Count(ctx context.Context) (int64, error) {
	if f.options.Load.Transaction > 0 {
		if err := f.admin.settled(ctx); err != nil {
			return 0, err
		}
	}
	n, err := f.admin.count(ctx)
	return n - f.markers.Load(), err
}

// Close implements Session.
func (f *franz) Close() error { return f.admin.close() }

// pending is a record with what its promise needs; they are reused.
type pending struct {
	record    kgo.Record
	value     []byte
	due, sent int64
	// settled is the record's promise, made once.
	settled func(*kgo.Record, error)
}

// maxBuffered bounds the records a producing client holds.
const maxBuffered = 50_000

func (f *franz) producerOptions() []kgo.Opt {
	l := f.options.Load
	opts := []kgo.Opt{
		kgo.SeedBrokers(strings.Split(f.options.Bootstrap, ",")...), kgo.ClientID(clientID), kgo.DefaultProduceTopic(f.options.Topic),
		kgo.RecordPartitioner(kgo.UniformBytesPartitioner(l.BatchBytes, false, false, nil)),
		kgo.ProducerBatchMaxBytes(int32(l.BatchBytes)), kgo.ProducerLinger(l.Linger),
		kgo.MaxBufferedRecords(maxBuffered),
		kgo.RecordDeliveryTimeout(30 * time.Second), kgo.WithHooks(&f.batches),
	}
	switch l.Acks {
	case 0:
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()))
	case 1:
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
	default:
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	}
	if !l.Idempotent {
		opts = append(opts, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(l.InFlight))
	}
	codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(),
		"snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	return append(opts, kgo.ProducerBatchCompression(codecs[l.Compression]))
}

// Produce implements Session.
func (f *franz) Produce(ctx context.Context, worker int, feed Feed) (int64, error) {
	opts := f.producerOptions()
	if f.options.Load.Transaction > 0 {
		opts = append(opts, kgo.TransactionalID(fmt.Sprintf("%s-%d", f.options.Topic, worker)))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return 0, fmt.Errorf("producing client: %w", err)
	}
	defer client.Close()
	transactions := &transactions{client: client, length: f.options.Load.Transaction, wrote: make([]bool, f.options.Load.Partitions), markers: &f.markers}
	if err := transactions.begin(); err != nil {
		return 0, err
	}
	run := &franzRun{feed: feed, sampled: feed.Saturating(), batches: &f.batches, wrote: transactions.wrote}
	var created time.Time
	var held int64 // by a client whose buffer was full
	for i := 0; ; i++ {
		due, ok := feed.Next()
		if !ok {
			break
		}
		if !run.sampled || i%64 == 0 {
			created = time.Now() // else the client would ask for each record
			if transactions.over(created) {
				if err := errors.Join(transactions.commit(ctx), transactions.begin()); err != nil {
					return run.open.Load(), errors.Join(err, run.failure())
				}
				held = schedule.Now()
			}
		}
		p := run.take(f.values[i%len(f.values)])
		p.record.Timestamp = created
		p.due, p.sent = due, due
		if !run.sampled {
			p.sent = schedule.Now()
			putStamp(p.value, due)
		} else if i%64 == 0 {
			putStamp(p.value, due)
		}
		feed.Sent(due, p.sent, Send{Records: 1, Wire: int64(len(p.value) + recordOverhead), Held: held})
		full := run.open.Add(1) > maxBuffered
		client.Produce(ctx, &p.record, p.settled)
		if full && !run.sampled {
			held = schedule.Now()
		}
	}
	if err := client.Flush(ctx); err != nil && ctx.Err() == nil {
		return run.open.Load(), fmt.Errorf("flush: %w", err)
	}
	if err := transactions.commit(ctx); err != nil && ctx.Err() == nil {
		return run.open.Load(), errors.Join(err, run.failure())
	}
	return run.open.Load(), run.failure()
}

// franzRun is the state of one Produce. Promises run one after the other, in a
// goroutine of the client.
type franzRun struct {
	feed    Feed
	sampled bool
	batches *written
	wrote   []bool // partitions, in the present transaction
	open    atomic.Int64
	pool    sync.Pool
	now     int64
	permil  int64
	acks    int

	mu    sync.Mutex
	first error
}

func (r *franzRun) take(value []byte) *pending {
	p, _ := r.pool.Get().(*pending)
	if p == nil {
		p = &pending{value: make([]byte, 0, len(value))}
		p.settled = func(record *kgo.Record, err error) { r.settle(p, record, err) }
	}
	p.value = append(p.value[:0], value...)
	p.record = kgo.Record{Value: p.value}
	return p
}

// settle accounts for one record. While saturating the clock is read once in 64
// records: latency is then only the length of the client's own queue.
func (r *franzRun) settle(p *pending, record *kgo.Record, err error) {
	defer r.pool.Put(p)
	r.open.Add(-1)
	if err != nil {
		r.feed.Failed(p.due, 1)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.first == nil && !errors.Is(err, context.Canceled) {
			r.first = err
		}
		return
	}
	if !r.sampled || r.acks%64 == 0 {
		r.now = schedule.Now()
	}
	if r.permil == 0 || r.acks%64 == 0 {
		r.permil = r.batches.permil()
	}
	r.acks++
	r.wrote[record.Partition] = true
	size, permil := int64(len(p.value)+recordOverhead), r.permil
	if permil == 0 {
		permil = 1000 // the client has not told of its first batch yet
	}
	r.feed.Acked(Ack{Due: p.due, Sent: p.sent, Now: r.now, Records: 1, Wire: size * permil / 1000,
		Partition: record.Partition, Offset: record.Offset})
}

func (r *franzRun) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first != nil {
		return fmt.Errorf("produce: %w", r.first)
	}
	return nil
}

func (f *franz) consumer(worker int, read *fetched) (*kgo.Client, error) {
	from := map[int32]kgo.Offset{}
	for _, p := range mine(worker, f.options.Load.Consumers, f.options.Load.Partitions) {
		from[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(f.options.Bootstrap, ",")...), kgo.ClientID(clientID),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{f.options.Topic: from}),
		kgo.FetchMaxBytes(int32(max(f.options.Load.FetchMaxBytes*len(from), 1<<20))),
		kgo.FetchMaxPartitionBytes(int32(f.options.Load.FetchMaxBytes)),
		kgo.FetchMaxWait(500*time.Millisecond), kgo.WithHooks(read))
	if err != nil {
		return nil, fmt.Errorf("consuming client: %w", err)
	}
	return client, nil
}

// Fetch implements Session: it consumes from the beginning and returns at the
// end of the log or with ctx.
func (f *franz) Fetch(ctx context.Context, worker int, s Sink) error {
	ends, err := f.admin.ends(ctx)
	if err != nil {
		return err
	}
	starts, err := f.admin.starts(ctx)
	if err != nil {
		return err
	}
	var left int64
	for _, p := range mine(worker, f.options.Load.Consumers, f.options.Load.Partitions) {
		left += ends[p] - starts[p]
	}
	return f.consume(ctx, worker, s, func(records int64) (more bool) {
		left -= records
		return left > 0
	}, false)
}

// Follow implements Session.
func (f *franz) Follow(ctx context.Context, worker int, s Sink) error {
	return f.consume(ctx, worker, s, func(int64) bool { return true }, true)
}

func (f *franz) consume(ctx context.Context, worker int, s Sink, more func(records int64) bool, latencies bool) error {
	var read fetched
	client, err := f.consumer(worker, &read)
	if err != nil {
		return err
	}
	defer client.Close()
	for {
		began := schedule.Now()
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		now := schedule.Now()
		var records int64
		fetches.EachRecord(func(r *kgo.Record) {
			records++
			if latencies {
				s.Latency(now - stamp(r.Value))
				s.Seen(r.Partition, r.Offset, now)
			}
		})
		s.Got(Got{Now: now, ServiceNs: now - began, Records: records, Wire: read.wire.Swap(0)})
		if !more(records) {
			return nil
		}
	}
}

func putStamp(value []byte, due int64) { big.PutUint64(value, uint64(due)) }

func stamp(value []byte) int64 {
	if len(value) < stampBytes {
		return 0
	}
	return int64(big.Uint64(value))
}
