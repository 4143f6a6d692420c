package peer

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/replication"
)

// again holds that what a decoder made of bytes survives encoding and decoding.
func again[T, M any](t *testing.T, in M, encode func(T) M, decode func(M) (T, error)) {
	first, err := decode(in)
	if err != nil {
		return
	}
	second, err := decode(encode(first))
	if err != nil {
		t.Fatalf("%+v cannot be decoded again: %v", first, err)
	}
	if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("not the same the second time (-first +second):\n%s", diff)
	}
}

// someSet has all that a member can have.
var someSet = []replication.Member{{Broker: 1, BrokerEpoch: 2, Dir: replication.DirID{3}}, {Broker: 4, BrokerEpoch: -1}}

// FuzzOrders decodes what controllers send, and what they are answered. The
// first byte says which message it is.
func FuzzOrders(f *testing.F) {
	state := PartitionState{Topic: "t", TopicID: [16]byte{1}, Leader: 1, ISR: someSet, ELR: someSet, Replicas: someSet, Adding: []int32{2}, IsNew: true}
	for kind, body := range [][]byte{
		EncodeLeaderAndISR(LeaderAndISR{Full: true, Partitions: []PartitionState{state, state}, Live: []Broker{{ID: 1, Host: "h", Port: 2}}}).AppendTo(nil),
		EncodeUpdateMetadata(UpdateMetadata{Partitions: []PartitionState{state}, Live: []Broker{{ID: 1, Host: "h", Port: 2, Rack: "r"}}}).AppendTo(nil),
		EncodeStopReplica(StopReplica{Partitions: []StopPartition{{Topic: "t", TopicID: [16]byte{1}, LeaderEpoch: EpochDeleted, Delete: true}}}).AppendTo(nil),
		EncodeLeaderAndISRAnswer(LeaderAndISRAnswer{Partitions: []LeaderAndISRResult{{TopicID: [16]byte{1}, Index: 2}}}).AppendTo(nil),
		EncodeUpdateMetadataAnswer(UpdateMetadataAnswer{11}).AppendTo(nil),
		EncodeStopReplicaAnswer(StopReplicaAnswer{Partitions: []PartitionResult{{"t", 1, 3}}}).AppendTo(nil),
	} {
		f.Add(append([]byte{byte(kind)}, body...))
		f.Add(append([]byte{byte(kind)}, body[:len(body)-1]...))
		f.Add(append([]byte{byte(kind)}, bytes.Replace(body, []byte{0x90, 0x4e}, []byte{0x91, 0x4e}, 1)...)) // one tag taken for another
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 {
			return
		}
		kind, body := in[0], in[1:]
		switch kind {
		case 0:
			if req := (&kmsg.LeaderAndISRRequest{Version: leaderAndISRVersion}); req.ReadFrom(body) == nil {
				again(t, req, EncodeLeaderAndISR, DecodeLeaderAndISR)
			}
		case 1:
			if req := (&kmsg.UpdateMetadataRequest{Version: updateMetadataVersion}); req.ReadFrom(body) == nil {
				again(t, req, EncodeUpdateMetadata, DecodeUpdateMetadata)
			}
		case 2:
			if req := (&kmsg.StopReplicaRequest{Version: stopReplicaVersion}); req.ReadFrom(body) == nil {
				again(t, req, EncodeStopReplica, DecodeStopReplica)
			}
		case 3:
			if resp := (&kmsg.LeaderAndISRResponse{Version: leaderAndISRVersion}); resp.ReadFrom(body) == nil {
				again(t, resp, EncodeLeaderAndISRAnswer, DecodeLeaderAndISRAnswer)
			}
		case 4:
			if resp := (&kmsg.UpdateMetadataResponse{Version: updateMetadataVersion}); resp.ReadFrom(body) == nil {
				again(t, resp, EncodeUpdateMetadataAnswer, DecodeUpdateMetadataAnswer)
			}
		case 5:
			if resp := (&kmsg.StopReplicaResponse{Version: stopReplicaVersion}); resp.ReadFrom(body) == nil {
				again(t, resp, EncodeStopReplicaAnswer, DecodeStopReplicaAnswer)
			}
		}
	})
}

