package e2e

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// stream is an idempotent producer with acks=all that writes numbers from 0 to the
// partitions of a topic in turn, while something happens to the cluster.
type stream struct {
	topic      string
	partitions int
	client     *kgo.Client
	acked      atomic.Int64
	stop, done chan struct{}

	mu     sync.Mutex
	sent   int
	failed []error
}

// startStream produces until end is called. The topic exists.
func startStream(t *testing.T, r *rig, topic string, partitions int) *stream {
	t.Helper()
	s := &stream{topic: topic, partitions: partitions, stop: make(chan struct{}), done: make(chan struct{}),
		client: r.client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))}
	go s.produce()
	t.Cleanup(s.halt)
	s.awaitMore(t, 1)
	return s
}

// produce sends ten records every 20 ms, so that most requests carry few.
func (s *stream) produce() {
	defer close(s.done)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; {
		for range 10 {
			s.client.Produce(context.Background(), &kgo.Record{Topic: s.topic, Partition: int32(i % s.partitions), Value: strconv.AppendInt(nil, int64(i), 10)}, s.answered)
			i++
		}
		s.mu.Lock()
		s.sent = i
		s.mu.Unlock()
		select {
		case <-tick.C:
		case <-s.stop:
			return
		}
	}
}

func (s *stream) answered(_ *kgo.Record, err error) {
	if err == nil {
		s.acked.Add(1)
		return
	}
	s.mu.Lock()
	s.failed = append(s.failed, err)
	s.mu.Unlock()
}

// awaitMore waits until more records are acknowledged than now.
func (s *stream) awaitMore(t *testing.T, more int64) {
	t.Helper()
	now := s.acked.Load()
	for deadline := time.Now().Add(patience); s.acked.Load() < now+more; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: %d records are acknowledged, as %v before; those that failed: %v", s.topic, now, patience, s.errors())
		}
	}
}

func (s *stream) errors() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *stream) halt() {
	select {
	case <-s.stop:
	default:
		close(s.stop)
	}
	<-s.done
}

// end stops producing; every record must have been acknowledged, and be there once
// and in order.
func (s *stream) end(t *testing.T, r *rig) {
	t.Helper()
	s.halt()
	if err := s.client.Flush(patiently(t)); err != nil {
		t.Fatalf("%s: %d of %d records are acknowledged: %v", s.topic, s.acked.Load(), s.sent, err)
	}
	if failed := s.errors(); len(failed) > 0 {
		t.Fatalf("%s: %d of %d records failed, the first with: %v", s.topic, len(failed), s.sent, failed[0])
	}
	t.Logf("%s: %d records", s.topic, s.sent)
	s.requireAll(t, r)
}

// requireAll reads the topic whole.
func (s *stream) requireAll(t *testing.T, r *rig) {
	t.Helper()
	ctx := patiently(t)
	start := map[int32]kgo.Offset{}
	for p := range s.partitions {
		start[int32(p)] = kgo.NewOffset().AtStart()
	}
	reader := r.client(t, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{s.topic: start}))
	next := make([]int, s.partitions)
	for p := range next {
		next[p] = p
	}
	for left := s.sent; left > 0; {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			t.Fatalf("%s: %d of %d acknowledged records are not to be read: %v", s.topic, left, s.sent, fetches.Err())
		}
		fetches.EachRecord(func(record *kgo.Record) {
			if got := string(record.Value); got != strconv.Itoa(next[record.Partition]) {
				t.Fatalf("at offset %d of %s-%d there is %q, want %d", record.Offset, s.topic, record.Partition, got, next[record.Partition])
			}
			next[record.Partition] += s.partitions
			left--
		})
	}
	ends, err := r.admin(t).ListEndOffsets(ctx, s.topic)
	if err != nil {
		t.Fatal(err)
	}
	for p, offset := range ends[s.topic] {
		if want := int64(next[p] / s.partitions); offset.Err != nil || offset.Offset != want {
			t.Errorf("%s-%d ends at %d, %v, want %d", s.topic, p, offset.Offset, offset.Err, want)
		}
	}
}
