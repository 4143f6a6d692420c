package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/ledger"
	"tidemark/bench/schedule"
)

// load is the producers at work. Each cell has a client of its own: a connection
// answers in order, and a cell that waits for a disk must not hold up the others.
type load struct {
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	// faulted is set before the fault: from then on errors are expected.
	faulted atomic.Bool
	// first gets a value at every cell's first acknowledgement.
	first chan struct{}
	cells int

	// broken is closed at the first error before the fault, which is err.
	broken chan struct{}
	once   sync.Once
	err    error
}

func newLoad(ctx context.Context, cells int) *load {
	l := &load{first: make(chan struct{}, cells), broken: make(chan struct{}), cells: cells}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

// inFlight is how many records of a cell may wait for their answer.
const inFlight = 4096

// batchBytes bounds a batch, so that what has piled up behind a slow broker still
// fits a small segment.
const batchBytes = 64 << 10

// produce starts a producer for each cell.
func (r *Rig) produce(ctx context.Context, acks string) (*load, error) {
	l := newLoad(ctx, len(r.options.Cells))
	required := kgo.LeaderAck()
	if acks == "all" {
		required = kgo.AllISRAcks()
	}
	for i := range r.options.Cells {
		c, err := r.client(kgo.DefaultProduceTopic(r.topic(i)), kgo.RequiredAcks(required), kgo.DisableIdempotentWrite(),
			kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(2*time.Millisecond), kgo.MaxBufferedRecords(inFlight),
			kgo.MaxProduceRequestsInflightPerBroker(5), kgo.ProducerBatchMaxBytes(int32(max(batchBytes, 2*r.options.RecordBytes))))
		if err != nil {
			l.stop()
			return nil, err
		}
		p := &producing{load: l, client: c, account: r.account(i), label: r.options.Cells[i].Label, bytes: r.options.RecordBytes}
		l.group.Add(1)
		go func() {
			defer l.group.Done()
			p.run(r.options.PerSecond)
		}()
	}
	return l, nil
}

// firstWithin is how long a cell may take for its first acknowledgement.
const firstWithin = 90 * time.Second

// await returns when every cell has had an acknowledgement and phase has passed.
func (l *load) await(ctx context.Context, phase time.Duration) error {
	late := time.NewTimer(firstWithin)
	defer late.Stop()
	for range l.cells {
		select {
		case <-l.first:
		case <-l.broken:
			return nil // failure says it
		case <-late.C:
			return fmt.Errorf("no acknowledgement of every cell within %s", firstWithin)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	timer := time.NewTimer(phase)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.broken:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// stop ends the producers; what has no answer never gets one.
func (l *load) stop() {
	l.cancel()
	l.group.Wait()
}

// failure is the first error that came before the fault.
func (l *load) failure() error {
	select {
	case <-l.broken:
		return l.err
	default:
		return nil
	}
}

func (l *load) fail(err error) {
	if l.faulted.Load() || l.ctx.Err() != nil {
		return
	}
	l.once.Do(func() {
		l.err = err
		close(l.broken)
	})
}

// producing is the producer of one cell.
type producing struct {
	*load
	client  *kgo.Client
	account *ledger.Account
	label   string
	bytes   int
	acked   bool // of the goroutine that runs promises
}

// tick is how often the records that are due are sent.
const tick = time.Millisecond

// run sends at the rate until the load is stopped. A client whose buffer is full
// holds it up; it then does not catch up, so that the rate stays a bound.
func (p *producing) run(perSecond float64) {
	defer p.client.Close() // fails what is left
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	due := 1.0
	for {
		for ; due >= 1; due-- {
			p.send()
		}
		select {
		case now := <-ticker.C:
			due += min(now.Sub(last).Seconds(), 10*tick.Seconds()) * perSecond
			last = now
		case <-p.ctx.Done():
			return
		}
	}
}

// sending is a record on its way.
type sending struct {
	kgo.Record
	seq uint64
}

func (p *producing) send() {
	s := &sending{Record: kgo.Record{Value: make([]byte, p.bytes)}}
	for i := ledger.HeaderBytes; i < p.bytes; i++ {
		s.Value[i] = byte(i)
	}
	s.seq = p.account.Stamp(s.Value, schedule.Now())
	p.client.Produce(p.ctx, &s.Record, func(r *kgo.Record, err error) {
		if err != nil {
			// Whether the broker has it is not known, whatever the error says: it
			// may be that of a second attempt.
			if !errors.Is(err, context.Canceled) {
				p.fail(fmt.Errorf("produce to %s: %w", p.label, err))
			}
			return
		}
		p.account.Acked(s.seq, 1, r.Offset, schedule.Now())
		if !p.acked {
			p.acked = true
			p.first <- struct{}{}
		}
	})
}