// FuzzProposals decodes what leaders and leaving brokers ask the controller, and
// what they are answered.
func FuzzProposals(f *testing.F) {
	for kind, body := range [][]byte{
		EncodeAlterPartition(AlterPartition{Broker: 1, Partitions: []Proposal{{TopicID: [16]byte{1}, ISR: someSet, Recovering: true}}}).AppendTo(nil),
		EncodeAlterPartitionAnswer(AlterPartitionAnswer{Partitions: []ProposalResult{{TopicID: [16]byte{1}, ISR: someSet, ELR: someSet}}}).AppendTo(nil),
		EncodeControlledShutdown(ControlledShutdown{1, 2}).AppendTo(nil),
		EncodeControlledShutdownAnswer(ControlledShutdownAnswer{Remaining: []TopicPartition{{"t", 1}}}).AppendTo(nil),
	} {
		f.Add(append([]byte{byte(kind)}, body...))
		f.Add(append([]byte{byte(kind)}, body[:len(body)-1]...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 {
			return
		}
		kind, body := in[0], in[1:]
		switch kind {
		case 0:
			if req := (&kmsg.AlterPartitionRequest{Version: alterPartitionVersion}); req.ReadFrom(body) == nil {
				again(t, req, EncodeAlterPartition, DecodeAlterPartition)
			}
		case 1:
			if resp := (&kmsg.AlterPartitionResponse{Version: alterPartitionVersion}); resp.ReadFrom(body) == nil {
				again(t, resp, EncodeAlterPartitionAnswer, DecodeAlterPartitionAnswer)
			}
		case 2:
			if req := (&kmsg.ControlledShutdownRequest{Version: controlledShutdownVersion}); req.ReadFrom(body) == nil {
				again(t, req, EncodeControlledShutdown, DecodeControlledShutdown)
			}
		case 3:
			if resp := (&kmsg.ControlledShutdownResponse{Version: controlledShutdownVersion}); resp.ReadFrom(body) == nil {
				again(t, resp, EncodeControlledShutdownAnswer, DecodeControlledShutdownAnswer)
			}
		}
	})
}

// FuzzTransactions decodes what coordinators and leaders tell each other about
// transactions.
func FuzzTransactions(f *testing.F) {
	results := []PartitionResult{{"t", 1, 3}, {"t", 2, 0}, {"u", 0, 0}}
	parts := []TopicPartition{{"t", 1}, {"t", 2}, {"u", 0}}
	for kind, body := range [][]byte{
		EncodeWriteTxnMarkers(WriteTxnMarkers{[]TxnMarker{{ProducerID: 1, Committed: true, Version: 2, Partitions: parts}}}).AppendTo(nil),
		EncodeWriteTxnMarkersAnswer(WriteTxnMarkersAnswer{[]TxnMarkerResult{{1, results}}}).AppendTo(nil),
		EncodeAddPartitionsToTxn(AddPartitionsToTxn{[]TxnPartitions{{ID: "i", VerifyOnly: true, Partitions: parts}}}).AppendTo(nil),
		EncodeAddPartitionsToTxnAnswer(AddPartitionsToTxnAnswer{Transactions: []TxnPartitionsResult{{"i", results}}}).AppendTo(nil),
	} {
		f.Add(append([]byte{byte(kind)}, body...))
		f.Add(append([]byte{byte(kind)}, body[:len(body)-1]...))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) == 0 {
			return
		}
		kind, body := in[0], in[1:]
		switch kind {
		case 0:
			if req := (&kmsg.WriteTxnMarkersRequest{Version: writeTxnMarkersVersion}); req.ReadFrom(body) == nil {
				again(t, req, EncodeWriteTxnMarkers, DecodeWriteTxnMarkers)
			}
		case 1:
			if resp := (&kmsg.WriteTxnMarkersResponse{Version: writeTxnMarkersVersion}); resp.ReadFrom(body) == nil {
				again(t, resp, EncodeWriteTxnMarkersAnswer, DecodeWriteTxnMarkersAnswer)
			}
		case 2:
			if req := (&kmsg.AddPartitionsToTxnRequest{Version: addPartitionsToTxnVersion}); req.ReadFrom(body) == nil {
				again(t, req, EncodeAddPartitionsToTxn, DecodeAddPartitionsToTxn)
			}
		case 3:
			if resp := (&kmsg.AddPartitionsToTxnResponse{Version: addPartitionsToTxnVersion}); resp.ReadFrom(body) == nil {
				again(t, resp, EncodeAddPartitionsToTxnAnswer, DecodeAddPartitionsToTxnAnswer)
			}
		}
	})
}

