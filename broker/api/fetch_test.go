package api

import (
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

func TestFetchEveryVersion(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 2)
	c.produce("t", 1, batch(record.None, "a", "b"))
	c.produce("t", 1, batch(record.Gzip, "c"))
	for version := int16(4); version <= 17; version++ {
		for _, isolation := range []int8{0, 1} {
			req := c.fetchRequest(version, "t", 1, 0)
			req.IsolationLevel = isolation
			resp := do[*kmsg.FetchResponse](c, req)
			if resp.ErrorCode != 0 || resp.SessionID != 0 {
				t.Errorf("version %d: error %d, session %d; want none", version, resp.ErrorCode, resp.SessionID)
			}
			if version >= 13 && resp.Topics[0].TopicID != req.Topics[0].TopicID {
				t.Errorf("version %d: topic id %x, want %x", version, resp.Topics[0].TopicID, req.Topics[0].TopicID)
			}
			if version < 13 && resp.Topics[0].Topic != "t" {
				t.Errorf("version %d: topic %q, want t", version, resp.Topics[0].Topic)
			}
			p := resp.Topics[0].Partitions[0]
			if diff := cmp.Diff([]string{"a", "b", "c"}, values(t, p.RecordBatches)); diff != "" {
				t.Errorf("version %d: records differ (-want +got):\n%s", version, diff)
			}
			if p.Partition != 1 || p.HighWatermark != 3 || p.LastStableOffset != 3 || p.PreferredReadReplica != -1 {
				t.Errorf("version %d: %+v, want partition 1 with everything at 3", version, p)
			}
			if (p.AbortedTransactions != nil) != (isolation == 1) {
				t.Errorf("version %d, isolation %d: aborted transactions %v, want null unless read_committed", version, isolation, p.AbortedTransactions)
			}
		}
	}
}

// TestFetchOffsets: what each offset answers.
func TestFetchOffsets(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c) // partition 0: appended beyond the high watermark
	c.topic("here", 1)
	c.produce("here", 0, batch(record.None, "a", "b", "c"))
	c.produce("here", 0, batch(record.None, "d"))
	c.produce("t", 0, batch(record.None, "a", "b"))
	deleted := kmsg.NewPtrDeleteRecordsRequest()
	deleted.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "here", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 1}}}}
	do[*kmsg.DeleteRecordsResponse](c, deleted)
	for _, test := range []struct {
		name   string
		topic  string
		offset int64
		want   wire.ErrorCode
		values []string
	}{
		{"start", "here", 1, 0, []string{"a", "b", "c", "d"}},
		{"inside a batch: the whole batch", "here", 2, 0, []string{"a", "b", "c", "d"}},
		{"second batch", "here", 3, 0, []string{"d"}},
		{"end", "here", 4, 0, nil},
		{"beyond the end", "here", 5, wire.OffsetOutOfRange, nil},
		{"before the start", "here", 0, wire.OffsetOutOfRange, nil},
		{"-5", "here", -5, wire.OffsetOutOfRange, nil},
		{"2^63-1", "here", math.MaxInt64, wire.OffsetOutOfRange, nil},
		{"at the high watermark below the end", "t", 0, 0, nil},
		{"between high watermark and end", "t", 1, 0, nil},
		{"at the end above the high watermark", "t", 2, 0, nil},
		{"beyond the end above the high watermark", "t", 3, wire.OffsetOutOfRange, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := c.fetched(c.fetchRequest(12, test.topic, 0, test.offset))
			wantCode(t, "fetch", p.ErrorCode, test.want)
			if diff := cmp.Diff(test.values, values(t, p.RecordBatches)); diff != "" {
				t.Errorf("records differ (-want +got):\n%s", diff)
			}
			if p.HighWatermark < 0 || p.LastStableOffset < 0 || p.LogStartOffset < 0 {
				t.Errorf("offsets %d, %d, %d: a partition that is here tells them beside errors too", p.HighWatermark, p.LastStableOffset, p.LogStartOffset)
			}
		})
	}
}

