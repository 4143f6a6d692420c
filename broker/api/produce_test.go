package api

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

func TestProduceEveryVersion(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 2)
	want := int64(0)
	for version := int16(3); version <= 11; version++ {
		for _, acks := range []int16{1, -1} {
			p := c.produced(produceRequest(version, acks, "t", 1, batch(record.None, "a", "b")))
			wantCode(t, "produce", p.ErrorCode, wire.None)
			if p.BaseOffset != want || p.Partition != 1 {
				t.Errorf("version %d: base offset %d of partition %d, want %d of 1", version, p.BaseOffset, p.Partition, want)
			}
			if p.LogAppendTime != -1 {
				t.Errorf("version %d: log append time %d, want -1 where producers stamp", version, p.LogAppendTime)
			}
			if version >= 5 && p.LogStartOffset != 0 {
				t.Errorf("version %d: log start offset %d, want 0", version, p.LogStartOffset)
			}
			want += 2
		}
	}
}

func TestProduceOldVersionsClose(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	for version := int16(-1); version <= 2; version++ {
		f := c.send(wire.KeyProduce, version, nil)
		if o := f.answered(); !errors.Is(o.failure, errUnsupported) {
			t.Errorf("version %d: %+v, want the connection closed as unsupported", version, o)
		}
	}
}

func TestProduceAcksZero(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	if o := c.start(produceRequest(9, 0, "t", 0, batch(record.None, "a"))).answered(); !o.silent {
		t.Errorf("acks=0 that works: %+v, want no response", o)
	}
	if o := c.start(produceRequest(9, 0, "nowhere", 0, batch(record.None, "a"))).answered(); o.failure == nil {
		t.Errorf("acks=0 that fails: %+v, want the connection closed", o)
	}
	if got := c.fetched(c.fetchRequest(12, "t", 0, 0)); got.HighWatermark != 1 {
		t.Errorf("high watermark %d after one record with acks=0, want 1", got.HighWatermark)
	}
}

