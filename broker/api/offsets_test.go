package api

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/coordinator/znode"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// listRequest asks for one timestamp of partition 0.
func listRequest(version int16, topic string, timestamp int64) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = version
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp = timestamp
	req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: topic, Partitions: []kmsg.ListOffsetsRequestTopicPartition{p}}}
	return req
}

func TestListOffsets(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.topic("empty", 1)
	now := testNow.UnixMilli()
	at := func(codec record.Codec, deltas ...int64) record.Batch {
		b := record.NewBuilder(codec, record.DefaultLevel)
		for _, d := range deltas {
			b.Append(now+d, []byte("k"), []byte("v"), nil)
		}
		return b.Build()
	}
	c.produce("t", 0, at(record.None, 0, 10))       // offsets 0, 1
	c.produce("t", 0, at(record.Gzip, 20, 500, 30)) // offsets 2, 3, 4
	c.produce("t", 0, at(record.None, 40))          // offset 5
	deleted := kmsg.NewPtrDeleteRecordsRequest()
	deleted.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 1}}}}
	do[*kmsg.DeleteRecordsResponse](c, deleted)

	for _, test := range []struct {
		name               string
		topic              string
		timestamp          int64
		from               int16 // the first version that knows the timestamp
		offset, timestamp2 int64
	}{
		{"latest", "t", -1, 1, 6, -1},
		{"earliest", "t", -2, 1, 1, -1},
		{"largest timestamp", "t", -3, 7, 3, now + 500},
		{"earliest local", "t", -4, 8, 1, -1},
		{"latest tiered: nothing is", "t", -5, 9, -1, -1},
		{"not a timestamp", "t", -6, 100, -1, -1},
		{"record", "t", now + 10, 1, 1, now + 10},
		{"inside a compressed batch", "t", now + 21, 1, 3, now + 500},
		{"first record of a batch", "t", now + 11, 1, 2, now + 20},
		{"after all", "t", now + 501, 1, -1, -1},
		{"latest of an empty log", "empty", -1, 1, 0, -1},
		{"earliest of an empty log", "empty", -2, 1, 0, -1},
		{"largest timestamp of an empty log", "empty", -3, 7, -1, -1},
		{"record of an empty log", "empty", 0, 1, -1, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			for version := int16(1); version <= 9; version++ {
				for _, isolation := range []int8{0, 1} {
					req := listRequest(version, test.topic, test.timestamp)
					req.IsolationLevel = isolation
					p := do[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
					if version < test.from {
						wantCode(t, "before its version", p.ErrorCode, wire.UnsupportedVersion)
						continue
					}
					wantCode(t, "list", p.ErrorCode, wire.None)
					if p.Offset != test.offset || p.Timestamp != test.timestamp2 {
						t.Errorf("version %d: offset %d at %d, want %d at %d", version, p.Offset, p.Timestamp, test.offset, test.timestamp2)
					}
					if version >= 4 && test.offset > 0 && p.LeaderEpoch != 0 {
						t.Errorf("version %d: leader epoch %d, want 0", version, p.LeaderEpoch)
					}
				}
			}
		})
	}
}

func TestListOffsetsErrors(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	code := func(req *kmsg.ListOffsetsRequest) int16 {
		p := do[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]
		if p.ErrorCode != 0 && (p.Offset != -1 || p.Timestamp != -1) {
			t.Errorf("offset %d at %d beside an error, want -1 at -1", p.Offset, p.Timestamp)
		}
		return p.ErrorCode
	}
	wantCode(t, "unknown topic", code(listRequest(5, "nowhere", -1)), wire.UnknownTopicOrPartition)
	req := listRequest(5, "t", -1)
	req.Topics[0].Partitions[0].Partition = 1
	wantCode(t, "not the leader", code(req), wire.NotLeaderOrFollower)
	for epoch, want := range map[int32]wire.ErrorCode{-1: 0, 4: wire.FencedLeaderEpoch, 5: 0, 6: wire.UnknownLeaderEpoch, math.MaxInt32: wire.UnknownLeaderEpoch} {
		req := listRequest(5, "t", -1)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
		wantCode(t, "leader epoch", code(req), want)
	}
	req = listRequest(5, "t", -1)
	req.Topics[0].Partitions = append(req.Topics[0].Partitions, req.Topics[0].Partitions[0])
	wantCode(t, "a partition named twice", code(req), wire.InvalidRequest)
	if o := c.send(wire.KeyFetch+1, 0, nil).answered(); !errors.Is(o.failure, errUnsupported) {
		t.Errorf("version 0: %+v, want it closed", o)
	}
}

