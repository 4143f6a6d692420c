package peer

import (
	"runtime"
	"runtime/debug"
	"testing"

	"tidemark/protocol/wire"
)

// TestFetchCopiesNoRecords: in steady state a response of 1 MiB is read into
// memory that there is.
func TestFetchCopiesNoRecords(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool forget")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pool
	const fetches = 50
	p := newTestPool(t, Options{}, newFake(t, 2, bulk(framed(oneMiB()))))
	for range 3 {
		fetch(t, p)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range fetches {
		fetch(t, p)
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / fetches; each > 8<<10 {
		t.Errorf("a fetch of 1 MiB allocates %d bytes", each)
	}
}

func fetch(t testing.TB, p *Pool) {
	n := 0
	err := p.Fetch(background, 2, 0, FetchRequest{Partitions: make([]FetchPartition, 1)}, func(a *FetchedPartition) { n += len(a.Records) })
	if err != nil {
		t.Fatal(err)
	}
	if n != 1<<20 {
		t.Fatalf("%d bytes of records", n)
	}
}

// bulk answers every request with the same frame.
func bulk(frame []byte) func(*fakeConn) {
	return func(c *fakeConn) {
		in := make([]byte, 4<<10)
		for {
			request, err := wire.ReadFrame(c, 1<<20, in)
			if err != nil {
				return
			}
			copy(frame[4:8], request[4:8]) // correlation id
			if _, err := c.Write(frame); err != nil {
				return
			}
		}
	}
}

func BenchmarkFetch1MiB(b *testing.B) {
	p := newTestPool(b, Options{}, newFake(b, 2, bulk(framed(oneMiB()))))
	fetch(b, p)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		fetch(b, p)
	}
}

// BenchmarkRoundTrip is what a call costs beside its bytes.
func BenchmarkRoundTrip(b *testing.B) {
	p := newTestPool(b, Options{}, newFake(b, 2, obey))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.UpdateMetadata(background, 2, UpdateMetadata{}); err != nil {
			b.Fatal(err)
		}
	}
}

// framed is the body as a response to request 0.
func framed(body []byte) []byte {
	out := appendInt32(nil, int32(len(body)+5))
	return append(append(out, 0, 0, 0, 0, 0), body...)
}
