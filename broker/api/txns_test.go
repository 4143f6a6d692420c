package api

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/txns"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// txnSeeds are requests about transactions that the handlers like.
func txnSeeds(version int16) []kmsg.Request {
	id := "tx"
	init := kmsg.NewPtrInitProducerIDRequest()
	init.TransactionalID, init.TransactionTimeoutMillis = &id, 60_000
	add := kmsg.NewPtrAddPartitionsToTxnRequest()
	add.TransactionalID, add.Topics = id, []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	if version >= 4 {
		add.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{TransactionalID: id, VerifyOnly: true,
			Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "t", Partitions: []int32{0}}}}}
	}
	offsets := kmsg.NewPtrAddOffsetsToTxnRequest()
	offsets.TransactionalID, offsets.Group = id, "g"
	end := kmsg.NewPtrEndTxnRequest()
	end.TransactionalID = id
	markers := kmsg.NewPtrWriteTxnMarkersRequest()
	markers.Markers = []kmsg.WriteTxnMarkersRequestMarker{{ProducerID: 1 << 40, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: []int32{0}}}}}
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group = id, "g"
	commit.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Offset: 1}}}}
	list := kmsg.NewPtrListTransactionsRequest()
	list.StateFilters = []string{"Ongoing", "Asleep"}
	return []kmsg.Request{init, add, offsets, end, markers, commit, list,
		&kmsg.DescribeProducersRequest{Topics: []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0, 9}}}},
		&kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{id}},
	}
}

// coordinateTxns makes the broker the coordinator of all transactional ids, and waits
// until it is.
func (c *cluster) coordinateTxns() {
	c.t.Helper()
	c.topic(txns.Topic, 1)
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{"nobody"}
	for range 100_000 {
		resp := asked[*kmsg.DescribeTransactionsResponse](c, req)
		if wire.ErrorCode(resp.TransactionStates[0].ErrorCode) == wire.TransactionalIDNotFound {
			return
		}
	}
	c.t.Fatal("the transaction coordinator never came up")
}

// asked sends a request that may wait for a moment, and decodes the response.
func asked[R kmsg.Response](c *cluster, req kmsg.Request) R {
	c.t.Helper()
	f := newFakeRequest(c.t)
	go c.server.serve(call{header: wire.Header{Key: req.Key(), Version: req.GetVersion(), CorrelationID: 7}, body: req.AppendTo(nil), to: f})
	for range 100_000 {
		select {
		case o := <-f.answers:
			return decode[R](c.t, req, o)
		case <-time.After(time.Millisecond):
			c.tick()
		}
	}
	c.t.Fatalf("%s was never answered", kmsg.NameForKey(req.Key()))
	panic("not reached")
}

// tick lets what waits for a moment go on.
func (c *cluster) tick() { c.clock.Advance(10 * time.Millisecond) }

// txnProducer is a transactional producer as versions before KIP-890 have it.
type txnProducer struct {
	c     *cluster
	id    string
	pid   int64
	epoch int16
	next  map[int32]int32 // sequences by partition of topic t
}

func (c *cluster) producer(id string) *txnProducer {
	c.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, &id, 60_000
	for range 1000 {
		resp := asked[*kmsg.InitProducerIDResponse](c, req)
		switch wire.ErrorCode(resp.ErrorCode) {
		case wire.None:
			return &txnProducer{c, id, resp.ProducerID, resp.ProducerEpoch, map[int32]int32{}}
		case wire.ConcurrentTransactions:
			c.tick()
		default:
			c.t.Fatalf("InitProducerId of %s: %v", id, wire.ErrorCode(resp.ErrorCode))
		}
	}
	c.t.Fatal("the transaction before never ended")
	return nil
}

func (p *txnProducer) add(partitions ...int32) wire.ErrorCode {
	p.c.t.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, p.id, p.pid, p.epoch
	req.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "t", Partitions: partitions}}
	for range 1000 {
		resp := asked[*kmsg.AddPartitionsToTxnResponse](p.c, req)
		if code := wire.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode); code != wire.ConcurrentTransactions {
			return code
		}
		p.c.tick()
	}
	p.c.t.Fatal("the transaction before never ended")
	return 0
}

