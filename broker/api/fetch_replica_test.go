package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// follower is the fetch of broker 2 from t-0, which follows epoch 5.
func (c *cluster) follower(offset int64, lastEpoch int32, maxWaitMs int32) *kmsg.FetchRequest {
	req := c.fetchRequest(17, "t", 0, offset)
	req.ReplicaState.ID, req.ReplicaState.Epoch = 2, 10
	req.MaxWaitMillis, req.MinBytes = maxWaitMs, 1
	p := &req.Topics[0].Partitions[0]
	p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.ReplicaDirectoryID = 5, lastEpoch, [16]byte{2}
	return req
}

// fetchedPart is the answer of a request's only partition.
func (c *cluster) fetchedPart(req *kmsg.FetchRequest, f *fakeRequest) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	if f.waiting() {
		c.t.Fatal("the fetch waits")
	}
	return decode[*kmsg.FetchResponse](c.t, req, f.answered()).Topics[0].Partitions[0]
}

// TestFollowerFetches: a follower's offset moves the high watermark, of which it is
// told at once; then it waits for records, and for the end of the leadership.
func TestFollowerFetches(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	c.produce("t", 0, batch(record.None, "a"))
	p := c.fetched(c.follower(0, -1, 10_000))
	if p.HighWatermark != 0 || len(p.RecordBatches) == 0 {
		t.Errorf("high watermark %d and %d bytes, want 0 and the record", p.HighWatermark, len(p.RecordBatches))
	}
	if p = c.fetched(c.follower(1, 5, 10_000)); p.HighWatermark != 1 || len(p.RecordBatches) > 0 {
		t.Errorf("high watermark %d and %d bytes, want 1 told at once", p.HighWatermark, len(p.RecordBatches))
	}
	req := c.follower(1, 5, 10_000)
	f := c.start(req)
	if !f.waiting() {
		t.Fatal("a follower that knows everything is answered")
	}
	c.produce("t", 0, batch(record.None, "b"))
	if p = c.fetchedPart(req, f); p.HighWatermark != 1 || len(p.RecordBatches) == 0 {
		t.Errorf("high watermark %d and %d bytes, want 1 and the record", p.HighWatermark, len(p.RecordBatches))
	}
	req = c.follower(2, 5, 10_000)
	wantCode(t, "the second record", c.fetchedPart(req, c.start(req)).ErrorCode, wire.None)
	f = c.start(req)
	c.apply(controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{7}, Leader: 2, LeaderEpoch: 6, ISR: replica.Members(1, 2), Replicas: []int32{1, 2}})
	wantCode(t, "once another leads", c.fetchedPart(req, f).ErrorCode, wire.FencedLeaderEpoch)
}

func TestFollowerRefusals(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	c.produce("t", 0, batch(record.None, "a"))
	p := c.fetched(c.follower(9, -1, 0))
	wantCode(t, "beyond the log", p.ErrorCode, wire.OffsetOutOfRange)
	if p.LogStartOffset != 0 || p.LastStableOffset != 1 {
		t.Errorf("out of range of %d to %d, want 0 to 1", p.LogStartOffset, p.LastStableOffset)
	}
	if p = c.fetched(c.follower(9, 5, 0)); p.ErrorCode != 0 || p.DivergingEpoch.Epoch != 5 || p.DivergingEpoch.EndOffset != 1 {
		t.Errorf("with records of epoch 5 up to 9: %s, %+v, want epoch 5 to end at 1", wire.ErrorCode(p.ErrorCode), p.DivergingEpoch)
	}
	for name, test := range map[string]struct {
		change func(*kmsg.FetchRequest)
		want   wire.ErrorCode
	}{
		"old leader epoch":   {func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = 4 }, wire.FencedLeaderEpoch},
		"later leader epoch": {func(r *kmsg.FetchRequest) { r.Topics[0].Partitions[0].CurrentLeaderEpoch = 6 }, wire.UnknownLeaderEpoch},
		"earlier life":       {func(r *kmsg.FetchRequest) { r.ReplicaState.Epoch = 9 }, wire.StaleBrokerEpoch},
		"no replica":         {func(r *kmsg.FetchRequest) { r.ReplicaState.ID = 3 }, wire.NotLeaderOrFollower},
	} {
		req := c.follower(0, -1, 0)
		test.change(req)
		wantCode(t, name, c.fetched(req).ErrorCode, test.want)
	}
}

// TestConsumerFromFollower: with the rack-aware selector a consumer is sent to the
// in-sync replica in its rack that has what it asks for, and a follower serves it.
func TestConsumerFromFollower(t *testing.T) {
	c := newCluster(t, map[string]string{"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"})
	elsewhere(c)
	c.produce("t", 0, batch(record.None, "a"))
	c.fetched(c.follower(1, 5, 0))
	for rack, want := range map[string]int32{"r": 2, "elsewhere": -1, "": -1} {
		req := c.fetchRequest(12, "t", 0, 0)
		req.Rack = rack
		p := c.fetched(req)
		if p.PreferredReadReplica != want || len(p.RecordBatches) == 0 != (want >= 0) {
			t.Errorf("rack %q: sent to %d with %d bytes, want %d", rack, p.PreferredReadReplica, len(p.RecordBatches), want)
		}
	}
	req := c.fetchRequest(12, "t", 0, 2)
	req.Rack = "r"
	if p := c.fetched(req); p.PreferredReadReplica != -1 {
		t.Errorf("sent to %d, which does not have what is asked for", p.PreferredReadReplica)
	}
	wantCode(t, "a consumer of a follower", c.fetched(c.fetchRequest(12, "t", 1, 0)).ErrorCode, wire.None)
	wantCode(t, "one that does not know followers", c.fetched(c.fetchRequest(10, "t", 1, 0)).ErrorCode, wire.NotLeaderOrFollower)
}

// TestOffsetNotAvailable: a new leader whose high watermark is behind its epoch's start
// does not tell consumers an earlier end than they may have seen.
func TestOffsetNotAvailable(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	c.produce("t", 0, batch(record.None, "a"))
	next := controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{7}, Leader: 2, LeaderEpoch: 6, ISR: replica.Members(1, 2), Replicas: []int32{1, 2}}
	c.apply(next)
	next.Leader, next.LeaderEpoch = 1, 7
	c.apply(next)
	wantCode(t, "behind the high watermark that may have been", c.fetched(c.fetchRequest(12, "t", 0, 1)).ErrorCode, wire.OffsetNotAvailable)
	wantCode(t, "at the high watermark", c.fetched(c.fetchRequest(12, "t", 0, 0)).ErrorCode, wire.None)
	req := c.follower(1, 5, 0)
	req.Topics[0].Partitions[0].CurrentLeaderEpoch = 7
	wantCode(t, "the follower", c.fetched(req).ErrorCode, wire.None)
	wantCode(t, "once it is known", c.fetched(c.fetchRequest(12, "t", 0, 1)).ErrorCode, wire.None)
}