// TestListOffsetsBounds: consumers see offsets up to the high watermark, replicas
// up to the end.
func TestListOffsetsBounds(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	c.produce("t", 0, batch(record.None, "a", "b"))
	for replica, want := range map[int32]int64{-1: 0, -2: 2, 2: 2} {
		req := listRequest(5, "t", -1)
		req.ReplicaID = replica
		if p := do[*kmsg.ListOffsetsResponse](c, req).Topics[0].Partitions[0]; p.Offset != want {
			t.Errorf("replica id %d: latest is %d, want %d", replica, p.Offset, want)
		}
	}
	p := do[*kmsg.ListOffsetsResponse](c, listRequest(7, "t", testNow.UnixMilli())).Topics[0].Partitions[0]
	if p.Offset != -1 || p.Timestamp != -1 {
		t.Errorf("a record above the high watermark was found: %d at %d", p.Offset, p.Timestamp)
	}
}

// TestLatestOffsetNotAvailable: a new leader that does not know the high watermark says
// so in the words of each version (KIP-207), and the controller's Committed by it.
func TestLatestOffsetNotAvailable(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	c.produce("t", 0, batch(record.None, "a"))
	next := controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t"}, TopicID: znode.TopicID{7}, Leader: 2, LeaderEpoch: 6,
		ISR: replica.Members(1, 2), Replicas: []int32{1, 2}}
	c.apply(next)
	next.Leader, next.LeaderEpoch = 1, 7
	c.apply(next)
	for version, want := range map[int16]wire.ErrorCode{4: wire.LeaderNotAvailable, 5: wire.OffsetNotAvailable, 9: wire.OffsetNotAvailable} {
		p := do[*kmsg.ListOffsetsResponse](c, listRequest(version, "t", latestTimestamp)).Topics[0].Partitions[0]
		wantCode(t, fmt.Sprint("version ", version), p.ErrorCode, want)
	}
	question := controller.Committed{TopicPartition: next.TopicPartition, TopicID: next.TopicID, LeaderEpoch: 7}
	if yes, err := c.orders.Committed(t.Context(), question); yes || err != nil {
		t.Errorf("the epoch's start counts as committed: %v, %v", yes, err)
	}
	next.PartitionEpoch, next.ISR = 1, replica.Members(1)
	c.apply(next)
	if yes, err := c.orders.Committed(t.Context(), question); !yes || err != nil {
		t.Errorf("alone in its set the leader has not committed: %v, %v", yes, err)
	}
	question.LeaderEpoch = 6
	if _, err := c.orders.Committed(t.Context(), question); err == nil {
		t.Error("a question about another leader epoch was answered")
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	c := newCluster(t, nil)
	id := c.topic("t", 1)
	lead := func(epoch int32) {
		state := controller.PartitionState{TopicPartition: znode.TopicPartition{Topic: "t"}, TopicID: id,
			Leader: 1, LeaderEpoch: epoch, ISR: replica.Members(1), Replicas: []int32{1}}
		c.apply(state)
	}
	c.produce("t", 0, batch(record.None, "a", "b"))
	lead(3)
	c.produce("t", 0, batch(record.None, "c"))
	lead(5)
	for version := int16(2); version <= 4; version++ {
		for _, test := range []struct {
			name           string
			current, epoch int32
			want           wire.ErrorCode
			foundEpoch     int32
			end            int64
		}{
			{"first", -1, 0, 0, 0, 2},
			{"between epochs: the one before", -1, 2, 0, 0, 2},
			{"middle", -1, 3, 0, 3, 3},
			{"current, without records", 5, 5, 0, 5, 3},
			{"future", -1, 9, 0, -1, -1},
			{"old caller", 4, 3, wire.FencedLeaderEpoch, -1, -1},
			{"caller from the future", 6, 3, wire.UnknownLeaderEpoch, -1, -1},
		} {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			req.Version = version
			p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			p.CurrentLeaderEpoch, p.LeaderEpoch = test.current, test.epoch
			req.Topics = []kmsg.OffsetForLeaderEpochRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}}}
			got := do[*kmsg.OffsetForLeaderEpochResponse](c, req).Topics[0].Partitions[0]
			wantCode(t, test.name, got.ErrorCode, test.want)
			if got.LeaderEpoch != test.foundEpoch || got.EndOffset != test.end {
				t.Errorf("version %d, %s: epoch %d ends at %d, want %d at %d", version, test.name, got.LeaderEpoch, got.EndOffset, test.foundEpoch, test.end)
			}
		}
	}
}

