package api

import (
	"errors"
	"slices"
	"testing"

	"tidemark/broker/replica"
	"tidemark/coordinator/txn"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// verified is a produce request of one batch to t-0 that the transaction's coordinator
// has agreed to, and that is not in the log yet.
func (p *txnProducer) verified(version int16, value string) (*produce, *producePart) {
	p.c.t.Helper()
	b := record.NewBuilder(record.None, record.DefaultLevel)
	b.Producer(p.pid, p.epoch, p.next[0])
	b.Transactional(true)
	b.Append(testNow.UnixMilli(), nil, []byte(value), nil)
	r := &produce{
		server: p.c.server, call: call{header: wire.Header{Version: version}}, txnID: []byte(p.id), acks: replica.AckAll,
		parts: []producePart{{topic: []byte("t"), records: b.Build()}},
	}
	part := &r.parts[0]
	r.check(part)
	r.verify()
	if part.err != nil || !part.asked {
		p.c.t.Fatalf("verified: %v, %v", part.asked, part.err)
	}
	return r, part
}

// markData has a marker of the producer land in t-0.
func (p *txnProducer) markData(epoch int16) {
	p.c.t.Helper()
	m := record.EndTxnMarker{TimestampMs: testNow.UnixMilli(), ProducerID: p.pid, ProducerEpoch: epoch}
	if _, _, err := p.c.server.o.Replicas.Partition("t", 0).AppendMarker(m, false); err != nil {
		p.c.t.Fatal(err)
	}
}

// TestMarkerBetweenVerificationAndAppend: the marker of the transaction before comes a
// second time, between the coordinator's yes and the append. It makes the verification
// void, and what belongs to the present transaction gets in all the same.
func TestMarkerBetweenVerificationAndAppend(t *testing.T) {
	for _, version := range []int16{9, 12} { // the end is one of before KIP-890 for both
		c := newCluster(t, nil)
		c.topic("t", 1)
		c.coordinateTxns()
		p := c.producer("tx")
		if version < firstAddingProduce {
			wantCode(t, "add", int16(p.add(0)), wire.None)
		}
		r, part := p.verified(version, "kept")
		p.markData(p.epoch)
		if r.append(part); part.err != nil {
			t.Errorf("version %d: %v", version, part.err)
		}
		wantCode(t, "end", int16(p.end(3, true)), wire.None)
		c.settle(p.id)
		if got := c.visible(0); !slices.Equal(got, []string{"kept"}) {
			t.Errorf("version %d: read_committed readers see %q", version, got)
		}
	}
}

// TestEndBetweenVerificationAndAppend: it is the very transaction that ends there, so
// what was verified is refused and leaves nothing open (fault T08).
func TestEndBetweenVerificationAndAppend(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.coordinateTxns()
	p := c.producer("tx")
	wantCode(t, "add", int16(p.add(0)), wire.None)
	r, part := p.verified(11, "late")
	wantCode(t, "end", int16(p.end(3, false)), wire.None)
	c.settle(p.id)
	end := part.partition.LogEndOffset()
	if r.append(part); !errors.Is(part.err, txn.ErrAbortable) || part.partition.LogEndOffset() != end {
		t.Errorf("got %v and a log that ends at %d, want TRANSACTION_ABORTABLE and %d", part.err, part.partition.LogEndOffset(), end)
	}
	if got := c.visible(0); len(got) > 0 {
		t.Errorf("read_committed readers see %q, want nothing", got)
	}
}
