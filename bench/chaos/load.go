package chaos

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/ledger"
	"tidemark/bench/schedule"
)

// Cell is one configuration under test: a topic of one partition and its producer.
type Cell struct {
	// Name is short, and what a topic's name may be made of.
	Name string
	// Strategy is the topic's replication.strategy; Topic are further properties.
	Strategy string
	Topic    map[string]string
	// Acks is 1 or all.
	Acks string
	// PerSecond is the rate in records; a cell that cannot keep up sends what it can.
	PerSecond float64
	// Plain producers are not idempotent; those with acks 1 never are.
	Plain bool
}

func (c Cell) idempotent() bool { return c.Acks == "all" && !c.Plain }

// producing is a cell and its producer.
type producing struct {
	Cell
	topic   string
	number  uint16 // of the topic, in the ledger
	client  *kgo.Client
	account *ledger.Account
	bytes   int

	sent, acked atomic.Int64
	lastAck     atomic.Int64 // schedule.Now's
	silence     atomic.Int64 // ns, the longest between two acknowledgements

	mu     sync.Mutex
	errors map[string]int // what records failed with, how often
}

// inFlight is how many records of a cell may wait for their answer.
const inFlight = 20_000

// batchBytes bounds a batch, so that what has piled up still fits a small segment.
const batchBytes = 64 << 10

func (r *Rig) produces(p *producing) (*kgo.Client, error) {
	o := []kgo.Opt{kgo.DefaultProduceTopic(p.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(2 * time.Millisecond), kgo.MaxBufferedRecords(inFlight), kgo.ProducerBatchMaxBytes(max(batchBytes, int32(2*r.options.RecordBytes)))}
	if p.Acks == "1" {
		o = append(o, kgo.RequiredAcks(kgo.LeaderAck()))
	}
	if !p.idempotent() {
		o = append(o, kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(5))
	}
	return r.client(o...)
}

// tick is how often the records that are due are sent.
const tick = time.Millisecond

// run sends at the rate until ctx ends. A client whose buffer is full holds it up; it
// then does not catch up, so that the rate stays a bound.
func (p *producing) run(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	last := time.Now()
	due := 1.0
	for {
		for ; due >= 1 && p.client.BufferedProduceRecords() < inFlight; due-- {
			p.send()
		}
		select {
		case now := <-ticker.C:
			due = min(due, 1) + min(now.Sub(last).Seconds(), 10*tick.Seconds())*p.PerSecond
			last = now
		case <-ctx.Done():
			return
		}
	}
}

// sending is a record on its way.
type sending struct {
	kgo.Record
	seq uint64
}

// send sends one record. What it fails with says nothing about where it is: the
// error may be that of a second attempt.
func (p *producing) send() {
	s := &sending{Record: kgo.Record{Value: make([]byte, p.bytes)}}
	s.seq = p.account.Stamp(s.Value, schedule.Now())
	p.sent.Add(1)
	p.client.Produce(context.Background(), &s.Record, func(r *kgo.Record, err error) {
		if err != nil {
			p.failed(err)
			return
		}
		now := schedule.Now()
		p.account.Acked(s.seq, 1, r.Offset, now)
		p.acked.Add(1)
		if before := p.lastAck.Swap(now); before > 0 && now-before > p.silence.Load() {
			p.silence.Store(now - before)
		}
	})
}

func (p *producing) failed(err error) {
	if errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.errors == nil {
		p.errors = map[string]int{}
	}
	p.errors[err.Error()]++
}
