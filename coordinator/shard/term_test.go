package shard

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/protocol/record"
)

// batch is one batch of records at an offset.
func batch(offset int64, records ...string) record.Batch {
	b := record.NewBuilder(record.None, record.DefaultLevel)
	for _, r := range records {
		b.Append(0, []byte("k"), []byte(r), nil)
	}
	built := b.Build()
	built.SetBaseOffset(offset)
	return built
}

// TestSessionLostTwiceWhileLoading: the second life of the shard loads and serves,
// while the first still hangs in its read (KAFKA-9307).
func TestSessionLostTwiceWhileLoading(t *testing.T) {
	s := newStage(t)
	s.log.batches, s.log.end = []record.Batch{batch(0, "a")}, 1
	stuck := newLog()
	stuck.batches, stuck.end, stuck.reading = s.log.batches, 1, make(chan struct{})
	s.Elected(0, 1, stuck)
	s.Resigned(0, 2)
	s.Elected(0, 3, stuck)
	s.Resigned(0, 4)
	s.Resigned(0, 4)
	if got := s.State(0); got != Inactive {
		t.Fatalf("state %d after the second loss, want inactive", got)
	}
	s.log.epoch = 5
	s.Elected(0, 5, s.log)
	wait(t, s.loaded)
	s.log.commit()
	if diff := cmp.Diff([]string{"0:a"}, s.entries()); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	close(stuck.reading)
	if diff := cmp.Diff([]int32{0}, s.Partitions()); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
}

func TestEpochsOfElections(t *testing.T) {
	s := newStage(t)
	s.log.epoch = 5
	loads := func() (n int) {
		s.Helper()
		s.do(func(d *diary, _ time.Time, token Token, out *Outcome[string]) {
			d.memory, n = d.memory+"x", len(d.memory)
			out.Reply(token, nil, nil)
		})
		return n
	}
	s.Elected(0, 5, s.log)
	wait(t, s.loaded)
	if got := loads(); got != 0 {
		t.Fatalf("a machine that was there before the election")
	}
	s.Elected(0, 5, s.log)
	s.Elected(0, 4, newLog())
	s.Resigned(0, 4)
	if got := loads(); got != 1 {
		t.Error("news that are not new began a new machine")
	}
	s.log.set(func() { s.log.epoch = 6 })
	s.Elected(0, 6, s.log)
	if got := loads(); got != 2 {
		t.Error("the next epoch of the same leader began a new machine")
	}
	if r := s.do(write("a")); r.Err != nil {
		t.Errorf("an append in the next epoch: %v", r.Err)
	}
	s.log.set(func() { s.log.epoch = 8 })
	s.Elected(0, 8, s.log)
	wait(t, s.loaded)
	if got := loads(); got != 0 {
		t.Error("somebody else may have led in epoch 7, and the machine is the same")
	}
	s.Resigned(0, 8)
	if got := s.State(0); got != Inactive {
		t.Errorf("state %d after the resignation", got)
	}
}

func TestWhoWaitsIsToldOfTheEnd(t *testing.T) {
	s := newStage(t)
	s.log.manual = true
	s.elect()
	waits := s.send(func(*diary, time.Time, Token, *Outcome[string]) {})
	parked := s.send(write("a"))
	s.passed()
	s.Resigned(0, 2)
	for _, c := range []<-chan Reply{waits, parked} {
		if r := s.get(c); r.Err != ErrNotCoordinator {
			t.Errorf("got %v, want %v", r.Err, ErrNotCoordinator)
		}
	}
	s.host.Close()
	if len(s.log.watchers) != 0 {
		t.Error("the log is still watched")
	}
	s.Elected(0, 3, s.log)
	if r := s.do(read); r.Err != ErrNotCoordinator {
		t.Errorf("after Close: got %v", r.Err)
	}
}

func TestLoading(t *testing.T) {
	empty := record.AppendEmpty(nil, batch(6, "compacted", "away"))
	for name, c := range map[string]struct {
		batches    []record.Batch
		start, end int64
		want       []string
		fails      bool
	}{
		"nothing":                     {},
		"more than one read":          {batches: []record.Batch{batch(0, string(make([]byte, 2000))), batch(1, "b", "c")}, end: 3, want: []string{"0:" + string(make([]byte, 2000)), "1:b", "2:c"}},
		"from the log start":          {batches: []record.Batch{batch(0, "a", "b", "c")}, start: 2, end: 3, want: []string{"2:c"}},
		"compacted inside":            {batches: []record.Batch{batch(2, "a"), batch(5, "b"), empty}, end: 8, want: []string{"2:a", "5:b"}},
		"a tail that was compacted":   {batches: []record.Batch{batch(0, "a")}, end: 9, want: []string{"0:a"}},
		"a record of an unknown kind": {batches: []record.Batch{batch(0, "a", "?", "b")}, end: 3, want: []string{"0:a", "2:b"}},
		"a record that is damaged":    {batches: []record.Batch{batch(0, "a", "!")}, end: 2, fails: true},
		"bytes that are no batch":     {batches: []record.Batch{batch(0, "a"), record.Batch(make([]byte, 80))}, end: 2, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.log.batches, s.log.start, s.log.end = c.batches, c.start, c.end
			s.Elected(0, 1, s.log)
			if c.fails {
				wait(t, s.failed)
				if r := s.do(read); r.Err != ErrNotCoordinator || s.State(0) != Failed {
					t.Errorf("got %v in state %d", r.Err, s.State(0))
				}
				s.log.set(func() { s.log.batches, s.log.end = nil, 0 })
				s.elect() // the same epoch once more
				return
			}
			wait(t, s.loaded)
			s.log.commit()
			if diff := cmp.Diff(c.want, s.entries()); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatWasLoadedIsCommittedFirst: a new leader may hold records that are not
// committed yet; nobody is told of them before.
func TestWhatWasLoadedIsCommittedFirst(t *testing.T) {
	s := newStage(t)
	s.log.batches, s.log.end = []record.Batch{batch(0, "a")}, 1
	s.elect()
	reads := s.send(read)
	s.silent(reads, "the log's end is not committed")
	s.log.commit()
	s.get(reads)
}

// TestPartitionFor has Java's own hashes.
func TestPartitionFor(t *testing.T) {
	for _, c := range []struct {
		id   string
		hash int32
		want int32
	}{
		{"", 0, 0}, {"a", 97, 47}, {"my-group", -1906497762, 12}, {"polygenelubricants", -1 << 31, 0}, {"\U0001F600", 1772899, 49},
	} {
		if got := javaHash(c.id); got != c.hash {
			t.Errorf("hash of %q: got %d, want %d", c.id, got, c.hash)
		}
		if got := PartitionFor(c.id, 50); got != c.want {
			t.Errorf("partition of %q: got %d, want %d", c.id, got, c.want)
		}
	}
}
