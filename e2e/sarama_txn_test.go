package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/IBM/sarama"
)

func TestTransactionsOfSarama(t *testing.T) {
	t.Parallel()
	b := startBroker(t, quickGroups...)
	checkTransactions(t, b, "sarama", func(t *testing.T, prefix string) {
		saramaWrites(t, b, prefix)
		saramaCopies(t, b, prefix)
		saramaIsFenced(t, b, prefix)
	})
}

func saramaTransactional(t *testing.T, b *brokerProcess, id string) sarama.SyncProducer {
	t.Helper()
	c := saramaConfig("none")
	c.Producer.Transaction.ID, c.Producer.Partitioner = id, sarama.NewManualPartitioner
	p, err := sarama.NewSyncProducer([]string{b.Bootstrap}, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // a fenced one says so again
	must(t, p.BeginTxn())
	return p
}

func saramaSend(p sarama.SyncProducer, topic string, partition int32, value string) error {
	_, _, err := p.SendMessage(&sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.StringEncoder(value)})
	return err
}

// saramaWrites aborts every third transaction.
func saramaWrites(t *testing.T, b *brokerProcess, prefix string) {
	t.Helper()
	p := saramaTransactional(t, b, prefix+"-writer")
	for round := range 20 {
		end, name := p.CommitTxn, "record"
		if round%3 == 2 {
			end, name = p.AbortTxn, "aborted"
		}
		for i := range 10 {
			must(t, saramaSend(p, prefix+"-in", int32(i%3), fmt.Sprintf("%s %d.%d", name, round, i)))
		}
		must(t, end())
		must(t, p.BeginTxn())
	}
}

// saramaCopies consumes and produces in transactions that the offsets are part of. Where
// one was aborted, and once after half, the consumer begins anew from what is committed.
func saramaCopies(t *testing.T, b *brokerProcess, prefix string) {
	t.Helper()
	c := saramaConfig("none")
	c.Consumer.IsolationLevel, c.Consumer.Offsets.Initial, c.Consumer.Offsets.AutoCommit.Enable = sarama.ReadCommitted, sarama.OffsetOldest, false
	copier := &saramaCopier{prefix: prefix, producer: saramaTransactional(t, b, prefix+"-copier"), turn: make(chan struct{}, 1)}
	copier.turn <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	for copier.copied < copiedByClients-1 {
		group, err := sarama.NewConsumerGroup([]string{b.Bootstrap}, prefix+"-copiers", c)
		must(t, err)
		copier.ended = false
		err = group.Consume(ctx, []string{prefix + "-in"}, copier)
		if err := errors.Join(err, group.Close(), copier.err, ctx.Err()); err != nil {
			t.Fatalf("after %d records: %v", copier.copied, err)
		}
	}
}

// saramaCopier copies a record in each transaction. Its partitions take turns; what
// they share belongs to whoever has the turn.
type saramaCopier struct {
	prefix         string
	producer       sarama.SyncProducer
	turn           chan struct{}
	copied, aborts int
	ended          bool
	err            error
}

func (*saramaCopier) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*saramaCopier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim returns, which ends the others too, once the consumer is to begin anew.
func (c *saramaCopier) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			<-c.turn
			if !c.ended {
				c.err = c.copy(s, m)
				c.ended = c.ended || c.err != nil
			}
			ended := c.ended
			c.turn <- struct{}{}
			if ended {
				return nil
			}
		case <-s.Context().Done():
			return nil
		}
	}
}

func (c *saramaCopier) copy(s sarama.ConsumerGroupSession, m *sarama.ConsumerMessage) error {
	if err := saramaSend(c.producer, c.prefix+"-out", m.Partition, string(m.Value)); err != nil {
		return err
	}
	group := sarama.NewConsumerGroupMetadataFromSession(s, c.prefix+"-copiers", nil)
	if err := c.producer.AddMessageToTxnWithGroupMetadata(m, group, nil); err != nil {
		return err
	}
	if c.aborts < 3 {
		c.aborts++
		c.ended = true
		return errors.Join(c.producer.AbortTxn(), c.producer.BeginTxn())
	}
	c.copied++
	c.ended = c.copied == copiedByClients/2 || c.copied == copiedByClients-1
	return errors.Join(c.producer.CommitTxn(), c.producer.BeginTxn())
}

func saramaIsFenced(t *testing.T, b *brokerProcess, prefix string) {
	t.Helper()
	zombie := saramaTransactional(t, b, prefix+"-fenced")
	must(t, saramaSend(zombie, prefix+"-out", 0, "zombie"))
	heir := saramaTransactional(t, b, prefix+"-fenced")
	if err := zombie.CommitTxn(); !errors.Is(err, sarama.ErrProducerFenced) && !errors.Is(err, sarama.ErrInvalidProducerEpoch) {
		t.Errorf("the commit of a fenced producer: %v", err)
	}
	must(t, saramaSend(heir, prefix+"-out", 0, "heir"))
	must(t, heir.CommitTxn())
}