func (p *txnProducer) produce(version int16, partition int32, value string) wire.ErrorCode {
	p.c.t.Helper()
	b := record.NewBuilder(record.None, record.DefaultLevel)
	b.Producer(p.pid, p.epoch, p.next[partition])
	b.Transactional(true)
	b.Append(testNow.UnixMilli(), nil, []byte(value), nil)
	req := produceRequest(version, -1, "t", partition, b.Build())
	req.TransactionID = &p.id
	code := wire.ErrorCode(asked[*kmsg.ProduceResponse](p.c, req).Topics[0].Partitions[0].ErrorCode)
	if code == wire.None {
		p.next[partition]++
	}
	return code
}

func (p *txnProducer) end(version int16, commit bool) wire.ErrorCode {
	p.c.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = version, p.id, p.pid, p.epoch, commit
	resp := asked[*kmsg.EndTxnResponse](p.c, req)
	if version >= 5 && resp.ErrorCode == 0 {
		p.pid, p.epoch, p.next = resp.ProducerID, resp.ProducerEpoch, map[int32]int32{}
	}
	return wire.ErrorCode(resp.ErrorCode)
}

// visible are the values that a read_committed reader of topic t sees, once the
// transactions are over.
func (c *cluster) visible(partition int32) []string {
	c.t.Helper()
	req := c.fetchRequest(12, "t", partition, 0)
	req.IsolationLevel = 1
	var got kmsg.FetchResponseTopicPartition
	for range 1000 {
		if got = c.fetched(req); got.LastStableOffset == got.HighWatermark {
			return committedValues(c.t, got)
		}
		c.tick()
	}
	c.t.Fatalf("the last stable offset stays %d, the high watermark is %d", got.LastStableOffset, got.HighWatermark)
	return nil
}

// committedValues leaves out what the aborted list says, as clients do.
func committedValues(t testing.TB, p kmsg.FetchResponseTopicPartition) (out []string) {
	aborted := map[int64]bool{}
	rest := p.RecordBatches
	for len(rest) > 0 {
		b, next, err := record.Parse(rest)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.AbortedTransactions {
			if a.FirstOffset <= b.LastOffset() && a.ProducerID == b.ProducerID() && a.FirstOffset >= b.BaseOffset() {
				aborted[a.ProducerID] = true
			}
		}
		switch {
		case b.IsControl():
			aborted[b.ProducerID()] = false
		case !aborted[b.ProducerID()]:
			out = append(out, values(t, b)...)
		}
		rest = next
	}
	return out
}

func TestTransactionOfEitherVersion(t *testing.T) {
	for _, version := range []struct{ produce, end int16 }{{9, 3}, {12, 5}, {12, 3}} {
		c := newCluster(t, nil)
		c.topic("t", 2)
		c.coordinateTxns()
		p := c.producer("tx")
		for _, commit := range []bool{true, false, true} {
			if version.produce < 12 {
				wantCode(t, "add", int16(p.add(0, 1)), wire.None)
			}
			value := map[bool]string{true: "kept", false: "dropped"}[commit]
			for partition := range int32(2) {
				wantCode(t, "produce", int16(p.produce(version.produce, partition, value)), wire.None)
			}
			wantCode(t, "end", int16(p.end(version.end, commit)), wire.None)
			c.settle(p.id)
		}
		for partition := range int32(2) {
			if got := c.visible(partition); !slices.Equal(got, []string{"kept", "kept"}) {
				t.Errorf("produce version %d, end version %d: partition %d has %q for read_committed readers, want kept twice", version.produce, version.end, partition, got)
			}
		}
	}
}

// TestLateBatchIsRefused is fault T08: what is produced after the marker, or into a
// partition that is not in the transaction, leaves nothing open.
func TestLateBatchIsRefused(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 2)
	c.coordinateTxns()
	p := c.producer("tx")
	wantCode(t, "produce before any transaction", int16(p.produce(9, 0, "early")), wire.InvalidTxnState)
	wantCode(t, "the same for who knows the word", int16(p.produce(11, 0, "early")), wire.TransactionAbortable)
	wantCode(t, "add", int16(p.add(0)), wire.None)
	wantCode(t, "produce to another partition", int16(p.produce(9, 1, "elsewhere")), wire.InvalidTxnState)
	wantCode(t, "produce", int16(p.produce(9, 0, "a")), wire.None)
	wantCode(t, "end", int16(p.end(3, false)), wire.None)
	c.settle(p.id)
	wantCode(t, "produce after the marker", int16(p.produce(9, 0, "late")), wire.InvalidTxnState)
	if got := c.visible(0); len(got) > 0 {
		t.Errorf("read_committed readers see %q, want nothing", got)
	}
}

