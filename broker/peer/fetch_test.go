package peer

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand"
	"testing"
	"testing/iotest"

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

// answer is all that is told of a response.
type answer struct {
	Code       wire.ErrorCode
	Partitions []FetchedPartition
}

// receiveAnswer reads a response that arrives from a connection.
func receiveAnswer(from io.Reader) (got answer, err error) {
	in := incomings.Get().(*incoming)
	defer in.release()
	in.took = func(p *FetchedPartition) {
		p.Records = bytes.Clone(p.Records)
		got.Partitions = append(got.Partitions, *p)
	}
	err = in.receive(from, 1<<30, 0)
	got.Code = in.code
	return got, err
}

// randomResponse is a response as a leader may send it, and what is to be read of
// it.
func randomResponse(r *rand.Rand, most int) (*kmsg.FetchResponse, answer) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version, resp.ThrottleMillis, resp.ErrorCode = 17, r.Int31(), int16(r.Intn(5))
	want := answer{Code: wire.ErrorCode(resp.ErrorCode)}
	for topic := range r.Intn(4) {
		t := kmsg.NewFetchResponseTopic()
		t.TopicID = [16]byte{byte(topic)}
		for range r.Intn(4) {
			p, is := randomPartition(r, most)
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

func randomPartition(r *rand.Rand, most int) (kmsg.FetchResponseTopicPartition, FetchedPartition) {
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
	if n := r.Intn(most); n > 0 {
		p.RecordBatches = make([]byte, n)
		r.Read(p.RecordBatches)
		want.Records = p.RecordBatches
	}
	return p, want
}

// TestFetchResponseIsKafkas reads random responses, in whatever pieces they come.
func TestFetchResponseIsKafkas(t *testing.T) {
	r := rand.New(rand.NewSource(4))
	for i := range rounds {
		most := 100
		if i%16 == 0 {
			most = 200_000 // More than is read at a time.
		}
		resp, want := randomResponse(r, most)
		frame := framed(resp.AppendTo(nil))
		for name, from := range map[string]io.Reader{
			"whole": bytes.NewReader(frame), "with its end": iotest.DataErrReader(bytes.NewReader(frame)),
			"in halves": iotest.HalfReader(bytes.NewReader(frame)), "in pieces": pieces{bytes.NewReader(frame), r},
		} {
			got, err := receiveAnswer(from)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s, the response came out differently (-sent +received):\n%s", name, diff)
			}
		}
		cut := frame[:r.Intn(len(frame))]
		if _, err := receiveAnswer(bytes.NewReader(cut)); err == nil {
			t.Fatalf("%d of %d bytes were accepted", len(cut), len(frame))
		}
		if body := frame[9:]; len(body) > 0 {
			if got, err := receiveAnswer(bytes.NewReader(framed(body[:r.Intn(len(body))]))); !errors.Is(err, ErrMalformed) {
				t.Fatalf("a whole frame of half an answer was read as %+v, %v", got, err)
			}
		}
	}
}

// pieces are of any size.
type pieces struct {
	from io.Reader
	r    *rand.Rand
}

func (p pieces) Read(b []byte) (int, error) {
	return p.from.Read(b[:min(len(b), 1+p.r.Intn(30_000))])
}

// TestToldBeforeTheRestIsHere: what is whole is told, whatever becomes of the rest.
func TestToldBeforeTheRestIsHere(t *testing.T) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = fetchVersion
	topic := kmsg.NewFetchResponseTopic()
	for i := range 3 {
		p := kmsg.NewFetchResponseTopicPartition()
		p.Partition, p.RecordBatches = int32(i), bytes.Repeat([]byte{byte(i)}, 100_000)
		topic.Partitions = append(topic.Partitions, p)
	}
	resp.Topics = append(resp.Topics, topic)
	frame := framed(resp.AppendTo(nil))
	got, err := receiveAnswer(bytes.NewReader(frame[:250_000]))
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(got.Partitions) != 2 || !bytes.Equal(got.Partitions[1].Records, topic.Partitions[1].RecordBatches) {
		t.Errorf("of an answer that is cut off in the third partition %d were told, and %v", len(got.Partitions), err)
	}
}

// TestAnswerNobodyAskedFor: a response to another request, or with bytes behind it,
// means that the connection is out of step.
func TestAnswerNobodyAskedFor(t *testing.T) {
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = fetchVersion
	good := framed(resp.AppendTo(nil))
	other := bytes.Clone(good)
	other[7] = 1
	for name, frame := range map[string][]byte{
		"another's":      other,
		"bytes behind":   append(bytes.Clone(good), 0),
		"a longer frame": framed(append(resp.AppendTo(nil), 0)),
	} {
		if _, err := receiveAnswer(bytes.NewReader(frame)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want %v", name, err, ErrMalformed)
		}
	}
	if _, err := receiveAnswer(bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff})); !errors.Is(err, wire.ErrFrameSize) {
		t.Errorf("a frame over the limit: got %v", err)
	}
	if _, err := receiveAnswer(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Errorf("no frame: got %v", err)
	}
}

// TestCountsAreHeldAgainstBytes: a claimed count or length costs nothing.
func TestCountsAreHeldAgainstBytes(t *testing.T) {
	head := make([]byte, 10)
	many := []byte{0xff, 0xff, 0xff, 0xff, 0x07}
	topic := append(append(head[:10:10], 2), make([]byte, 16)...)
	partition := append(append(topic[:27:27], 2), make([]byte, 4+2+8+8+8+1+4)...)
	for name, body := range map[string][]byte{
		"topics": append(head[:10:10], many...), "partitions": append(topic[:27:27], many...), "bytes of records": append(partition, many...),
	} {
		if _, err := receiveAnswer(bytes.NewReader(framed(body))); !errors.Is(err, ErrMalformed) {
			t.Errorf("half a billion %s in no bytes: got %v, want %v", name, err, ErrMalformed)
		}
	}
	long := framed(partition)
	binary.BigEndian.PutUint32(long, 1<<29)
	in := new(incoming)
	if err := in.receive(bytes.NewReader(append(long, 0x80, 0x80, 0x80, 0x80, 0x01)), 1<<30, 0); !errors.Is(err, io.ErrUnexpectedEOF) || len(in.buf) > 256<<10 {
		t.Errorf("a quarter of a gigabyte that does not come: got %v with %d bytes of memory", err, len(in.buf))
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

func TestReceivingCostsNoMemory(t *testing.T) {
	frame := framed(oneMiB())
	in := new(incoming)
	from := bytes.NewReader(frame)
	told := 0
	allocs := testing.AllocsPerRun(100, func() {
		from.Reset(frame)
		in.took = func(p *FetchedPartition) { told += len(p.Records) }
		if err := in.receive(from, 1<<30, 0); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 3 && !raceEnabled {
		t.Errorf("receiving a response of 1 MiB costs %v allocations, want a few for its parts: memory is used again", allocs)
	}
	if told != 101<<20 || len(in.buf) > 1<<20+1024 {
		t.Errorf("%d bytes were told from memory of %d", told, len(in.buf))
	}
}
