package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"testing"

	"tidemark/bench/driver"
	"tidemark/bench/workload"
)

// bounded is a feed that asks for sends until so many bytes have left.
type bounded struct{ left atomic.Int64 }

func (f *bounded) Next() (int64, bool)            { return 0, f.left.Load() > 0 }
func (f *bounded) Due() (int64, bool)             { return f.Next() }
func (f *bounded) Saturating() bool               { return true }
func (f *bounded) Sent(_, _ int64, s driver.Send) { f.left.Add(-s.Wire) }
func (f *bounded) Acked(driver.Ack)               {}
func (f *bounded) Failed(int64, int64)            {}

// rawProduce sends 64 KiB batches to a new topic with the settings, and returns
// how many were acknowledged.
func rawProduce(t *testing.T, b *brokerProcess, topic string, bytes int64, settings map[string]string) (batches int64) {
	t.Helper()
	load := workload.Load{Driver: "raw", RecordBytes: 100, Entropy: 0.5, Partitions: 1, Brokers: 1, Replicas: 1, Producers: 1, Consumers: 1,
		Acks: 1, Compression: "none", BatchBytes: 64 << 10, InFlight: 8, FetchMaxBytes: 1 << 20, Topic: settings}
	s, err := driver.Open(context.Background(), driver.Options{Load: load, Bootstrap: b.Bootstrap, Topic: topic, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() // Everything it sent was answered.
	f := &bounded{}
	f.left.Store(bytes)
	if unanswered, err := s.Produce(t.Context(), 0, f); err != nil || unanswered > 0 {
		t.Fatalf("%d records unanswered, %v", unanswered, err)
	}
	records, err := s.Count(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return records / s.Unit().Records
}

const inPlaceTotal = `(?m)^tidemark_produce_in_place_total (\S+)$`

// Most batches of a producer that keeps the broker busy are wholly in the kernel
// when the broker gets to them, and are received where they will lie.
func TestMappedReceivesMostBatchesInPlace(t *testing.T) {
	metrics := freeAddress(t)
	b := startBroker(t, "metrics.listener="+metrics)
	batches := rawProduce(t, b, "mapped", 128<<20, map[string]string{"storage.append.engine": "mapped"})
	took := int64(number(t, scrape(t, metrics), inPlaceTotal))
	t.Logf("%d of %d batches were received in place", took, batches)
	if took < batches/2 {
		t.Errorf("%d of %d batches were received in place, want most", took, batches)
	}
	rawProduce(t, b, "copied", 8<<20, map[string]string{"storage.append.engine": "mapped", "storage.append.inplace": "false"})
	rawProduce(t, b, "buffered", 8<<20, map[string]string{"storage.append.engine": "buffered"})
	if now := int64(number(t, scrape(t, metrics), inPlaceTotal)); now != took {
		t.Errorf("%d batches more were received in place where that is off or cannot be", now-took)
	}
}

// The kernel's side of it: records come by readv(2), into more than the server's
// own memory, and no segment is written with them.
func TestMappedReceivesByVectoredRead(t *testing.T) {
	need(t, "strace", "scripts/need.sh strace")
	out := filepath.Join(t.TempDir(), "trace")
	strace := []string{"strace", "-f", "-y", "-qq", "-s", "0", "-e", "trace=readv,write,writev,pwrite64,pwritev,pwritev2", "-o", out}
	b := startBrokerWith(t, strace, t.TempDir())
	const sent = 16 << 20
	rawProduce(t, b, "traced", sent, map[string]string{"storage.append.engine": "mapped"})
	b.Stop(t)
	bytes, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	trace := joinResumed(string(bytes))
	received := sumReturns(trace, regexp.MustCompile(`(?m)readv\(\d+<(?:socket|TCP)[^>]*>.* = (\d+)$`))
	if received < sent/2 {
		t.Errorf("readv(2) received %d of %d bytes from sockets, want most", received, sent)
	}
}
