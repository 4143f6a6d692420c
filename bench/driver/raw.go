package driver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"tidemark/bench/schedule"
	"tidemark/internal/loopback"
)

// raw drives brokers with batches encoded before the clock starts. Per send
// it patches three numbers of a header; it never touches a record. A partition
// belongs to one producer, so the n-th batch of a partition is known without
// reading it.
type raw struct {
	options Options
	pool    *pool
	admin   *admin
	leaders []string // where each partition's leader listens
	// producers and consumers are the partitions of each worker.
	producers, consumers [][]int32

	next []int64 // next[p] is the number of sends to partition p; owned by p's producer
}

func openRaw(ctx context.Context, o Options) (Session, error) {
	pool, err := newPool(o.Load, o.Seed)
	if err != nil {
		return nil, err
	}
	a, err := openAdmin(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &raw{options: o, pool: pool, admin: a, next: make([]int64, o.Load.Partitions)}
	if err := r.assign(ctx); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return r, nil
}

// assign finds the leaders and gives each worker its partitions.
func (r *raw) assign(ctx context.Context) (err error) {
	l := &r.options.Load
	if r.leaders, err = r.admin.leaders(ctx); err != nil {
		return err
	}
	if r.producers, err = share(r.leaders, l.Producers); err != nil {
		return err
	}
	if l.Fetch > 0 || l.Tail {
		if r.consumers, err = share(r.leaders, l.Consumers); err != nil {
			return err
		}
	}
	for i, leader := range r.leaders {
		if direct := r.options.Direct[leader]; direct != "" {
			r.leaders[i] = direct
		}
	}
	return r.admin.begin(ctx, l.Topic["replication.strategy"])
}

// Unit implements Session: one send is one batch.
func (r *raw) Unit() Unit { return r.pool.unit() }

// Count implements Session.
func (r *raw) Count(ctx context.Context) (int64, error) { return r.admin.count(ctx) }

// Close implements Session.
func (r *raw) Close() error { return r.admin.close() }

// dial connects to the leader of a partition.
func (r *raw) dial(ctx context.Context, partition int32) (net.Conn, error) {
	d := net.Dialer{Timeout: 5 * time.Second, Control: loopback.Control(loopback.Unpaced)} // the driver must not be what paces
	conn, err := d.DialContext(ctx, "tcp", r.leaders[partition])
	if err != nil {
		return nil, fmt.Errorf("connect to the leader: %w", err)
	}
	return conn, nil
}

// flight is one produce request on its way; its header is its own, because
// several are written at once.
type flight struct {
	header      []byte
	due, sent   int64
	correlation int32
	partition   int32
	wire        int64
}

// producer is one connection's state. Its sending half and its reading half may
// run in two goroutines; they share only what is immutable.
type producer struct {
	*raw
	conn       net.Conn
	partitions []int32
	turn       int
	correlate  int32
	answer     produceAnswer
	in         []byte // unparsed answers
	inLen      int
}

// Produce implements Session.
func (r *raw) Produce(ctx context.Context, worker int, f Feed) (int64, error) {
	partitions := r.producers[worker]
	if len(partitions) == 0 {
		return 0, nil
	}
	conn, err := r.dial(ctx, partitions[0])
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }() // nothing is buffered in it
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	answer := newProduceAnswer(r.options.Topic)
	p := &producer{raw: r, conn: conn, partitions: partitions, answer: answer, in: make([]byte, max(4096, answer.size))}
	var flying int
	switch {
	case r.options.Load.Acks == 0:
		err = p.fireAndForget(f)
	case f.Saturating():
		flying, err = p.saturate(f)
	default:
		flying, err = p.paced(ctx, f)
	}
	if err != nil && ctx.Err() != nil {
		err = nil // the caller asked to stop; unanswered says what was open
	}
	return int64(flying) * r.pool.records, err
}

