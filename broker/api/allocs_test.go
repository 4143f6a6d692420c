package api

import (
	"io"
	"testing"

	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// sender answers to nobody, at no cost.
type sender struct{}

func (sender) Reply(r *wire.Response) {
	if _, err := r.WriteTo(io.Discard); err != nil {
		panic(err)
	}
	r.Release()
}
func (s sender) ReplyWith(build func() *wire.Response) { s.Reply(build()) }
func (sender) NoReply()                                {}
func (sender) Fail(err error)                          { panic(err) }
func (sender) ReleaseBody()                            {}
func (sender) OfferNext()                              {}
func (sender) AfterClose(func()) func() bool           { return func() bool { return true } }

// maxAllocs is what a request of one partition may allocate in steady state.
const maxAllocs = 12

func TestProduceAllocs(t *testing.T) {
	c := newCluster(t, map[string]string{"log.segment.bytes": "1073741824"})
	c.topic("t", 1, "storage.validation", "header")
	for _, version := range []int16{7, 9, 11} {
		whole := produceRequest(version, 1, "t", 0, batch(record.None, "a", "b", "c")).AppendTo(nil)
		body := make([]byte, len(whole))
		var to answerer = sender{}
		got := testing.AllocsPerRun(500, func() {
			copy(body, whole) // the last append patched it
			c.server.serve(call{header: wire.Header{Key: 0, Version: version, CorrelationID: 7}, body: body, to: to})
		})
		t.Logf("version %d: %v allocations", version, got)
		if got > maxAllocs {
			t.Errorf("version %d: %v allocations per produce, want at most %d", version, got, maxAllocs)
		}
	}
}

func TestFetchAllocs(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1)
	c.produce("t", 0, batch(record.None, "a", "b", "c"))
	for _, version := range []int16{10, 12, 17} {
		body := c.fetchRequest(version, "t", 0, 0).AppendTo(nil)
		var to answerer = sender{}
		got := testing.AllocsPerRun(500, func() {
			c.server.serve(call{header: wire.Header{Key: 1, Version: version, CorrelationID: 7}, body: body, to: to})
		})
		t.Logf("version %d: %v allocations", version, got)
		if got > maxAllocs {
			t.Errorf("version %d: %v allocations per fetch, want at most %d", version, got, maxAllocs)
		}
	}
}

// TestPollAllocs is a fetch that waits and is woken by a produce.
func TestPollAllocs(t *testing.T) {
	c := newCluster(t, nil)
	c.topic("t", 1, "storage.validation", "header")
	var to answerer = sender{}
	produce := produceRequest(9, 1, "t", 0, batch(record.None, "a")).AppendTo(nil)
	body := make([]byte, len(produce))
	offset := int64(0)
	poll := c.fetchRequest(12, "t", 0, 0)
	poll.MaxWaitMillis = 500
	var fetch []byte
	got := testing.AllocsPerRun(500, func() {
		poll.Topics[0].Partitions[0].FetchOffset = offset
		fetch = poll.AppendTo(fetch[:0])
		c.server.serve(call{header: wire.Header{Key: 1, Version: 12}, body: fetch, to: to})
		copy(body, produce)
		c.server.serve(call{header: wire.Header{Key: 0, Version: 9}, body: body, to: to})
		offset++
	})
	t.Logf("%v allocations", got)
	if got > 2*maxAllocs {
		t.Errorf("%v allocations per poll and produce, want at most %d", got, 2*maxAllocs)
	}
	if c.server.Parked() != 0 {
		t.Errorf("%d polls are left", c.server.Parked())
	}
}

func BenchmarkProduce(b *testing.B) {
	c := newCluster(b, nil)
	c.topic("t", 1, "storage.validation", "header", "segment.bytes", "16777216", "retention.bytes", "0")
	whole := produceRequest(9, 1, "t", 0, batch(record.None, "a", "b", "c")).AppendTo(nil)
	body := make([]byte, len(whole))
	var to answerer = sender{}
	b.ReportAllocs()
	for b.Loop() {
		copy(body, whole)
		c.server.serve(call{header: wire.Header{Key: 0, Version: 9}, body: body, to: to})
	}
}

func BenchmarkFetch(b *testing.B) {
	c := newCluster(b, nil)
	c.topic("t", 1)
	c.produce("t", 0, batch(record.None, "a", "b", "c"))
	body := c.fetchRequest(12, "t", 0, 0).AppendTo(nil)
	var to answerer = sender{}
	b.ReportAllocs()
	for b.Loop() {
		c.server.serve(call{header: wire.Header{Key: 1, Version: 12}, body: body, to: to})
	}
}
