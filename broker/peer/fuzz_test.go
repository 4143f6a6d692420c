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

// message is a request or a response of kmsg's.
type message interface {
	AppendTo([]byte) []byte
	ReadFrom([]byte) error
}

// form is one form that bytes can have: an example, and what holds for all.
type form struct {
	example []byte
	check   func(t *testing.T, body []byte)
}

func formOf[T any, M message](example T, encode func(T) M, decode func(M) (T, error)) form {
	return form{encode(example).AppendTo(nil), func(t *testing.T, body []byte) {
		var none T
		if m := encode(none); m.ReadFrom(body) == nil { // an empty message of the right version
			again(t, m, encode, decode)
		}
	}}
}

// fuzzForms fuzzes messages; the first byte says which form it is.
func fuzzForms(f *testing.F, forms ...form) {
	for kind, m := range forms {
		seed := append([]byte{byte(kind)}, m.example...)
		f.Add(seed)
		f.Add(seed[:len(seed)-1])
		f.Add(bytes.Replace(seed, []byte{0x90, 0x4e}, []byte{0x91, 0x4e}, 1)) // one tag taken for another
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if len(in) > 0 && int(in[0]) < len(forms) {
			forms[in[0]].check(t, in[1:])
		}
	})
}

// FuzzOrders decodes what controllers send, and what they are answered.
func FuzzOrders(f *testing.F) {
	state := PartitionState{Topic: "t", TopicID: [16]byte{1}, Leader: 1, ISR: someSet, ELR: someSet, Replicas: someSet, Adding: []int32{2}, IsNew: true}
	fuzzForms(f,
		formOf(LeaderAndISR{Full: true, Partitions: []PartitionState{state, state}, Live: []Broker{{ID: 1, Host: "h", Port: 2}}}, EncodeLeaderAndISR, DecodeLeaderAndISR),
		formOf(UpdateMetadata{Partitions: []PartitionState{state}, Live: []Broker{{ID: 1, Host: "h", Port: 2, Rack: "r"}}}, EncodeUpdateMetadata, DecodeUpdateMetadata),
		formOf(StopReplica{Partitions: []StopPartition{{Topic: "t", TopicID: [16]byte{1}, LeaderEpoch: -2, Delete: true}}}, EncodeStopReplica, DecodeStopReplica),
		formOf(LeaderAndISRAnswer{Partitions: []LeaderAndISRResult{{TopicID: [16]byte{1}, Index: 2}}}, EncodeLeaderAndISRAnswer, DecodeLeaderAndISRAnswer),
		formOf(UpdateMetadataAnswer{11}, EncodeUpdateMetadataAnswer, DecodeUpdateMetadataAnswer),
		formOf(StopReplicaAnswer{Partitions: []PartitionResult{{"t", 1, 3}}}, EncodeStopReplicaAnswer, DecodeStopReplicaAnswer),
	)
}

// FuzzProposals decodes what leaders and leaving brokers ask the controller, and
// what they are answered.
func FuzzProposals(f *testing.F) {
	fuzzForms(f,
		formOf(AlterPartition{Broker: 1, Partitions: []Proposal{{TopicID: [16]byte{1}, ISR: someSet, Recovering: true}}}, EncodeAlterPartition, DecodeAlterPartition),
		formOf(AlterPartitionAnswer{Partitions: []ProposalResult{{TopicID: [16]byte{1}, ISR: someSet, ELR: someSet}}}, EncodeAlterPartitionAnswer, DecodeAlterPartitionAnswer),
		formOf(ControlledShutdown{1, 2}, EncodeControlledShutdown, DecodeControlledShutdown),
		formOf(ControlledShutdownAnswer{Remaining: []TopicPartition{{"t", 1}}}, EncodeControlledShutdownAnswer, DecodeControlledShutdownAnswer),
	)
}

// FuzzTransactions decodes what coordinators and leaders tell each other about
// transactions.
func FuzzTransactions(f *testing.F) {
	results := []PartitionResult{{"t", 1, 3}, {"t", 2, 0}, {"u", 0, 0}}
	parts := []TopicPartition{{"t", 1}, {"t", 2}, {"u", 0}}
	fuzzForms(f,
		formOf(WriteTxnMarkers{[]TxnMarker{{ProducerID: 1, Committed: true, Version: 2, Partitions: parts}}}, EncodeWriteTxnMarkers, decodeWriteTxnMarkers),
		formOf(WriteTxnMarkersAnswer{[]TxnMarkerResult{{1, results}}}, encodeWriteTxnMarkersAnswer, DecodeWriteTxnMarkersAnswer),
		formOf(AddPartitionsToTxn{[]TxnPartitions{{ID: "i", VerifyOnly: true, Partitions: parts}}}, EncodeAddPartitionsToTxn, decodeAddPartitionsToTxn),
		formOf(AddPartitionsToTxnAnswer{Transactions: []TxnPartitionsResult{{"i", results}}}, encodeAddPartitionsToTxnAnswer, DecodeAddPartitionsToTxnAnswer),
	)
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
		ours, err := receiveAnswer(bytes.NewReader(framed(body)))
		if err != nil {
			return
		}
		theirs := &kmsg.FetchResponse{Version: fetchVersion}
		if theirs.ReadFrom(body) != nil {
			return // tagged fields that we step over, and it does not
		}
		var want answer
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
		decodeFetchRequest(read, &first)
		back := &kmsg.FetchRequest{Version: fetchVersion}
		if err := back.ReadFrom(first.appendTo(nil)); err != nil {
			t.Fatal(err)
		}
		decodeFetchRequest(back, &second)
		if diff := cmp.Diff(first, second, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("not the same the second time (-first +second):\n%s", diff)
		}
	})
}