// TestProduceRefusals: what is refused, with which code, and that nothing is
// appended.
func TestProduceRefusals(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.topic("small", 1, "max.message.bytes", "100")
	c.topic("keyed", 1, "cleanup.policy", "compact")
	c.topic("segment", 1, "segment.bytes", "1048576", "max.message.bytes", "10000000")
	good := func() record.Batch { return batch(record.None, "a", "b") }
	edit := func(f func(record.Batch)) []byte {
		b := good()
		f(b)
		binary.BigEndian.PutUint32(b[17:], crc(b))
		return b
	}
	raw := func(f func(record.Batch)) []byte {
		b := good()
		f(b)
		return b
	}
	keyless := record.NewBuilder(record.None, record.DefaultLevel)
	keyless.Append(testNow.UnixMilli(), []byte("k"), []byte("v"), nil)
	keyless.Append(testNow.UnixMilli(), nil, []byte("v"), nil)
	old := record.NewBuilder(record.None, record.DefaultLevel)
	old.Append(1<<62, []byte("k"), []byte("v"), nil)

	for _, test := range []struct {
		name      string
		version   int16
		acks      int16
		topic     string
		partition int32
		records   []byte
		want      wire.ErrorCode
	}{
		{"unknown topic", 9, 1, "nowhere", 0, good(), wire.UnknownTopicOrPartition},
		{"unknown partition", 9, 1, "t", 1, good(), wire.UnknownTopicOrPartition},
		{"negative partition", 9, 1, "t", -1, good(), wire.UnknownTopicOrPartition},
		{"bad topic name", 9, 1, "../../etc/x", 0, good(), wire.InvalidTopicException},
		{"acks 2", 9, 2, "t", 0, good(), wire.InvalidRequiredAcks},
		{"acks -2", 9, -2, "t", 0, good(), wire.InvalidRequiredAcks},
		{"null records", 9, 1, "t", 0, nil, wire.InvalidRecord},
		{"no batch", 9, 1, "t", 0, []byte{}, wire.InvalidRecord},
		{"two batches", 9, 1, "t", 0, append(good(), good()...), wire.InvalidRecord},
		{"trailing bytes", 9, 1, "t", 0, append(good(), 1, 2, 3), wire.CorruptMessage},
		{"cut off", 9, 1, "t", 0, good()[:70], wire.CorruptMessage},
		{"crc", 9, 1, "t", 0, raw(func(b record.Batch) { b[len(b)-1] ^= 1 }), wire.CorruptMessage},
		{"length too long", 9, 1, "t", 0, raw(func(b record.Batch) { b[11]++ }), wire.CorruptMessage},
		{"length too short", 9, 1, "t", 0, raw(func(b record.Batch) { b[11]-- }), wire.CorruptMessage},
		{"magic 0", 9, 1, "t", 0, raw(func(b record.Batch) { b[16] = 0 }), wire.InvalidRecord},
		{"magic 1", 9, 1, "t", 0, raw(func(b record.Batch) { b[16] = 1 }), wire.InvalidRecord},
		{"magic 3", 9, 1, "t", 0, raw(func(b record.Batch) { b[16] = 3 }), wire.CorruptMessage},
		{"zstd before 7", 6, 1, "t", 0, batch(record.Zstd, "a"), wire.UnsupportedCompressionType},
		{"codec 7", 9, 1, "t", 0, edit(func(b record.Batch) { b[22] |= 7 }), wire.UnsupportedCompressionType},
		{"base offset", 9, 1, "t", 0, raw(func(b record.Batch) { b[7] = 1 }), wire.InvalidRecord},
		{"control batch", 9, 1, "t", 0, record.EndTxnMarker{TimestampMs: testNow.UnixMilli(), ProducerID: 1, Commit: true}.Batch(), wire.InvalidRecord},
		{"transactional", 9, 1, "t", 0, transactional(), wire.InvalidTxnState},
		{"count 0", 9, 1, "t", 0, edit(func(b record.Batch) { binary.BigEndian.PutUint32(b[57:], 0) }), wire.InvalidRecord},
		{"count lies", 9, 1, "t", 0, edit(func(b record.Batch) { binary.BigEndian.PutUint32(b[57:], 1e6) }), wire.InvalidRecord},
		{"last offset delta", 9, 1, "t", 0, edit(func(b record.Batch) { binary.BigEndian.PutUint32(b[23:], 7) }), wire.InvalidRecord},
		{"batch too large", 9, 1, "small", 0, batch(record.None, strings.Repeat("x", 200)), wire.MessageTooLarge},
		{"larger than a segment", 9, 1, "segment", 0, batch(record.None, strings.Repeat("x", 2<<20)), wire.RecordListTooLarge},
		{"no key on a compacted topic", 9, 1, "keyed", 0, keyless.Build(), wire.InvalidRecord},
		{"far future", 9, 1, "t", 0, old.Build(), wire.InvalidTimestamp},
		{"log append time from a client", 9, 1, "t", 0, edit(func(b record.Batch) { b[22] |= 8 }), wire.InvalidTimestamp},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := c.produced(produceRequest(test.version, test.acks, test.topic, test.partition, test.records))
			wantCode(t, "produce", p.ErrorCode, test.want)
			if p.BaseOffset != -1 {
				t.Errorf("base offset %d beside an error, want -1", p.BaseOffset)
			}
			if r := c.server.o.Replicas.Partition(test.topic, test.partition); r != nil && r.LogEndOffset() != 0 {
				t.Errorf("log end offset %d after a refused batch, want 0", r.LogEndOffset())
			}
		})
	}
}

// TestProduceRecordErrors: version 8 and later name the records that are wrong.
func TestProduceRecordErrors(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("keyed", 1, "cleanup.policy", "compact")
	b := record.NewBuilder(record.Gzip, record.DefaultLevel)
	b.Append(testNow.UnixMilli(), []byte("k"), []byte("v"), nil)
	b.Append(testNow.UnixMilli(), nil, []byte("v"), nil)
	p := c.produced(produceRequest(8, 1, "keyed", 0, b.Build()))
	wantCode(t, "produce", p.ErrorCode, wire.InvalidRecord)
	if len(p.ErrorRecords) != 1 || p.ErrorRecords[0].RelativeOffset != 1 || p.ErrorRecords[0].ErrorMessage == nil {
		t.Errorf("record errors %+v, want the one of record 1", p.ErrorRecords)
	}
	if p.ErrorMessage == nil {
		t.Error("no error message")
	}
}

