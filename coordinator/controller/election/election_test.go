package election

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestAssignmentIsKafkas is the example of Kafka's own AdminUtils: 10 partitions
// with 3 replicas on 5 brokers.
func TestAssignmentIsKafkas(t *testing.T) {
	got, err := AssignReplicas(Placement{Brokers: []int32{0, 1, 2, 3, 4}, Count: 10, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int32{
		{0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4, 0}, {4, 0, 1},
		{0, 2, 3}, {1, 3, 4}, {2, 4, 0}, {3, 0, 1}, {4, 1, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assignment differs from Kafka's (-want +got):\n%s", diff)
	}
}

func TestAssignmentRefusesTooManyReplicas(t *testing.T) {
	if _, err := AssignReplicas(Placement{Brokers: []int32{1}, Count: 1, Replicas: 2}); !errors.Is(err, ErrTooFewBrokers) {
		t.Errorf("2 replicas on 1 broker: error %v, want ErrTooFewBrokers", err)
	}
	if _, err := AssignReplicas(Placement{Brokers: []int32{1}, Count: 1}); err == nil {
		t.Error("0 replicas: no error")
	}
}

func TestAssignmentProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "brokers")
		p := Placement{
			First: rapid.Int32Range(0, 20).Draw(t, "first"), Count: rapid.Int32Range(1, 40).Draw(t, "count"),
			Replicas: rapid.IntRange(1, n).Draw(t, "replicas"),
			Start:    rapid.IntRange(0, n-1).Draw(t, "start"), Shift: rapid.IntRange(0, n-1).Draw(t, "shift"),
		}
		for i := range n {
			p.Brokers = append(p.Brokers, int32(i+1))
		}
		got, err := AssignReplicas(p)
		if err != nil || len(got) != int(p.Count) {
			t.Fatalf("%d assignments, error %v", len(got), err)
		}
		leads := map[int32]int{}
		for _, replicas := range got {
			sorted := slices.Sorted(slices.Values(replicas))
			if len(replicas) != p.Replicas || len(slices.Compact(sorted)) != p.Replicas {
				t.Fatalf("replicas %v: want %d different ones", replicas, p.Replicas)
			}
			leads[replicas[0]]++
		}
		for _, b := range p.Brokers {
			if low := int(p.Count) / n; leads[b] < low || leads[b] > low+1 {
				t.Fatalf("broker %d leads %d of %d partitions on %d brokers", b, leads[b], p.Count, n)
			}
		}
	})
}

// TestRackAwareAssignmentIsKafkas is the example of Kafka's AdminUtils: 12 partitions
// with 3 replicas on 6 brokers in 3 racks, the second round shifted by one.
func TestRackAwareAssignmentIsKafkas(t *testing.T) {
	got, err := AssignReplicas(Placement{
		Brokers: []int32{0, 1, 2, 3, 4, 5}, Count: 12, Replicas: 3,
		Racks: map[int32]string{0: "rack1", 1: "rack3", 2: "rack3", 3: "rack2", 4: "rack2", 5: "rack1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]int32{
		{0, 3, 1}, {3, 1, 5}, {1, 5, 4}, {5, 4, 2}, {4, 2, 0}, {2, 0, 3},
		{0, 4, 2}, {3, 2, 0}, {1, 0, 3}, {5, 3, 1}, {4, 1, 5}, {2, 5, 4},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("assignment differs from Kafka's (-want +got):\n%s", diff)
	}
}

// TestRacksAreUsedEvenly: as many racks as can have one do, whatever their sizes.
func TestRacksAreUsedEvenly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "brokers")
		p := Placement{
			Count: rapid.Int32Range(1, 40).Draw(t, "count"), Replicas: rapid.IntRange(1, n).Draw(t, "replicas"),
			Start: rapid.IntRange(0, n-1).Draw(t, "start"), Shift: rapid.IntRange(0, n-1).Draw(t, "shift"), Racks: map[int32]string{},
		}
		racks := map[string]bool{}
		for i := range n {
			rack := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "rack")
			p.Brokers = append(p.Brokers, int32(i+1))
			p.Racks[int32(i+1)] = rack
			racks[rack] = true
		}
		got, err := AssignReplicas(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, replicas := range got {
			used := map[string]bool{}
			for _, b := range replicas {
				used[p.Racks[b]] = true
			}
			sorted := slices.Sorted(slices.Values(replicas))
			if len(replicas) != p.Replicas || len(slices.Compact(sorted)) != p.Replicas || len(used) != min(p.Replicas, len(racks)) {
				t.Fatalf("replicas %v on racks %v of %v", replicas, used, p.Racks)
			}
		}
	})
}
