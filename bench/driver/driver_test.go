package driver

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"

	"tidemark/bench/workload"
	"tidemark/protocol/record"
)

// body cuts size prefix and header off a request frame.
func body(t *rapid.T, frame []byte) []byte {
	if got := int(big.Uint32(frame)); got != len(frame)-4 {
		t.Fatalf("frame says %d bytes, has %d", got, len(frame)-4)
	}
	return frame[4+2+2+4+2+len(clientID):]
}

// TestRawFramesAgainstKmsg compares the hand-written frames with the generated
// codec.
func TestRawFramesAgainstKmsg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic := rapid.StringMatching(`[a-z]{1,20}`).Draw(t, "topic")
		partition := rapid.Int32Range(0, 1000).Draw(t, "partition")
		offset := rapid.Int64Min(0).Draw(t, "offset")
		correlation := rapid.Int32().Draw(t, "correlation")
		batch := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "batch")

		header := produceHeader(topic, -1)
		setProduce(header, correlation, partition, len(batch))
		var p kmsg.ProduceRequest
		p.SetVersion(produceVersion)
		if err := p.ReadFrom(body(t, append(header, batch...))); err != nil {
			t.Fatal(err)
		}
		want := kmsg.ProduceRequest{Version: produceVersion, Acks: -1, TimeoutMillis: 30_000, Topics: []kmsg.ProduceRequestTopic{{
			Topic: topic, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: batch}}}}}
		if diff := cmp.Diff(want, p, cmp.AllowUnexported(kmsg.Tags{})); diff != "" {
			t.Fatalf("produce request (-want +got):\n%s", diff)
		}

		request := fetchRequest(topic, 500, 1<<20)
		setFetch(request, correlation, partition, offset)
		var f kmsg.FetchRequest
		f.SetVersion(fetchVersion)
		if err := f.ReadFrom(body(t, request)); err != nil {
			t.Fatal(err)
		}
		got := f.Topics[0].Partitions[0]
		if f.ReplicaID != -1 || f.SessionEpoch != -1 || f.MaxBytes != 1<<20 || f.Topics[0].Topic != topic ||
			got.Partition != partition || got.FetchOffset != offset || got.CurrentLeaderEpoch != -1 || got.LogStartOffset != -1 || got.PartitionMaxBytes != 1<<20 {
			t.Fatalf("fetch request %+v", f)
		}
	})
}

// frame encodes an answer with its size and correlation id.
func frame(correlation int32, r kmsg.Response) []byte {
	b := big.AppendUint32(make([]byte, 4), uint32(correlation))
	b = r.AppendTo(b)
	big.PutUint32(b, uint32(len(b)-4))
	return b
}

func TestRawAnswersAgainstKmsg(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topic := rapid.StringMatching(`[a-z]{1,20}`).Draw(t, "topic")
		offset := rapid.Int64Min(0).Draw(t, "offset")
		code := rapid.SampledFrom([]int16{0, 6, 87}).Draw(t, "code")
		p := kmsg.NewPtrProduceResponse()
		p.SetVersion(produceVersion)
		p.Topics = []kmsg.ProduceResponseTopic{{Topic: topic, Partitions: []kmsg.ProduceResponseTopicPartition{{Partition: 1, ErrorCode: code, BaseOffset: offset}}}}
		got, err := newProduceAnswer(topic).parse(frame(7, p), 7)
		if code == 0 && (err != nil || got != offset) || code != 0 && err != kerr.ErrorForCode(code) {
			t.Fatalf("produce answer with code %d: %d, %v", code, got, err)
		}

		records := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "records")
		f := kmsg.NewPtrFetchResponse()
		f.SetVersion(fetchVersion)
		part := kmsg.NewFetchResponseTopicPartition()
		part.ErrorCode, part.HighWatermark, part.RecordBatches = code, offset, records
		f.Topics = []kmsg.FetchResponseTopic{{Topic: topic, Partitions: []kmsg.FetchResponseTopicPartition{part}}}
		high, n, err := newFetchAnswer(topic).parse(frame(9, f), 9)
		if code == 0 && (err != nil || high != offset || n != len(records)) || code != 0 && err != kerr.ErrorForCode(code) {
			t.Fatalf("fetch answer with code %d: %d, %d, %v", code, high, n, err)
		}
		if _, _, err := newFetchAnswer(topic).parse(frame(9, f), 8); err == nil {
			t.Fatal("an answer to another request was taken")
		}
	})
}

// load is a one-cell suite's load.
func load(t testing.TB, lines string) workload.Load {
	t.Helper()
	s, err := workload.Parse([]byte("apiVersion: bench/v1\nname: t\nexperiments:\n  - name: e\n" + lines))
	if err != nil {
		t.Fatal(err)
	}
	return s.Experiments[0].Cells()[0].Load
}

func TestPoolsHoldRealBatches(t *testing.T) {
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		l := load(t, "    client: {compression.type: "+codec+", batch.size: 16KiB}\n")
		p, err := newPool(l, 3)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range p.batches {
			batch, rest, err := record.Parse(b)
			if err != nil || len(rest) != 0 || batch.CheckCRC() != nil || batch.Codec().String() != codec || int64(batch.Count()) != p.records {
				t.Fatalf("%s batch %d: %v, %d records", codec, i, err, batch.Count())
			}
		}
		if p.plainBytes > 16<<10 || p.plainBytes < 15<<10 {
			t.Errorf("%s: %d bytes uncompressed, want nearly 16 KiB", codec, p.plainBytes)
		}
		if u := p.unit(); codec != "none" && (u.CompressPermil >= 900 || u.CompressPermil <= 300) || codec == "none" && u.CompressPermil != 1000 {
			t.Errorf("%s of half random values compresses to %d ‰", codec, u.CompressPermil)
		}
		if _, err := p.walk(0, int64(len(p.batches[0]))-1); err == nil {
			t.Errorf("%s: part of a batch was counted", codec)
		}
		if n, err := p.walk(1, int64(len(p.at(1))+len(p.at(2)))); err != nil || n != 2*p.records {
			t.Errorf("%s: two batches hold %d records, %v", codec, n, err)
		}
	}
}

func TestPayloadsFollowTheSeed(t *testing.T) {
	l := load(t, "    client: {batch.size: 1KiB}\n")
	a, err1 := newPool(l, 1)
	b, err2 := newPool(l, 1)
	c, err3 := newPool(l, 2)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	payload := func(p *pool) string { return string(p.batches[0][record.HeaderSize:]) }
	if payload(a) != payload(b) || payload(a) == payload(c) {
		t.Error("want the same payload for the same seed and another for another")
	}
}
