package wire

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// randomFetch makes up a response as the client library has it, with only those
// fields set that the version sends.
func randomFetch(r *rand.Rand, version int16) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(version)
	resp.ThrottleMillis = r.Int32()
	if version >= 7 {
		resp.ErrorCode, resp.SessionID = int16(r.IntN(100)), r.Int32()
	}
	for range r.IntN(4) {
		topic := kmsg.NewFetchResponseTopic()
		if version >= 13 {
			for i := range topic.TopicID {
				topic.TopicID[i] = byte(r.Uint32())
			}
		} else {
			topic.Topic = string(randomText(r, 300))
		}
		for range r.IntN(5) {
			topic.Partitions = append(topic.Partitions, randomFetchPartition(r, version))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if version >= 16 {
		for range r.IntN(3) {
			b := kmsg.NewFetchResponseBroker()
			b.NodeID, b.Host, b.Port = r.Int32(), string(randomText(r, 200)), r.Int32()
			if r.IntN(2) == 0 {
				rack := string(randomText(r, 200))
				b.Rack = &rack
			}
			resp.Brokers = append(resp.Brokers, b)
		}
	}
	return resp
}

func randomFetchPartition(r *rand.Rand, version int16) kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.Partition, p.ErrorCode = r.Int32(), int16(r.IntN(100))
	p.HighWatermark, p.LastStableOffset = r.Int64(), r.Int64()
	if version >= 5 {
		p.LogStartOffset = r.Int64()
	}
	if r.IntN(2) == 0 {
		p.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for range r.IntN(3) {
			a := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			a.ProducerID, a.FirstOffset = r.Int64(), r.Int64()
			p.AbortedTransactions = append(p.AbortedTransactions, a)
		}
	}
	if version >= 11 {
		p.PreferredReadReplica = r.Int32N(10) - 1
	}
	p.RecordBatches = randomText(r, 1<<r.IntN(18))
	if version >= 12 && r.IntN(2) == 0 {
		p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = r.Int32(), r.Int64()
	}
	if version >= 12 && r.IntN(2) == 0 {
		p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = r.Int32(), r.Int32()
	}
	return p
}

func randomText(r *rand.Rand, below int) []byte {
	b := make([]byte, r.IntN(below))
	for i := range b {
		b[i] = 'a' + byte(r.IntN(26))
	}
	return b
}