// FuzzFence decodes both sides of our own message.
func FuzzFence(f *testing.F) {
	request := FenceReplica{Topic: "t", TopicID: [16]byte{1}, Index: 2, LeaderEpoch: 3, ControllerEpoch: 4, BrokerEpoch: 5}
	answer := FenceReplicaAnswer{ErrorCode: 74, LeaderEpoch: 3, LastEpoch: -1, LogEndOffset: 6, Dir: [16]byte{7}}
	f.Add(request.AppendTo(nil))
	f.Add(answer.AppendTo(nil))
	f.Add([]byte{0, 0})                                                       // a null topic
	f.Add(append(make([]byte, 35), 2, 1, 0, 1, 0))                            // one tag twice
	f.Add(append(make([]byte, 34), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01)) // a count of more than 32 bits
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 't'})                          // a topic of 4 GiB
	f.Fuzz(func(t *testing.T, body []byte) {
		var request, second FenceReplica
		if request.ReadFrom(body) == nil {
			if err := second.ReadFrom(request.AppendTo(nil)); err != nil || second != request {
				t.Fatalf("%+v came back as %+v, %v", request, second, err)
			}
		}
		var answer, other FenceReplicaAnswer
		if answer.ReadFrom(body) == nil {
			if err := other.ReadFrom(answer.AppendTo(nil)); err != nil || other != answer {
				t.Fatalf("%+v came back as %+v, %v", answer, other, err)
			}
		}
	})
}

// FuzzFetchResponse compares with the client library what both accept.
func FuzzFetchResponse(f *testing.F) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = fetchVersion
	f.Add(resp.AppendTo(nil))
	partition := kmsg.NewFetchResponseTopicPartition()
	partition.RecordBatches = []byte("records")
	partition.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1, FirstOffset: 2}}
	partition.DivergingEpoch.Epoch, partition.CurrentLeader.LeaderID = 3, 4
	resp.Topics = []kmsg.FetchResponseTopic{{TopicID: [16]byte{5}, Partitions: []kmsg.FetchResponseTopicPartition{partition, partition}}}
	f.Add(resp.AppendTo(nil))
	partition.UnknownTags.Set(7, []byte("later"))
	resp.Topics[0].Partitions[0] = partition
	f.Add(resp.AppendTo(nil))
	body := resp.AppendTo(nil)
	f.Add(body[:len(body)-1])
	f.Add(bytes.Replace(body, []byte("\x08records"), []byte("\xff\xff\xff\xff\x0frecords"), 1))
	f.Fuzz(func(t *testing.T, body []byte) {
		var ours FetchResponse
		if ours.parse(body) != nil {
			return
		}
		theirs := &kmsg.FetchResponse{Version: fetchVersion}
		if theirs.ReadFrom(body) != nil {
			return // tagged fields that we step over, and it does not
		}
		var want FetchResponse
		for _, topic := range theirs.Topics {
			for _, p := range topic.Partitions {
				want.Partitions = append(want.Partitions, FetchedPartition{TopicID: topic.TopicID, Index: p.Partition, HighWatermark: p.HighWatermark, Records: p.RecordBatches})
			}
		}
		same := cmp.Comparer(func(a, b FetchedPartition) bool {
			return a.TopicID == b.TopicID && a.Index == b.Index && a.HighWatermark == b.HighWatermark && bytes.Equal(a.Records, b.Records)
		})
		if diff := cmp.Diff(want.Partitions, ours.Partitions, same, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("we read something else (-theirs +ours):\n%s", diff)
		}
	})
}

// FuzzFetchRequest decodes what followers ask, as the client library read it.
func FuzzFetchRequest(f *testing.F) {
	for _, r := range []FetchRequest{
		{ReplicaID: 1, BrokerEpoch: 2},
		{Partitions: []FetchPartition{{TopicID: [16]byte{1}, Dir: [16]byte{2}}, {TopicID: [16]byte{1}, Index: 1}, {TopicID: [16]byte{3}}}},
	} {
		body := r.appendTo(nil)
		f.Add(body)
		f.Add(body[:len(body)-1])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		read := &kmsg.FetchRequest{Version: fetchVersion}
		if read.ReadFrom(body) != nil {
			return
		}
		var first, second FetchRequest
		DecodeFetchRequest(read, &first)
		back := &kmsg.FetchRequest{Version: fetchVersion}
		if err := back.ReadFrom(first.appendTo(nil)); err != nil {
			t.Fatal(err)
		}
		DecodeFetchRequest(back, &second)
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("not the same the second time (-first +second):\n%s", diff)
		}
	})
}
