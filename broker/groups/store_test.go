package groups

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/group"
	"tidemark/coordinator/znode"
)

// slowWriter is a writer whose every write waits to be let go.
type slowWriter struct {
	began chan []znode.OffsetWrite
	end   chan error
}

func (w slowWriter) Write(ctx context.Context, writes []znode.OffsetWrite) error {
	w.began <- writes
	select {
	case err := <-w.end:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func offset(name string, partition int32, offset int64) group.Record {
	return &group.OffsetRecord{Group: name, TopicPartition: group.TopicPartition{Topic: "t", Partition: partition}, Offset: offset, Tombstone: offset < 0}
}

func wrote(name string, partition int32, offset int64) znode.OffsetWrite {
	return znode.OffsetWrite{Group: name, TopicPartition: znode.TopicPartition{Topic: "t", Partition: partition}, Offset: offset, Remove: offset < 0}
}

// TestTurns: what comes while a write is under way goes together, each offset once
// with its last value, and is answered in order.
func TestTurns(t *testing.T) {
	w := slowWriter{make(chan []znode.OffsetWrite), make(chan error)}
	s := newOffsetSession(w)
	defer s.Close()
	var mu sync.Mutex
	var answers []string
	answered := make(chan struct{}, 10)
	keep := func(name string, records ...group.Record) {
		s.Write(records, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				name += ": " + err.Error()
			}
			answers = append(answers, name)
			answered <- struct{}{}
		})
	}
	keep("first", offset("g", 0, 1))
	expect := func(want ...znode.OffsetWrite) {
		t.Helper()
		select {
		case got := <-w.began:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("a turn's writes (-want +got):\n%s", diff)
			}
		case <-time.After(2 * time.Minute):
			t.Fatal("nothing is written")
		}
	}
	expect(wrote("g", 0, 1))
	keep("second", offset("g", 0, 2), offset("g", 1, 2))
	keep("third", offset("h", 0, 3), offset("g", 0, 3))
	keep("fourth", offset("g", 1, -1))
	w.end <- nil
	expect(wrote("g", 0, 3), wrote("g", 1, -1), wrote("h", 0, 3))
	w.end <- errors.New("replaced")
	for range 4 {
		<-answered
	}
	want := []string{"first", "second: replaced", "third: replaced", "fourth: replaced"}
	if diff := cmp.Diff(want, answers); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	keep("never", offset("g", 0, 9)) // the session is over: its shard takes over anew
}

// TestCloseEndsATurn that is under way.
func TestCloseEndsATurn(t *testing.T) {
	w := slowWriter{make(chan []znode.OffsetWrite), make(chan error)}
	s := newOffsetSession(w)
	s.Write([]group.Record{offset("g", 0, 1)}, func(err error) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the turn ended with %v", err)
		}
	})
	<-w.began
	s.Close()
}