func TestFetchErrors(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	for _, test := range []struct {
		name      string
		version   int16
		topic     string
		partition int32
		epoch     int32
		want      wire.ErrorCode
	}{
		{"unknown topic", 12, "nowhere", 0, -1, wire.UnknownTopicOrPartition},
		{"unknown topic id", 13, "nowhere", 0, -1, wire.UnknownTopicID},
		{"bad name", 12, "a/b", 0, -1, wire.InvalidTopicException},
		{"unknown partition", 13, "t", 9, -1, wire.UnknownTopicOrPartition},
		{"not the leader", 17, "t", 1, -1, wire.NotLeaderOrFollower},
		{"old leader epoch", 12, "t", 0, 4, wire.FencedLeaderEpoch},
		{"current leader epoch", 12, "t", 0, 5, wire.None},
		{"future leader epoch", 12, "t", 0, math.MaxInt32, wire.UnknownLeaderEpoch},
	} {
		t.Run(test.name, func(t *testing.T) {
			req := c.fetchRequest(test.version, test.topic, test.partition, 0)
			req.MaxWaitMillis = 10_000 // an error is told at once
			req.Topics[0].Partitions[0].CurrentLeaderEpoch = test.epoch
			if test.want == wire.None {
				req.MaxWaitMillis = 0
			}
			if test.version >= 13 && test.topic == "nowhere" {
				req.Topics[0].TopicID = [16]byte{99}
			}
			resp := do[*kmsg.FetchResponse](c, req)
			p := resp.Topics[0].Partitions[0]
			wantCode(t, "fetch", p.ErrorCode, test.want)
			if test.want == wire.UnknownTopicOrPartition && (p.HighWatermark != -1 || p.LastStableOffset != -1 || p.LogStartOffset != -1) {
				t.Errorf("offsets of an unknown partition are %d, %d, %d; want -1", p.HighWatermark, p.LastStableOffset, p.LogStartOffset)
			}
			if test.want == wire.NotLeaderOrFollower {
				if p.CurrentLeader.LeaderID != 2 || p.CurrentLeader.LeaderEpoch != 6 || len(resp.Brokers) != 1 || resp.Brokers[0].Port != 9093 {
					t.Errorf("current leader %+v at %+v, want broker 2 of epoch 6 at port 9093", p.CurrentLeader, resp.Brokers)
				}
			}
		})
	}
}

// TestFetchLimits: the first batch comes whole, whatever the limits; the rest
// stops at them.
func TestFetchLimits(t *testing.T) {
	c := newCluster(t, map[string]string{"fetch.max.bytes": "4096"})
	c.topic("t", 3)
	big := strings.Repeat("x", 1000)
	size := len(batch(record.None, big))
	for p := range int32(3) {
		for range 5 {
			c.produce("t", p, batch(record.None, big))
		}
	}
	fetch := func(maxBytes, partitionMaxBytes int32) (got []int) {
		req := c.fetchRequest(12, "t", 0, 0)
		req.MaxBytes = maxBytes
		first := req.Topics[0].Partitions[0]
		first.PartitionMaxBytes = partitionMaxBytes
		req.Topics[0].Partitions = nil
		for p := range int32(3) {
			first.Partition = p
			req.Topics[0].Partitions = append(req.Topics[0].Partitions, first)
		}
		for _, p := range do[*kmsg.FetchResponse](c, req).Topics[0].Partitions {
			wantCode(t, "fetch", p.ErrorCode, wire.None)
			if len(p.RecordBatches)%size != 0 {
				t.Errorf("%d bytes are no whole number of batches of %d", len(p.RecordBatches), size)
			}
			got = append(got, len(p.RecordBatches)/size)
		}
		return got
	}
	for _, test := range []struct {
		maxBytes, partitionMaxBytes int32
		want                        []int // batches per partition
	}{
		{1 << 20, int32(2*size + 10), []int{2, 1, 0}}, // fetch.max.bytes holds three
		{int32(2 * size), int32(size), []int{1, 1, 0}},
		{1, 1, []int{1, 0, 0}},
		{0, 0, []int{1, 0, 0}},
		{-1, -1, []int{1, 0, 0}},
		{math.MaxInt32, math.MaxInt32, []int{3, 0, 0}},
	} {
		if diff := cmp.Diff(test.want, fetch(test.maxBytes, test.partitionMaxBytes)); diff != "" {
			t.Errorf("max %d, per partition %d: batches differ (-want +got):\n%s", test.maxBytes, test.partitionMaxBytes, diff)
		}
	}
}