// TestProducePartitionsAreIndependent: a bad batch spoils only its own partition,
// and a partition named twice is served in order.
func TestProducePartitionsAreIndependent(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("a", 2)
	c.topic("b", 1)
	req := produceRequest(9, 1, "a", 0, batch(record.None, "1"))
	bad := kmsg.NewProduceRequestTopicPartition()
	bad.Partition, bad.Records = 1, []byte("no batch at all")
	again := kmsg.NewProduceRequestTopicPartition()
	again.Partition, again.Records = 0, batch(record.None, "2", "3")
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, bad, again)
	req.Topics = append(req.Topics, produceRequest(9, 1, "b", 0, batch(record.None, "4")).Topics...)
	resp := do[*kmsg.ProduceResponse](c, req)
	got := resp.Topics[0].Partitions
	wantCode(t, "first", got[0].ErrorCode, wire.None)
	wantCode(t, "bad", got[1].ErrorCode, wire.CorruptMessage)
	wantCode(t, "same partition again", got[2].ErrorCode, wire.None)
	if got[0].BaseOffset != 0 || got[2].BaseOffset != 1 {
		t.Errorf("base offsets %d and %d, want 0 and 1: in the order of the request", got[0].BaseOffset, got[2].BaseOffset)
	}
	wantCode(t, "other topic", resp.Topics[1].Partitions[0].ErrorCode, wire.None)
}

func TestProduceIdempotent(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	build := func(epoch int16, sequence int32) record.Batch {
		b := record.NewBuilder(record.None, record.DefaultLevel)
		b.Producer(42, epoch, sequence)
		b.Append(testNow.UnixMilli(), []byte("k"), []byte("v"), nil)
		return b.Build()
	}
	for _, step := range []struct {
		name     string
		epoch    int16
		sequence int32
		want     wire.ErrorCode
		base     int64
	}{
		{"any first sequence", 3, 10, wire.None, 0},
		{"next", 3, 11, wire.None, 1},
		{"duplicate gets its old offset", 3, 10, wire.None, 0},
		{"gap", 3, 13, wire.OutOfOrderSequenceNumber, -1},
		{"old epoch", 2, 12, wire.InvalidProducerEpoch, -1},
		{"new epoch not from 0", 4, 12, wire.OutOfOrderSequenceNumber, -1},
		{"new epoch", 4, 0, wire.None, 2},
	} {
		p := c.produced(produceRequest(9, -1, "t", 0, build(step.epoch, step.sequence)))
		wantCode(t, step.name, p.ErrorCode, step.want)
		if p.BaseOffset != step.base {
			t.Errorf("%s: base offset %d, want %d", step.name, p.BaseOffset, step.base)
		}
	}
}

func TestProduceLogAppendTime(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1, "message.timestamp.type", "LogAppendTime")
	c.clock.Advance(time.Minute)
	p := c.produced(produceRequest(9, 1, "t", 0, batch(record.None, "a")))
	if want := testNow.Add(time.Minute).UnixMilli(); p.LogAppendTime != want {
		t.Errorf("log append time %d, want the clock's %d", p.LogAppendTime, want)
	}
}

// elsewhere gives topic t a partition 0 that this broker leads with another
// broker in the in-sync set, and a partition 1 that another broker leads.
func elsewhere(c *cluster) {
	id := znode.TopicID{7}
	c.apply(
		controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t", Partition: 0}, TopicID: id, Leader: 1, LeaderEpoch: 5, ISR: replica.Members(1, 2), Replicas: []int32{1, 2}},
		controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t", Partition: 1}, TopicID: id, Leader: 2, LeaderEpoch: 6, ISR: replica.Members(2), Replicas: []int32{1, 2}},
	)
	c.brokers(znode.Broker{ID: 1, Host: "127.0.0.1", Port: 9092}, znode.Broker{ID: 2, Host: "127.0.0.1", Port: 9093, Rack: "r"})
}

// TestProduceWaitsForReplicas: acks=all is not answered before the high
// watermark passes the batch, and not by it when leadership moves.
func TestProduceWaitsForReplicas(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	waits := func() (*kmsg.ProduceRequest, *fakeRequest) {
		req := produceRequest(9, -1, "t", 0, batch(record.None, "a"))
		f := c.start(req)
		if !f.waiting() {
			t.Fatal("acks=all was answered although a member of the in-sync set has nothing")
		}
		return req, f
	}
	code := func(req *kmsg.ProduceRequest, f *fakeRequest) int16 {
		return decode[*kmsg.ProduceResponse](t, req, f.answered()).Topics[0].Partitions[0].ErrorCode
	}
	p := c.produced(produceRequest(9, 1, "t", 0, batch(record.None, "a")))
	wantCode(t, "acks=1", p.ErrorCode, wire.None)

	req, f := waits()
	c.clock.Advance(1100 * time.Millisecond)
	wantCode(t, "after the timeout", code(req, f), wire.RequestTimedOut)

	req, f = waits()
	shrink := controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t", Partition: 0}, TopicID: znode.TopicID{7},
		Leader: 1, LeaderEpoch: 5, PartitionEpoch: 1, ISR: replica.Members(1), Replicas: []int32{1, 2}}
	c.apply(shrink)
	wantCode(t, "once the in-sync set is the leader alone", code(req, f), wire.None)

	shrink.PartitionEpoch, shrink.ISR = 2, replica.Members(1, 2)
	c.apply(shrink)
	req, f = waits()
	shrink.LeaderEpoch, shrink.Leader = 6, 2
	c.apply(shrink)
	wantCode(t, "once another broker leads", code(req, f), wire.NotLeaderOrFollower)
	if got := c.server.Parked(); got != 0 {
		t.Errorf("%d requests are parked at the end, want none", got)
	}
}

