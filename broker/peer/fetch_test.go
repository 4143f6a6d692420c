package peer

import (
	"bytes"
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// TestFetchRequestIsKafkas compares random requests with the client library's
// encoding, and reads them back.
func TestFetchRequestIsKafkas(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	var back FetchRequest
	for range rounds {
		want := random[FetchRequest](t, r)
		want.Correlation = 0 // It is the header's.
		for i := range want.Partitions {
			want.Partitions[i].TopicID = [16]byte{byte(r.Intn(2))}
		}
		if r.Intn(2) == 0 && len(want.Partitions) > 0 {
			want.Partitions[0].Dir = [16]byte{}
		}
		got := want.appendFrame(nil, "client", 77)
		kafkas := kafkaFetch(&want)
		formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID("client"))
		if theirs := formatter.AppendRequest(nil, kafkas, 77); !bytes.Equal(got, theirs) {
			t.Fatalf("%+v is\n%x, want\n%x", want, got, theirs)
		}
		h, body, err := wire.ParseHeader(got[4:])
		if err != nil || h.Key != wire.KeyFetch || h.CorrelationID != 77 || string(h.ClientID) != "client" {
			t.Fatalf("header %+v, %v", h, err)
		}
		read := &kmsg.FetchRequest{Version: h.Version}
		if err := read.ReadFrom(body); err != nil {
			t.Fatal(err)
		}
		decodeFetchRequest(read, &back)
		if diff := cmp.Diff(want, back, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the request came out differently (-sent +received):\n%s", diff)
		}
	}
}

func kafkaFetch(r *FetchRequest) *kmsg.FetchRequest {
	out := kmsg.NewPtrFetchRequest()
	out.Version, out.MaxWaitMillis, out.MinBytes, out.MaxBytes = 17, r.MaxWaitMs, r.MinBytes, r.MaxBytes
	out.ReplicaState.ID, out.ReplicaState.Epoch, out.SessionEpoch = r.ReplicaID, r.BrokerEpoch, -1
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if i == 0 || p.TopicID != r.Partitions[i-1].TopicID {
			out.Topics = append(out.Topics, kmsg.FetchRequestTopic{TopicID: p.TopicID})
		}
		partition := kmsg.NewFetchRequestTopicPartition()
		partition.Partition, partition.CurrentLeaderEpoch, partition.FetchOffset, partition.LastFetchedEpoch = p.Index, p.LeaderEpoch, p.FetchOffset, p.LastFetchedEpoch
		partition.LogStartOffset, partition.PartitionMaxBytes, partition.ReplicaDirectoryID = p.LogStartOffset, p.MaxBytes, p.Dir
		topic := &out.Topics[len(out.Topics)-1]
		topic.Partitions = append(topic.Partitions, partition)
	}
	return out
}

// randomResponse is a response as a leader may send it, and what is to be read of
// it.
func randomResponse(r *rand.Rand) (*kmsg.FetchResponse, FetchResponse) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ThrottleMillis, resp.ErrorCode = 17, r.Int31(), int16(r.Intn(5))
	want := FetchResponse{ErrorCode: wire.ErrorCode(resp.ErrorCode), ThrottleMs: resp.ThrottleMillis}
	for topic := range r.Intn(4) {
		t := kmsg.NewFetchResponseTopic()
		t.TopicID = [16]byte{byte(topic)}
		for range r.Intn(4) {
			p, is := randomPartition(r)
			is.TopicID = t.TopicID
			t.Partitions, want.Partitions = append(t.Partitions, p), append(want.Partitions, is)
		}
		resp.Topics = append(resp.Topics, t)
	}
	if r.Intn(2) == 0 {
		resp.Brokers = append(resp.Brokers, kmsg.FetchResponseBroker{NodeID: 1, Host: "h", Port: 2})
	}
	return resp, want
}

func randomPartition(r *rand.Rand) (kmsg.FetchResponseTopicPartition, FetchedPartition) {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = r.Int31(), int16(r.Intn(5)), r.Int63(), r.Int63(), r.Int63()
	want := FetchedPartition{Index: p.Partition, ErrorCode: wire.ErrorCode(p.ErrorCode), HighWatermark: p.HighWatermark, LastStableOffset: p.LastStableOffset,
		LogStartOffset: p.LogStartOffset, DivergingEpoch: -1, DivergingEnd: -1, CurrentLeader: -1, CurrentLeaderEpoch: -1}
	for range r.Intn(3) {
		p.AbortedTransactions = append(p.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: r.Int63(), FirstOffset: 1})
	}
	if r.Intn(2) == 0 {
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = r.Int31(), r.Int63()
		want.DivergingEpoch, want.DivergingEnd = p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset
	}
	if r.Intn(2) == 0 {
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = r.Int31(), r.Int31()
		want.CurrentLeader, want.CurrentLeaderEpoch = p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch
	}
	if r.Intn(2) == 0 {
		p.UnknownTags.Set(99, []byte("later"))
	}
	if n := r.Intn(100); n > 0 {
		p.RecordBatches = make([]byte, n)
		r.Read(p.RecordBatches)
		want.Records = p.RecordBatches
	}
	return p, want
}

func TestFetchResponseIsKafkas(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for range rounds {
		resp, want := randomResponse(r)
		body := resp.AppendTo(nil)
		got := fetchResponses.Get().(*FetchResponse)
		if err := got.parse(body); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, *got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(FetchResponse{})); diff != "" {
			t.Fatalf("the response came out differently (-sent +received):\n%s", diff)
		}
		got.Release()
		if cut := body[:r.Intn(len(body))]; new(FetchResponse).parse(cut) == nil {
			t.Fatalf("%d of %d bytes were accepted", len(cut), len(body))
		}
	}
}

// TestCountsAreHeldAgainstBytes: a claimed count costs nothing.
func TestCountsAreHeldAgainstBytes(t *testing.T) {
	head := make([]byte, 10)
	many := append(head, 0xff, 0xff, 0xff, 0xff, 0x07)
	if err := new(FetchResponse).parse(many); err == nil {
		t.Error("half a billion topics in no bytes were accepted")
	}
	topic := append(append(head[:10:10], 2), make([]byte, 16)...)
	if err := new(FetchResponse).parse(append(topic, 0xff, 0xff, 0xff, 0xff, 0x07)); err == nil {
		t.Error("half a billion partitions in no bytes were accepted")
	}
}

// oneMiB is a response with that much of records.
func oneMiB() []byte {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 17
	t := kmsg.NewFetchResponseTopic()
	p := kmsg.NewFetchResponseTopicPartition()
	p.RecordBatches = bytes.Repeat([]byte("r"), 1<<20)
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp.AppendTo(nil)
}

func TestParsingCostsNoMemory(t *testing.T) {
	body := oneMiB()
	resp := &FetchResponse{Partitions: make([]FetchedPartition, 0, 1)}
	allocs := testing.AllocsPerRun(100, func() {
		resp.Partitions = resp.Partitions[:0]
		if err := resp.parse(body); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 && !raceEnabled {
		t.Errorf("parsing a response of 1 MiB costs %v allocations, want none: records stay where they arrived", allocs)
	}
	if &resp.Partitions[0].Records[0] != &body[bytes.IndexByte(body, 'r')] {
		t.Error("the records were copied")
	}
}