// TestFetchTwoThousandPartitions is fault O07: each has a megabyte, the response
// stays below the broker's bound.
func TestFetchTwoThousandPartitions(t *testing.T) {
	c := newCluster(t, map[string]string{"fetch.max.bytes": "1048576"})
	const partitions = 2000
	c.topic("t", partitions)
	value := strings.Repeat("x", 4000)
	for p := range int32(partitions) {
		c.produce("t", p, batch(record.None, value))
	}
	req := c.fetchRequest(12, "t", 0, 0)
	req.MaxBytes = math.MaxInt32
	first := req.Topics[0].Partitions[0]
	req.Topics[0].Partitions = nil
	for p := range int32(partitions) {
		first.Partition = p
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, first)
	}
	resp := do[*kmsg.FetchResponse](c, req)
	total, answered := 0, 0
	for _, p := range resp.Topics[0].Partitions {
		total += len(p.RecordBatches)
		answered++
	}
	if answered != partitions || total == 0 || total > 1<<20 {
		t.Errorf("%d partitions with %d bytes, want all %d with at most %d", answered, total, partitions, 1<<20)
	}
}

// TestFetchMillionPartitions is fault B16: what is refused costs no more than
// what came.
func TestFetchMillionPartitions(t *testing.T) {
	c := newCluster(t, nil)
	req := c.fetchRequest(4, "nowhere", 0, 0)
	req.Topics[0].Partitions = make([]kmsg.FetchRequestTopicPartition, 1_000_000)
	body := req.AppendTo(nil)
	before := allocated()
	o := c.send(wire.KeyFetch, 4, body).answered()
	if spent := allocated() - before; spent > 64<<20 {
		t.Errorf("%d bytes were allocated for a request of %d", spent, len(body))
	}
	if !errors.Is(o.failure, wire.ErrMalformed) {
		t.Errorf("10^6 partitions: %v, want it closed as malformed", o.failure)
	}
	req.Topics[0].Partitions = req.Topics[0].Partitions[:maxPartitions]
	resp := do[*kmsg.FetchResponse](c, req)
	if got := len(resp.Topics[0].Partitions); got != maxPartitions {
		t.Errorf("%d partitions were answered, want %d", got, maxPartitions)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// poll starts a fetch that waits.
func (c *cluster) poll(topic string, offset int64, minBytes, maxWaitMs int32) (*kmsg.FetchRequest, *fakeRequest) {
	req := c.fetchRequest(12, topic, 0, offset)
	req.MinBytes, req.MaxWaitMillis = minBytes, maxWaitMs
	return req, c.start(req)
}

func TestFetchLongPoll(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.topic("other", 1)
	size := len(batch(record.None, "a"))

	req, f := c.poll("t", 0, 1, 500)
	c.produce("other", 0, batch(record.None, "a"))
	if !f.waiting() {
		t.Fatal("a poll was answered by another partition's records")
	}
	c.produce("t", 0, batch(record.None, "a"))
	p := decode[*kmsg.FetchResponse](t, req, f.answered()).Topics[0].Partitions[0]
	if diff := cmp.Diff([]string{"a"}, values(t, p.RecordBatches)); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}

	req, f = c.poll("t", 1, int32(2*size), 500)
	c.produce("t", 0, batch(record.None, "b"))
	if !f.waiting() {
		t.Fatal("a poll for more bytes was answered early")
	}
	c.produce("t", 0, batch(record.None, "c"))
	p = decode[*kmsg.FetchResponse](t, req, f.answered()).Topics[0].Partitions[0]
	if diff := cmp.Diff([]string{"b", "c"}, values(t, p.RecordBatches)); diff != "" {
		t.Errorf("records differ (-want +got):\n%s", diff)
	}

	req, f = c.poll("t", 3, 1, 500)
	c.clock.Advance(499 * time.Millisecond)
	if !f.waiting() {
		t.Fatal("a poll was answered before its time")
	}
	c.clock.Advance(2 * time.Millisecond)
	p = decode[*kmsg.FetchResponse](t, req, f.answered()).Topics[0].Partitions[0]
	if len(p.RecordBatches) != 0 || p.HighWatermark != 3 {
		t.Errorf("at the deadline: %d bytes and high watermark %d, want none and 3", len(p.RecordBatches), p.HighWatermark)
	}

	_, f = c.poll("t", 3, 0, 500)
	f.answered() // min.bytes 0 waits for nothing
	_, f = c.poll("t", 4, 1, 500)
	f.answered() // an error waits for nothing

	req, f = c.poll("t", 3, math.MaxInt32, 500)
	req.Topics = nil
	if f2 := c.start(req); f2.waiting() {
		t.Error("a fetch of nothing waits")
	}
	if !f.waiting() {
		t.Fatal("min.bytes over max.bytes was answered with nothing there")
	}
	c.clock.Advance(time.Second)
	f.answered()
	if got := c.server.Parked(); got != 0 {
		t.Errorf("%d requests are parked at the end, want none", got)
	}
}

// TestFetchLongPollEnds: a poll ends with its topic and with its client.
func TestFetchLongPollEnds(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.topic("stays", 1)
	req, f := c.poll("t", 0, 1, 500)
	if err := c.control.DeleteTopic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	p := decode[*kmsg.FetchResponse](t, req, f.answered()).Topics[0].Partitions[0]
	wantCode(t, "topic deleted", p.ErrorCode, wire.UnknownTopicOrPartition)

	_, f = c.poll("stays", 0, 1, 500)
	f.disconnect()
	if o := f.answered(); !o.silent {
		t.Errorf("client gone: %+v, want no answer", o)
	}
	if got := c.server.Parked(); got != 0 {
		t.Errorf("%d requests are parked at the end, want none", got)
	}
}

// TestFetchFiftyThousandParked is fault O06: each poll costs little, and only the
// right ones wake.
func TestFetchFiftyThousandParked(t *testing.T) {
	c := newCluster(t, nil)
	const polls, partitions = 50_000, 100
	c.topic("t", partitions)
	body := make([][]byte, partitions)
	for p := range body {
		req := c.fetchRequest(12, "t", int32(p), 0)
		req.MaxWaitMillis = 30_000
		body[p] = req.AppendTo(nil)
	}
	parked := make([]*fakeRequest, polls)
	for i := range parked {
		parked[i] = newFakeRequest(t)
	}
	before := heapInUse()
	for i, f := range parked {
		c.server.serve(call{header: wire.Header{Key: 1, Version: 12, CorrelationID: 7}, body: body[i%partitions], to: f})
	}
	each := float64(heapInUse()-before) / polls
	t.Logf("%.0f bytes per parked fetch", each)
	if each > 1024 {
		t.Errorf("a parked fetch takes %.0f bytes, want at most 1024", each)
	}
	if got := c.server.Parked(); got != polls {
		t.Fatalf("%d are parked, want %d", got, polls)
	}
	c.produce("t", 42, batch(record.None, "a"))
	for i, f := range parked {
		if f.waiting() != (i%partitions != 42) {
			t.Fatalf("poll %d of partition %d: waiting is %v after a record of partition 42", i, i%partitions, f.waiting())
		}
		f.disconnect()
	}
	if got := c.server.Parked(); got != 0 {
		t.Errorf("%d are parked after all clients left", got)
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFetchZstd: a client from before zstd gets an error instead of batches that
// it cannot read.
func TestFetchZstd(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.produce("t", 0, batch(record.None, "a"))
	wantCode(t, "no zstd yet", c.fetched(c.fetchRequest(9, "t", 0, 0)).ErrorCode, wire.None)
	c.produce("t", 0, batch(record.Zstd, "b"))
	p := c.fetched(c.fetchRequest(9, "t", 0, 0))
	wantCode(t, "zstd in version 9", p.ErrorCode, wire.UnsupportedCompressionType)
	if p.HighWatermark != 2 {
		t.Errorf("high watermark %d beside the error, want 2", p.HighWatermark)
	}
	p = c.fetched(c.fetchRequest(10, "t", 0, 0))
	if diff := cmp.Diff([]string{"a", "b"}, values(t, p.RecordBatches)); diff != "" {
		t.Errorf("version 10: records differ (-want +got):\n%s", diff)
	}
}

func TestFetchSessionUnknown(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	req := c.fetchRequest(12, "t", 0, 0)
	req.SessionID, req.SessionEpoch = 5, 1
	resp := do[*kmsg.FetchResponse](c, req)
	wantCode(t, "session that was never given", resp.ErrorCode, wire.FetchSessionIDNotFound)
	if len(resp.Topics) != 0 {
		t.Errorf("%d topics beside a session error, want none", len(resp.Topics))
	}
}

// TestFetchDivergingEpoch: a fetcher whose last epoch ended earlier here is told
// where.
func TestFetchDivergingEpoch(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.produce("t", 0, batch(record.None, "a", "b"))
	req := c.fetchRequest(12, "t", 0, 1)
	req.Topics[0].Partitions[0].LastFetchedEpoch = 0
	if p := c.fetched(req); p.DivergingEpoch.EndOffset != -1 || len(p.RecordBatches) == 0 {
		t.Errorf("same history: %+v and %d bytes, want records", p.DivergingEpoch, len(p.RecordBatches))
	}
	req.Topics[0].Partitions[0].LastFetchedEpoch = 3
	wantCode(t, "an epoch that is not known here", c.fetched(req).ErrorCode, wire.OffsetOutOfRange)

	next := controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t"}, TopicID: req.Topics[0].TopicID,
		Leader: 1, LeaderEpoch: 4, ISR: replica.Members(1), Replicas: []int32{1}}
	c.apply(next)
	c.produce("t", 0, batch(record.None, "c"))
	req.Topics[0].Partitions[0].FetchOffset = 3
	req.Topics[0].Partitions[0].LastFetchedEpoch = 0
	p := c.fetched(req)
	if len(p.RecordBatches) != 0 || p.DivergingEpoch.Epoch != 0 || p.DivergingEpoch.EndOffset != 2 {
		t.Errorf("records of epoch 0 beyond its end at 2: %+v and %d bytes, want the divergence and no records", p.DivergingEpoch, len(p.RecordBatches))
	}
}

func TestFetchMalformed(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	for version := int16(4); version <= 17; version++ {
		req := c.fetchRequest(version, "t", 0, 0)
		req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "gone", Partitions: []int32{1, 2}}}
		req.Rack = "r"
		whole := req.AppendTo(nil)
		if o := c.send(wire.KeyFetch, version, whole).answered(); o.frame == nil {
			t.Fatalf("version %d: %+v, want an answer", version, o)
		}
		for cut := range whole {
			if o := c.send(wire.KeyFetch, version, whole[:cut:cut]).answered(); !errors.Is(o.failure, wire.ErrMalformed) {
				t.Fatalf("version %d cut at %d of %d: %+v, want it closed as malformed", version, cut, len(whole), o)
			}
		}
	}
}

// TestFetchMinBytesOverMaxBytes: a full response does not wait for bytes that it
// could not carry.
func TestFetchMinBytesOverMaxBytes(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	for range 3 {
		c.produce("t", 0, batch(record.None, strings.Repeat("x", 500)))
	}
	req := c.fetchRequest(12, "t", 0, 0)
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = 1000, math.MaxInt32, 500
	if f := c.start(req); f.waiting() {
		t.Error("a fetch waits although max.bytes are there")
	}
}

// TestFetchByReplicas: a replica reads to the log end, a stranger that claims to be
// one nothing.
func TestFetchByReplicas(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	c.produce("t", 0, batch(record.None, "a"))
	for _, version := range []int16{12, 17} {
		for replica, want := range map[int32]wire.ErrorCode{2: wire.None, 5: wire.NotLeaderOrFollower} {
			req := c.fetchRequest(version, "t", 0, 0)
			req.ReplicaID, req.ReplicaState.ID = replica, replica
			p := c.fetched(req)
			wantCode(t, "replica", p.ErrorCode, want)
			if got := len(p.RecordBatches) > 0; got != (want == wire.None) {
				t.Errorf("version %d, replica %d: records are %v", version, replica, got)
			}
		}
	}
}