func TestProduceMinInsyncReplicas(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1, "min.insync.replicas", "2")
	wantCode(t, "acks=all of the only replica", c.produced(produceRequest(9, -1, "t", 0, batch(record.None, "a"))).ErrorCode, wire.None)
	info := c.server.o.Replicas.Topic("t")
	c.apply(controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t", Partition: 0}, TopicID: znode.TopicID(info.ID),
		Leader: 1, LeaderEpoch: 7, ISR: replica.Members(1), Replicas: []int32{1, 2}})
	wantCode(t, "acks=all", c.produced(produceRequest(9, -1, "t", 0, batch(record.None, "a"))).ErrorCode, wire.NotEnoughReplicas)
	wantCode(t, "acks=1", c.produced(produceRequest(9, 1, "t", 0, batch(record.None, "a"))).ErrorCode, wire.None)
}

func TestProduceElsewhere(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	resp := do[*kmsg.ProduceResponse](c, produceRequest(10, 1, "t", 1, batch(record.None, "a")))
	p := resp.Topics[0].Partitions[0]
	if len(resp.Brokers) != 1 || resp.Brokers[0].NodeID != 2 || resp.Brokers[0].Port != 9093 {
		t.Errorf("brokers %+v, want broker 2 at port 9093", resp.Brokers)
	}
	wantCode(t, "not the leader", p.ErrorCode, wire.NotLeaderOrFollower)
	if p.CurrentLeader.LeaderID != 2 || p.CurrentLeader.LeaderEpoch != 6 {
		t.Errorf("current leader %+v, want broker 2 of epoch 6", p.CurrentLeader)
	}
}

// TestProduceInternalTopic: coordinators' topics are not clients' to write
// (fault S07).
func TestProduceInternalTopic(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("__consumer_offsets", 1)
	p := c.produced(produceRequest(9, 1, "__consumer_offsets", 0, batch(record.None, "a")))
	wantCode(t, "internal topic", p.ErrorCode, wire.InvalidTopicException)
}

// TestProduceMalformed: a body that is not what its version promises closes the
// connection, and nothing of it is appended.
func TestProduceMalformed(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	for version := int16(3); version <= 11; version++ {
		whole := produceRequest(version, 1, "t", 0, batch(record.None, "a")).AppendTo(nil)
		for cut := range whole {
			if o := c.send(wire.KeyProduce, version, whole[:cut:cut]).answered(); !errors.Is(o.failure, wire.ErrMalformed) {
				t.Fatalf("version %d cut at %d of %d: %+v, want it closed as malformed", version, cut, len(whole), o)
			}
		}
	}
	if got := c.server.o.Replicas.Partition("t", 0).LogEndOffset(); got != 0 {
		t.Errorf("log end offset %d after malformed requests, want 0", got)
	}
}

func TestProduceTooManyPartitions(t *testing.T) {
	c := newCluster(t, nil)
	req := produceRequest(3, 1, "t", 0, nil)
	req.Topics[0].Partitions = make([]kmsg.ProduceRequestTopicPartition, maxPartitions+1)
	if o := c.start(req).answered(); !errors.Is(o.failure, wire.ErrMalformed) {
		t.Errorf("more than %d partitions: %v, want it closed as malformed", maxPartitions, o.failure)
	}
}

// TestProduceNegativeTimeout waits for nothing.
func TestProduceNegativeTimeout(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	req := produceRequest(9, -1, "t", 0, batch(record.None, "a"))
	req.TimeoutMillis = -5
	f := c.start(req)
	c.clock.Advance(2 * time.Millisecond)
	p := decode[*kmsg.ProduceResponse](t, req, f.answered()).Topics[0].Partitions[0]
	wantCode(t, "negative timeout", p.ErrorCode, wire.RequestTimedOut)
}
