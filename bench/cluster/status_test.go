package cluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/process"
)

// TestMerge puts three views of one partition together: a deposed leader that does
// not know it yet, the leader, and silence from the third.
func TestMerge(t *testing.T) {
	replica := func(role string, epoch int32) Replica {
		return Replica{Topic: "t", Partition: 3, Strategy: "isr", Role: role, Leader: 1, LeaderEpoch: epoch, Replicas: []int32{3, 1, 2}, ISR: []int32{1},
			MinISR: 1, Start: 0, End: 10, Watermark: 7}
	}
	deposed, leader := replica("leader", 4), replica("leader", 5)
	leader.Leader, leader.ISR, leader.Waiting, leader.Admits = 2, []int32{2, 3}, "it waits", true
	leader.Followers = []Follower{{Broker: 1, End: -1, Lag: -1}, {Broker: 3, End: 8, Lag: 2, InSync: true, BehindMs: 1500}}
	got := merge([]*Partitions{{Broker: 1, Partitions: []Replica{deposed}}, {Broker: 2, Partitions: []Replica{leader}}}, nil)
	want := []PartitionStatus{{
		Topic: "t", Partition: 3, Strategy: "isr", Leader: 2, LeaderEpoch: 5, MinISR: 1, ISR: []int32{2, 3}, OSR: []int32{1}, Admits: true, Waiting: "it waits",
		Replicas: []ReplicaStatus{
			{Broker: 1, Role: "leader", LeaderEpoch: 4, End: 10, Watermark: 7, Lag: -1},
			{Broker: 2, Role: "leader", InSync: true, LeaderEpoch: 5, End: 10, Watermark: 7, Lag: -1},
			{Broker: 3, InSync: true, LeaderEpoch: -1, End: 8, Watermark: -1, Lag: 2, BehindMs: 1500},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
}

// TestMergeWithoutLeader: followers know who is to lead, and that is not enough.
func TestMergeWithoutLeader(t *testing.T) {
	follower := Replica{Topic: "t", Role: "follower", Leader: 1, LeaderEpoch: 2, Replicas: []int32{1, 2}, ISR: []int32{1, 2}, Admits: true, End: 5, Watermark: 5}
	views := []*Partitions{{Broker: 2, Partitions: []Replica{follower}}}
	got := merge(views, nil)[0]
	if got.Leader != 1 || got.Admits || len(got.Replicas) != 2 || got.Replicas[0].Role != "" || got.Replicas[0].End != -1 {
		t.Errorf("merged %+v", got)
	}
	for state, want := range map[process.State]string{process.Running: "does not say", process.Gone: "is down", process.Paused: "is paused"} {
		if got := merge(views, map[int32]process.State{1: state})[0].Waiting; !strings.Contains(got, want) {
			t.Errorf("with the leader %s: %q, want %q", state, got, want)
		}
	}
	views[0].Partitions[0].Leader = -1
	if got := merge(views, nil)[0]; got.Waiting != "nobody leads" {
		t.Errorf("waiting: %q", got.Waiting)
	}
}

// TestNobodyLeads names what each strategy lacks.
func TestNobodyLeads(t *testing.T) {
	states := map[int32]process.State{1: process.Running, 2: process.Gone, 3: process.Paused}
	for _, test := range []struct {
		strategy      string
		replicas, isr []int32
		want          string
	}{
		{"quorum", []int32{1, 2, 3}, []int32{1, 2, 3}, "nobody leads: 1 of 3 replicas is live, 2 are needed"},
		{"quorum", []int32{2, 3}, []int32{2, 3}, "nobody leads: 0 of 2 replicas are live, 2 are needed"},
		{"quorum", []int32{1}, []int32{1}, "nobody leads"},
		{"isr", []int32{1, 2, 3}, []int32{3, 2}, "waiting for broker 2 or 3"},
		{"sync", []int32{1, 2, 3}, []int32{2}, "waiting for broker 2"},
		{"isr", []int32{1, 2, 3}, []int32{1}, "nobody leads"},
		{"isr", []int32{1, 2, 3}, nil, "the ISR is empty"},
		{"async", []int32{1, 2}, []int32{2}, "how far its log goes"},
		{"mine", []int32{1, 2}, []int32{2}, "nobody leads"},
	} {
		v := Replica{Topic: "t", Strategy: test.strategy, Leader: -1, Replicas: test.replicas, ISR: test.isr}
		got := mergePartition(map[int32]*Replica{1: &v}, states).Waiting
		if !strings.Contains(got, test.want) || test.want == "nobody leads" && got != test.want {
			t.Errorf("%s of %v, in sync %v: %q, want %q", test.strategy, test.replicas, test.isr, got, test.want)
		}
	}
}

func TestOffice(t *testing.T) {
	for _, test := range []struct {
		said []int32
		want int32
	}{{nil, -1}, {[]int32{-1, -1}, -1}, {[]int32{1, 2, 2}, 2}, {[]int32{3, -1}, 3}} {
		var views []*Partitions
		for _, c := range test.said {
			views = append(views, &Partitions{Controller: c})
		}
		if got := office(views); got != test.want {
			t.Errorf("of %v the controller is %d, want %d", test.said, got, test.want)
		}
	}
}
