package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/ledger"
	"tidemark/bench/schedule"
)

// Burst is a number of further producers of a cell, each of which has many requests of
// one record on their way at once: what waits in the sockets of a broker that is
// paused. They are not idempotent and wait for their answers for a long time.
type Burst struct {
	clients []*kgo.Client
	answers sync.WaitGroup
}

// burstBytes makes a record fill a batch.
const burstBytes, burstBatch = 900, 1 << 10

// burstAnswer is how long the answers are waited for.
const burstAnswer = 60 * time.Second

// NewBurst connects producers to a cell, whose own must be Plain, and has each send a
// first record.
func (t *Trial) NewBurst(ctx context.Context, cell, producers, requests int) (*Burst, error) {
	p := t.cells[cell]
	b := &Burst{}
	for i := range producers {
		o := []kgo.Opt{kgo.DefaultProduceTopic(p.topic), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite(),
			kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytes(burstBatch), kgo.MaxBufferedRecords(2 * requests),
			kgo.MaxProduceRequestsInflightPerBroker(requests), kgo.ProduceRequestTimeout(burstAnswer)}
		if p.Acks == "1" {
			o = append(o, kgo.RequiredAcks(kgo.LeaderAck()))
		}
		c, err := t.rig.client(o...)
		if err != nil {
			b.Close()
			return nil, err
		}
		b.clients = append(b.clients, c)
		b.send(c, t.ledger.Account(ledger.Stream{Topic: p.number, Producer: uint16(1 + i)}))
		if err := c.Flush(ctx); err != nil { // a client sends more at once when it has had an answer
			b.Close()
			return nil, fmt.Errorf("burst: %w", err)
		}
	}
	return b, nil
}

// Send sends so many requests of each producer and waits for nothing.
func (t *Trial) Send(b *Burst, cell, requests int) {
	for i, c := range b.clients {
		account := t.ledger.Account(ledger.Stream{Topic: t.cells[cell].number, Producer: uint16(1 + i)})
		for range requests {
			b.send(c, account)
		}
	}
}

func (b *Burst) send(c *kgo.Client, account *ledger.Account) {
	record := &kgo.Record{Value: make([]byte, burstBytes)}
	seq := account.Stamp(record.Value, schedule.Now())
	b.answers.Add(1)
	c.Produce(context.Background(), record, func(r *kgo.Record, err error) {
		defer b.answers.Done()
		if err == nil {
			account.Acked(seq, 1, r.Offset, schedule.Now())
		}
	})
}

// Flush waits until every request has been answered for.
func (b *Burst) Flush(ctx context.Context) (err error) {
	for _, c := range b.clients {
		err = errors.Join(err, c.Flush(ctx))
	}
	return err
}

// Close ends the producers; what has no answer never gets one.
func (b *Burst) Close() {
	for _, c := range b.clients {
		c.Close()
	}
	b.answers.Wait()
}