// TestLateEndOfAnEarlierTransaction is fault T09 for clients of transaction.version 2:
// the epoch tells it from the end of the present one.
func TestLateEndOfAnEarlierTransaction(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.coordinateTxns()
	p := c.producer("tx")
	wantCode(t, "produce", int16(p.produce(12, 0, "first")), wire.None)
	late := *p
	wantCode(t, "end", int16(p.end(5, false)), wire.None)
	c.settle(p.id)
	wantCode(t, "produce", int16(p.produce(12, 0, "second")), wire.None)
	for _, commit := range []bool{true, false} {
		again := late
		wantCode(t, "the late end", int16(again.end(5, commit)), wire.ProducerFenced)
	}
	wantCode(t, "end", int16(p.end(5, true)), wire.None)
	c.settle(p.id)
	if got := c.visible(0); !slices.Equal(got, []string{"second"}) {
		t.Errorf("read_committed readers see %q, want the second transaction", got)
	}
}

// TestZombieIsFenced is fault T07.
func TestZombieIsFenced(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.coordinateTxns()
	zombie := c.producer("tx")
	wantCode(t, "add", int16(zombie.add(0)), wire.None)
	wantCode(t, "produce", int16(zombie.produce(9, 0, "zombie")), wire.None)
	heir := c.producer("tx")
	if heir.pid != zombie.pid || heir.epoch <= zombie.epoch {
		t.Errorf("the heir has id %d epoch %d, the zombie %d and %d", heir.pid, heir.epoch, zombie.pid, zombie.epoch)
	}
	if got := c.visible(0); len(got) > 0 {
		t.Errorf("InitProducerId returned and read_committed readers see %q, want the open transaction aborted", got)
	}
	wantCode(t, "the zombie adds", int16(zombie.add(0)), wire.ProducerFenced)
	wantCode(t, "the zombie produces", int16(zombie.produce(9, 0, "late")), wire.InvalidProducerEpoch)
	wantCode(t, "the zombie commits", int16(zombie.end(3, true)), wire.ProducerFenced)
	wantCode(t, "the zombie commits in words of old", int16(zombie.end(1, true)), wire.InvalidProducerEpoch)
}

// settle waits until the last transaction of an id is complete.
func (c *cluster) settle(id string) {
	c.t.Helper()
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	for range 100_000 {
		state := asked[*kmsg.DescribeTransactionsResponse](c, req).TransactionStates[0].State
		if state == "CompleteCommit" || state == "CompleteAbort" {
			return
		}
		<-time.After(time.Millisecond) // others carry the markers
		c.tick()
	}
	c.t.Fatal("the transaction never ended")
}

// TestTransactionTimesOut: a producer that falls silent holds readers up for no longer
// than its transaction's timeout, and is outdated when it comes back.
func TestTransactionTimesOut(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.coordinateTxns()
	silent, other := c.producer("silent"), c.producer("other")
	for _, p := range []*txnProducer{silent, other} {
		wantCode(t, "produce", int16(p.produce(12, 0, p.id)), wire.None)
	}
	wantCode(t, "end", int16(other.end(5, true)), wire.None)
	c.settle(other.id)
	c.clock.Advance(50 * time.Second)
	req := c.fetchRequest(12, "t", 0, 0)
	req.IsolationLevel = 1
	if got := c.fetched(req); got.LastStableOffset != 0 {
		t.Errorf("the last stable offset is %d before the timeout, want 0", got.LastStableOffset)
	}
	c.settle(silent.id)
	if got := c.visible(0); !slices.Equal(got, []string{"other"}) {
		t.Errorf("read_committed readers see %q, want the other transaction", got)
	}
	wantCode(t, "the silent one produces", int16(silent.produce(12, 0, "late")), wire.InvalidProducerEpoch)
	wantCode(t, "the silent one commits what was aborted", int16(silent.end(5, true)), wire.InvalidTxnState)
}