// writeFetch writes the same response with a FetchWriter.
func writeFetch(resp *kmsg.FetchResponse) *Response {
	w := NewFetchWriter(fetchHeader(resp.Version),
		FetchHead{ThrottleMs: resp.ThrottleMillis, ErrorCode: ErrorCode(resp.ErrorCode), SessionID: resp.SessionID}, len(resp.Topics))
	for _, topic := range resp.Topics {
		w.Topic(topic.Topic, topic.TopicID, len(topic.Partitions))
		for _, p := range topic.Partitions {
			part := FetchPartition{Index: p.Partition, ErrorCode: ErrorCode(p.ErrorCode), HighWatermark: p.HighWatermark,
				LastStableOffset: p.LastStableOffset, LogStartOffset: p.LogStartOffset, PreferredReadReplica: p.PreferredReadReplica}
			if p.AbortedTransactions != nil {
				part.Aborted = []AbortedTransaction{}
			}
			for _, a := range p.AbortedTransactions {
				part.Aborted = append(part.Aborted, AbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
			}
			if len(p.RecordBatches) > 0 {
				part.Records = &bytesChunk{b: p.RecordBatches}
			}
			if p.DivergingEpoch.Epoch != -1 || p.DivergingEpoch.EndOffset != -1 {
				part.DivergingEpoch = &EpochEnd{Epoch: p.DivergingEpoch.Epoch, EndOffset: p.DivergingEpoch.EndOffset}
			}
			if p.CurrentLeader.LeaderID != -1 || p.CurrentLeader.LeaderEpoch != -1 {
				part.CurrentLeader = &LeaderEpoch{LeaderID: p.CurrentLeader.LeaderID, LeaderEpoch: p.CurrentLeader.LeaderEpoch}
			}
			w.Partition(&part)
		}
	}
	var endpoints []NodeEndpoint
	for _, b := range resp.Brokers {
		endpoints = append(endpoints, NodeEndpoint{NodeID: b.NodeID, Host: b.Host, Port: b.Port, Rack: b.Rack})
	}
	return w.Finish(endpoints)
}

// checkFetch compares the FetchWriter's frame with the client library's, byte by
// byte, and decodes it again.
func checkFetch(t *testing.T, resp *kmsg.FetchResponse) {
	t.Helper()
	r := writeFetch(resp)
	defer r.Release()
	var out bytes.Buffer
	if n, err := r.WriteTo(&out); err != nil || n != r.Len() || n != int64(out.Len()) {
		t.Fatalf("version %d: wrote %d of %d bytes, %v", resp.Version, n, r.Len(), err)
	}
	want := []byte{0, 0, 0, 77}
	if resp.Version >= 12 {
		want = append(want, 0)
	}
	header := len(want)
	want = resp.AppendTo(want)
	if !bytes.Equal(out.Bytes()[lengthSize:], want) {
		t.Fatalf("version %d: %d bytes differ from kmsg's %d for %+v", resp.Version, out.Len(), len(want), resp)
	}
	decoded := kmsg.NewPtrFetchResponse()
	decoded.SetVersion(resp.Version)
	if err := decoded.ReadFrom(out.Bytes()[lengthSize+header:]); err != nil {
		t.Fatalf("version %d: kmsg cannot decode: %v", resp.Version, err)
	}
	if d := cmp.Diff(resp.Topics, decoded.Topics, cmp.AllowUnexported(kmsg.Tags{}), cmp.Comparer(bytes.Equal), equateEmpty); d != "" {
		t.Fatalf("version %d decodes differently:\n%s", resp.Version, d)
	}
}

// equateEmpty lets an absent list of partitions equal an empty one.
var equateEmpty = cmp.FilterValues(func(a, b []kmsg.FetchResponseTopicPartition) bool {
	return len(a) == 0 && len(b) == 0
}, cmp.Ignore())

func TestFetchWriterAgreesWithClient(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	for version := int16(FetchMinVersion); version <= FetchMaxVersion; version++ {
		for range 150 {
			checkFetch(t, randomFetch(r, version))
		}
	}
}

// TestFetchWriterLeavesOut gives the writer more than its version sends: it must
// come to the same bytes as without.
func TestFetchWriterLeavesOut(t *testing.T) {
	write := func(version int16, p FetchPartition, endpoints []NodeEndpoint) string {
		w := NewFetchWriter(fetchHeader(version), FetchHead{}, 1)
		w.Topic("t", [16]byte{}, 1)
		w.Partition(&p)
		var out bytes.Buffer
		r := w.Finish(endpoints)
		defer r.Release()
		if _, err := r.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	more := FetchPartition{DivergingEpoch: &EpochEnd{}, CurrentLeader: &LeaderEpoch{}}
	endpoints := []NodeEndpoint{{NodeID: 1, Host: "h"}}
	if write(11, FetchPartition{}, nil) != write(11, more, endpoints) {
		t.Error("version 11 has no tagged fields")
	}
	if write(15, more, nil) != write(15, more, endpoints) {
		t.Error("version 15 has no endpoints")
	}
	if write(16, more, nil) == write(16, more, endpoints) {
		t.Error("version 16 has endpoints")
	}
}

// TestFetchWriterCounts breaks what was announced, which would be a frame that
// no client can read.
func TestFetchWriterCounts(t *testing.T) {
	for name, f := range map[string]func(w *FetchWriter){
		"topic missing":     func(w *FetchWriter) { w.Finish(nil) },
		"partition missing": func(w *FetchWriter) { w.Topic("t", [16]byte{}, 1); w.Finish(nil) },
		"topic too many": func(w *FetchWriter) {
			w.Topic("t", [16]byte{}, 0)
			w.Topic("u", [16]byte{}, 0)
		},
		"partition too many":  func(w *FetchWriter) { w.Topic("t", [16]byte{}, 0); w.Partition(&FetchPartition{}) },
		"partition before":    func(w *FetchWriter) { w.Partition(&FetchPartition{}) },
		"version 3":           func(*FetchWriter) { NewFetchWriter(fetchHeader(3), FetchHead{}, 0) },
		"version 18":          func(*FetchWriter) { NewFetchWriter(fetchHeader(18), FetchHead{}, 0) },
		"not a fetch request": func(*FetchWriter) { NewFetchWriter(Header{Key: 3, Version: 5}, FetchHead{}, 0) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: written without complaint", name)
				}
			}()
			f(NewFetchWriter(fetchHeader(12), FetchHead{}, 1))
		}()
	}
}

func TestResponseAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools forget at random under the race detector")
	}
	payload := make([]byte, 1000)
	chunk := &bytesChunk{b: payload}
	id := [16]byte{1}
	part := FetchPartition{Records: chunk, PreferredReadReplica: -1, Aborted: []AbortedTransaction{}}
	w := NewResponseWriter(discard{})
	batch := make([]*Response, 1)
	fetch := func() {
		fw := NewFetchWriter(fetchHeader(17), FetchHead{}, 1)
		fw.Topic("topic", id, 1)
		chunk.b = payload
		fw.Partition(&part)
		batch[0] = fw.Finish(nil)
		if _, err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
		batch[0].Release()
	}
	fetch()
	if n := testing.AllocsPerRun(200, fetch); n > 0 {
		t.Errorf("a Fetch response costs %v allocations", n)
	}
	body := kmsg.NewPtrHeartbeatResponse()
	plain := func() {
		batch[0] = NewResponse(Header{Key: 12, Version: 4}, body)
		if _, err := w.Write(batch); err != nil {
			t.Fatal(err)
		}
		batch[0].Release()
	}
	plain()
	if n := testing.AllocsPerRun(200, plain); n > 0 {
		t.Errorf("a plain response costs %v allocations", n)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func BenchmarkFetchWriter(b *testing.B) {
	chunk := &bytesChunk{}
	w := NewResponseWriter(discard{})
	batch := make([]*Response, 1)
	part := FetchPartition{Records: chunk, PreferredReadReplica: -1}
	b.ReportAllocs()
	payload := make([]byte, 1<<20)
	for b.Loop() {
		chunk.b = payload
		fw := NewFetchWriter(fetchHeader(12), FetchHead{}, 1)
		fw.Topic("topic", [16]byte{}, 1)
		fw.Partition(&part)
		batch[0] = fw.Finish(nil)
		if _, err := w.Write(batch); err != nil {
			b.Fatal(err)
		}
		batch[0].Release()
	}
}
