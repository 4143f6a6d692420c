package replica

import (
	"sync"
	"testing"
	"time"

	"tidemark/broker/purgatory"
	"tidemark/commitlog"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
	"tidemark/internal/vfs"
)

// benchHost is a manager on the machine's disk that leads topics under each flush
// policy.
func benchHost(t testing.TB, partitions int32, to *trace.Tracer) *Manager {
	policies := map[string]FlushPolicy{"os": FlushOS, "batch": FlushBatch, "group": FlushGroup}
	o := hostOptions(vfs.OS{}, t.TempDir())
	o.Clock, o.Trace = clock.Real{}, to
	o.Config = func(topic string) TopicConfig {
		c := NewTopicConfig()
		c.AppendEngine, c.ReadEngine, c.Flush = "buffered", "pread", policies[topic]
		c.Log.SegmentBytes, c.Log.FileDeleteDelay = 64<<20, time.Millisecond
		return c
	}
	m := New(o)
	if err := m.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(1); err != nil {
			t.Error(err)
		}
	})
	var states []State
	id := byte(0)
	for topic := range policies {
		id++
		for i := range partitions {
			states = append(states, State{Topic: topic, TopicID: [16]byte{id}, Index: i, Leader: 1, Replicas: []int32{1}, ISR: Members(1)})
		}
	}
	if err := m.Apply(states).Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

// BenchmarkAcknowledged is one record from append to acknowledgement with as many in
// flight as named: what group commit buys, on this disk.
func BenchmarkAcknowledged(b *testing.B) {
	for _, policy := range []string{"os", "batch", "group"} {
		for _, load := range []struct {
			name             string
			partitions, each int
		}{{"1x5", 1, 5}, {"8x5", 8, 5}} {
			b.Run(policy+"/"+load.name, func(b *testing.B) {
				m := benchHost(b, int32(load.partitions), nil)
				waiters := purgatory.New(clock.Real{})
				defer waiters.Close()
				tickets := make(chan struct{}, b.N)
				for range b.N {
					tickets <- struct{}{}
				}
				close(tickets)
				b.ResetTimer()
				var clients sync.WaitGroup
				for i := range load.partitions * load.each {
					p := m.Partition(policy, int32(i%load.partitions))
					clients.Go(func() {
						batch := testBatch("a record of no great length")
						for range tickets {
							batch.SetBaseOffset(0)
							info, moved, err := p.Append(batch, 1, commitlog.Client)
							if err != nil {
								b.Error(err)
								return
							}
							if moved {
								p.Changed.Wake()
							}
							done := make(chan struct{})
							waiters.Park(&counts{p, info.LastOffset, done}, time.Minute, &p.Changed)
							<-done
						}
					})
				}
				clients.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
			})
		}
	}
}

// TestAppendAllocations: asking for a sync costs an append no memory.
func TestAppendAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools drop at random under the race detector")
	}
	m := benchHost(t, 1, nil)
	for _, policy := range []string{"os", "group"} {
		p := m.Partition(policy, 0)
		batch := testBatch("x")
		appendOne := func() {
			batch.SetBaseOffset(0)
			if _, _, err := p.Append(batch, 1, commitlog.Client); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 {
			appendOne()
		}
		if n := testing.AllocsPerRun(1000, appendOne); n > 0 {
			t.Errorf("%s: %v allocations per append, want 0", policy, n)
		}
	}
}

// BenchmarkAppendAlone is a batch of 16 KiB for the only replica: what the rules of
// replication cost who has none.
func BenchmarkAppendAlone(b *testing.B) { appendAlone(b, nil) }

// BenchmarkAppendTraced is the same with a trace on the machine's disk.
func BenchmarkAppendTraced(b *testing.B) {
	r, err := trace.Record(b.TempDir(), 1, func() time.Duration { return time.Duration(time.Now().UnixNano()) }, nil)
	if err != nil {
		b.Fatal(err)
	}
	appendAlone(b, r.Tracer())
	b.ReportMetric(float64(r.Dropped()), "dropped")
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}

func appendAlone(b *testing.B, to *trace.Tracer) {
	m := benchHost(b, 1, to)
	p := m.Partition("os", 0)
	batch := testBatch(string(make([]byte, 16<<10)))
	b.ReportAllocs()
	b.SetBytes(int64(len(batch)))
	for n := 0; b.Loop(); n++ {
		if n%8192 == 8191 { // 128 MiB: a segment's worth is let go.
			b.StopTimer()
			if _, err := p.DeleteRecords(ToHighWatermark); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		batch.SetBaseOffset(0)
		_, moved, err := p.Append(batch, AckAll, commitlog.Client)
		if err != nil {
			b.Fatal(err)
		}
		if moved {
			p.Changed.Wake()
		}
	}
}