// load makes fl the next send and appends its two parts to bufs.
func (p *producer) load(fl *flight, due int64, bufs net.Buffers) net.Buffers {
	if fl.header == nil {
		fl.header = produceHeader(p.options.Topic, p.options.Load.Acks)
	}
	fl.partition = p.partitions[p.turn]
	if p.turn++; p.turn == len(p.partitions) {
		p.turn = 0
	}
	batch := p.pool.at(p.next[fl.partition])
	p.next[fl.partition]++
	p.correlate++
	fl.due, fl.correlation, fl.wire = due, p.correlate, int64(len(batch))
	setProduce(fl.header, fl.correlation, fl.partition, len(batch))
	return append(bufs, fl.header, batch)
}

// saturate keeps the window of requests full from one goroutine: it writes what
// the window allows with one writev, then reads whatever answers are there.
func (p *producer) saturate(f Feed) (flying int, err error) {
	window := make([]flight, p.options.Load.InFlight)
	backing := make(net.Buffers, 0, 2*len(window))
	head, open := 0, true
	for {
		bufs, first := backing[:0], flying
		for open && flying < len(window) {
			due, ok := f.Next()
			if !ok {
				open = false
				break
			}
			bufs = p.load(&window[(head+flying)%len(window)], due, bufs)
			flying++
		}
		if flying == 0 {
			return 0, nil
		}
		if len(bufs) > 0 {
			now := schedule.Now()
			for i := first; i < flying; i++ {
				fl := &window[(head+i)%len(window)]
				fl.sent = now
				f.Sent(fl.due, now, Send{Records: p.pool.records, Wire: fl.wire})
			}
			if _, err := bufs.WriteTo(p.conn); err != nil {
				return flying, fmt.Errorf("write produce requests: %w", err)
			}
		}
		if err := p.fill(); err != nil {
			return flying, err
		}
		now := schedule.Now()
		for p.inLen >= p.answer.size && flying > 0 {
			if err := p.settle(f, &window[head], now); err != nil {
				return flying, err
			}
			head = (head + 1) % len(window)
			flying--
		}
	}
}

// fill reads until at least one whole answer is buffered.
func (p *producer) fill() error {
	for p.inLen < p.answer.size {
		n, err := p.conn.Read(p.in[p.inLen:])
		p.inLen += n
		if err != nil {
			return fmt.Errorf("read produce answers: %w", err)
		}
	}
	return nil
}

// settle takes the first buffered answer, which belongs to fl.
func (p *producer) settle(f Feed, fl *flight, now int64) error {
	offset, err := p.answer.parse(p.in[:p.inLen], fl.correlation)
	var refused *kerr.Error
	switch {
	case errors.As(err, &refused):
		f.Failed(fl.due, p.pool.records)
		return fmt.Errorf("produce to partition %d: %w", fl.partition, err)
	case err != nil:
		return err
	}
	f.Acked(Ack{Due: fl.due, Sent: fl.sent, Now: now, Records: p.pool.records, Wire: fl.wire, Partition: fl.partition, Offset: offset})
	p.inLen = copy(p.in, p.in[p.answer.size:p.inLen])
	return nil
}

// fireAndForget is acks=0: a send counts as acknowledged once the kernel has it.
func (p *producer) fireAndForget(f Feed) error {
	var fl flight
	var held int64 // in write(2), which blocks once the socket is full
	bufs := make(net.Buffers, 0, 2)
	for {
		due, ok := f.Next()
		if !ok {
			return nil
		}
		out := p.load(&fl, due, bufs[:0])
		now := schedule.Now()
		f.Sent(due, now, Send{p.pool.records, fl.wire, held})
		if _, err := out.WriteTo(p.conn); err != nil {
			return fmt.Errorf("write a produce request: %w", err)
		}
		held = schedule.Now()
		f.Acked(Ack{Due: due, Sent: now, Now: held, Records: p.pool.records, Wire: fl.wire, Partition: fl.partition, Offset: -1})
	}
}