func TestDeleteRecords(t *testing.T) {
	c := newCluster(t, nil)
	elsewhere(c)
	c.topic("here", 1)
	c.produce("here", 0, batch(record.None, "a", "b", "c"))
	for version := int16(0); version <= 2; version++ {
		for _, test := range []struct {
			name      string
			topic     string
			partition int32
			offset    int64
			want      wire.ErrorCode
			low       int64
		}{
			{"some", "here", 0, int64(version), 0, int64(version)},
			{"fewer than before changes nothing", "here", 0, 0, 0, int64(version)},
			{"beyond the high watermark", "here", 0, 4, wire.OffsetOutOfRange, -1},
			{"negative", "here", 0, -2, wire.OffsetOutOfRange, -1},
			{"unknown topic", "nowhere", 0, 0, wire.UnknownTopicOrPartition, -1},
			{"led elsewhere", "t", 1, 0, wire.NotLeaderOrFollower, -1},
		} {
			req := kmsg.NewPtrDeleteRecordsRequest()
			req.Version = version
			req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: test.topic,
				Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: test.partition, Offset: test.offset}}}}
			got := do[*kmsg.DeleteRecordsResponse](c, req).Topics[0].Partitions[0]
			wantCode(t, test.name, got.ErrorCode, test.want)
			if got.LowWatermark != test.low {
				t.Errorf("version %d, %s: low watermark %d, want %d", version, test.name, got.LowWatermark, test.low)
			}
		}
	}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "here", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: -1}}}}
	if got := do[*kmsg.DeleteRecordsResponse](c, req).Topics[0].Partitions[0]; got.LowWatermark != 3 {
		t.Errorf("-1 left the low watermark at %d, want the high watermark 3", got.LowWatermark)
	}
}

func TestInitProducerID(t *testing.T) {
	c := newCluster(t, nil)
	name, empty := "tx", ""
	seen := map[int64]bool{}
	for version := int16(0); version <= 5; version++ {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version = version
		got := do[*kmsg.InitProducerIDResponse](c, req)
		wantCode(t, "idempotent", got.ErrorCode, wire.None)
		if seen[got.ProducerID] || got.ProducerEpoch != 0 {
			t.Errorf("version %d: id %d epoch %d, want an id that is new and epoch 0", version, got.ProducerID, got.ProducerEpoch)
		}
		seen[got.ProducerID] = true
		req.TransactionalID = &name
		wantCode(t, "transactional, without the topic", do[*kmsg.InitProducerIDResponse](c, req).ErrorCode, wire.NotCoordinator)
		req.TransactionalID = &empty
		wantCode(t, "empty transactional id", do[*kmsg.InitProducerIDResponse](c, req).ErrorCode, wire.InvalidRequest)
		if version < 3 {
			continue
		}
		req.TransactionalID = nil
		req.ProducerID, req.ProducerEpoch = got.ProducerID, 0
		next := do[*kmsg.InitProducerIDResponse](c, req)
		wantCode(t, "going on after an error", next.ErrorCode, wire.None)
		if seen[next.ProducerID] || next.ProducerEpoch != 0 {
			t.Errorf("version %d: id %d epoch %d, want a fresh id", version, next.ProducerID, next.ProducerEpoch)
		}
		seen[next.ProducerID] = true
		req.ProducerEpoch = -1
		wantCode(t, "id without epoch", do[*kmsg.InitProducerIDResponse](c, req).ErrorCode, wire.InvalidRequest)
	}
	for id := range int64(len(seen)) {
		if !seen[id] {
			t.Errorf("id %d of the blocks was never given", id)
		}
	}
	c.blocks.err = errors.New("no ZooKeeper")
	for range blockSize { // what is left of the last block
		do[*kmsg.InitProducerIDResponse](c, kmsg.NewPtrInitProducerIDRequest())
	}
	wantCode(t, "no block to be had", do[*kmsg.InitProducerIDResponse](c, kmsg.NewPtrInitProducerIDRequest()).ErrorCode, wire.CoordinatorNotAvailable)
}
