package api

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/protocol/wire"
)

// addOffsets is AddOffsetsToTxn.
func (p *txnProducer) addOffsets(group string) wire.ErrorCode {
	p.c.t.Helper()
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = 3, p.id, p.pid, p.epoch, group
	for range 1000 {
		if code := wire.ErrorCode(asked[*kmsg.AddOffsetsToTxnResponse](p.c, req).ErrorCode); code != wire.ConcurrentTransactions {
			return code
		}
		p.c.tick()
	}
	p.c.t.Fatal("the transaction before never ended")
	return 0
}

// offsetsOf is TxnOffsetCommit of nobody's offset of t-0.
func (p *txnProducer) offsetsOf(version int16, group string, offset int64) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = version, p.id, p.pid, p.epoch, group
	req.Generation = -1
	part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	part.Offset = offset
	topic := kmsg.TxnOffsetCommitRequestTopic{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{part}}
	if version >= 6 {
		topic.TopicID = p.c.server.o.Metadata.View().Topic("t").ID
	}
	req.Topics = append(req.Topics, topic)
	return req
}

// commitOffset commits it.
func (p *txnProducer) commitOffset(version int16, group string, offset int64) wire.ErrorCode {
	p.c.t.Helper()
	return wire.ErrorCode(asked[*kmsg.TxnOffsetCommitResponse](p.c, p.offsetsOf(version, group, offset)).Topics[0].Partitions[0].ErrorCode)
}

// offsetOf is the group's offset of t-0, as a reader of stable offsets sees it.
func (c *cluster) offsetOf(group string) (int64, wire.ErrorCode) {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group, req.RequireStable = 7, group, true
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
	p := asked[*kmsg.OffsetFetchResponse](c, req).Topics[0].Partitions[0]
	return p.Offset, wire.ErrorCode(p.ErrorCode)
}

// TestTransactionalOffsets is fault T13: they count if and only if the transaction
// commits, and until then whoever wants stable ones has to wait.
func TestTransactionalOffsets(t *testing.T) {
	for _, version := range []struct{ commit, end int16 }{{3, 3}, {5, 5}, {6, 5}} {
		c := newCluster(t, nil)
		c.topic("t", 1)
		c.coordinate(1)
		c.coordinateTxns()
		p := c.producer("tx")
		want := int64(-1)
		for i, commit := range []bool{true, false, true} {
			if version.commit < 5 {
				wantCode(t, "commit outside a transaction", int16(p.commitOffset(version.commit, "g", 99)), wire.InvalidTxnState)
				wantCode(t, "add", int16(p.addOffsets("g")), wire.None)
			}
			wantCode(t, "commit", int16(p.commitOffset(version.commit, "g", int64(i))), wire.None)
			if _, code := c.offsetOf("g"); code != wire.UnstableOffsetCommit {
				t.Errorf("version %d: before the end: %v, want UNSTABLE_OFFSET_COMMIT", version.commit, code)
			}
			wantCode(t, "end", int16(p.end(version.end, commit)), wire.None)
			c.settle(p.id)
			if commit {
				want = int64(i)
			}
			if got, code := c.offsetOf("g"); got != want || code != wire.None {
				t.Errorf("version %d: after transaction %d the offset is %d (%v), want %d", version.commit, i, got, code, want)
			}
		}
	}
}

// TestTransactionalOffsetsRefused: a topic goes by its name up to version 5 and by its id
// from 6 on, and only from there a producer hears of a stale epoch by its own name.
func TestTransactionalOffsetsRefused(t *testing.T) {
	c := groupCluster(t)
	c.coordinateTxns()
	p := c.producer("tx")
	joined := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, consumerJoin("k"))
	for version := int16(3); version <= 6; version++ {
		unknown, stale := wire.UnknownTopicOrPartition, wire.IllegalGeneration
		if version >= 6 {
			unknown, stale = wire.UnknownTopicID, wire.StaleMemberEpoch
		}
		if version < 5 {
			wantCode(t, "add", int16(p.addOffsets("k")), wire.None)
		}
		req := p.offsetsOf(version, "k", 5)
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{Partition: 7})
		req.Topics = append(req.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: "none", TopicID: [16]byte{9}, Partitions: make([]kmsg.TxnOffsetCommitRequestTopicPartition, 1)})
		for _, member := range []struct {
			epoch int32
			want  wire.ErrorCode
		}{{joined.MemberEpoch - 1, stale}, {joined.MemberEpoch, wire.None}} {
			req.MemberID, req.Generation = *joined.MemberID, member.epoch
			topics := asked[*kmsg.TxnOffsetCommitResponse](c, req).Topics
			wantCode(t, "commit", topics[0].Partitions[0].ErrorCode, member.want)
			wantCode(t, "commit of an unknown partition", topics[0].Partitions[1].ErrorCode, wire.UnknownTopicOrPartition)
			wantCode(t, "commit of an unknown topic", topics[1].Partitions[0].ErrorCode, unknown)
			if version >= 6 && (topics[0].TopicID != req.Topics[0].TopicID || topics[1].TopicID != [16]byte{9}) {
				t.Errorf("committed by ids is answered %+v, want the ids", topics)
			}
		}
	}
}

// mark sends the marker of a transaction's offsets of group g, as its coordinator does.
func (p *txnProducer) mark(version int8, coordinatorEpoch int32, commit bool) wire.ErrorCode {
	p.c.t.Helper()
	partition, _ := p.c.server.o.Groups.Partition("g")
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = 2
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.CoordinatorEpoch, m.Committed, m.TransactionVersion = p.pid, p.epoch, coordinatorEpoch, commit, version
	m.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: groups.Topic, Partitions: []int32{partition}}}
	req.Markers = append(req.Markers, m)
	return wire.ErrorCode(asked[*kmsg.WriteTxnMarkersResponse](p.c, req).Markers[0].Topics[0].Partitions[0].ErrorCode)
}

// TestMarkersOfOffsets: those in __consumer_offsets are held to the rules of any
// partition's, so a former coordinator's marker and a late one decide nothing.
func TestMarkersOfOffsets(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.coordinate(1)
	c.coordinateTxns()
	p := c.producer("tx")
	wantCode(t, "add", int16(p.addOffsets("g")), wire.None)
	wantCode(t, "commit", int16(p.commitOffset(3, "g", 7)), wire.None)
	wantCode(t, "a marker of the next coordinator", int16(p.mark(0, 5, true)), wire.None)
	if got, code := c.offsetOf("g"); got != 7 {
		t.Errorf("the offset is %d (%v), want 7", got, code)
	}
	wantCode(t, "commit", int16(p.commitOffset(3, "g", 8)), wire.None)
	wantCode(t, "a marker of the former coordinator", int16(p.mark(0, 4, true)), wire.TransactionCoordinatorFenced)
	wantCode(t, "one of version 2 with the epoch of the data", int16(p.mark(2, 5, true)), wire.InvalidProducerEpoch)
	if got, code := c.offsetOf("g"); code != wire.UnstableOffsetCommit {
		t.Errorf("the offset is %d (%v), want the transaction open still", got, code)
	}
	p.epoch++
	wantCode(t, "one of version 2 with the next epoch", int16(p.mark(2, 5, false)), wire.None)
	if got, code := c.offsetOf("g"); got != 7 || code != wire.None {
		t.Errorf("the offset is %d (%v), want 7", got, code)
	}
}
