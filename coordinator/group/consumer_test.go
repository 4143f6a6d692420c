package group

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/shard"
)

// joining848 is a valid first heartbeat.
func joining848(group, id string) *ConsumerHeartbeatRequest {
	return &ConsumerHeartbeatRequest{
		Group: group, Member: id, RebalanceTimeout: time.Minute, Topics: []string{"t"}, Owned: &[]TopicPartitions{}, Metadata: newTopics(),
	}
}

func beat848(t *testing.T, w *world, r *ConsumerHeartbeatRequest) (*ConsumerHeartbeatReply, error) {
	t.Helper()
	return call[*ConsumerHeartbeatReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.ConsumerHeartbeat(now, r, k, out) })
}

func TestConsumerHeartbeatsThatAreRefused(t *testing.T) {
	unknown := "sticky"
	foreign := []TopicPartitions{{TopicID: [16]byte{'u'}, Partitions: []int32{0}}}
	for name, c := range map[string]struct {
		change func(*ConsumerHeartbeatRequest)
		want   error
	}{
		"no group":                       {func(r *ConsumerHeartbeatRequest) { r.Group = "" }, ErrInvalidRequest},
		"no member id":                   {func(r *ConsumerHeartbeatRequest) { r.Member = "" }, ErrInvalidRequest},
		"an epoch that there is not":     {func(r *ConsumerHeartbeatRequest) { r.Epoch = -3 }, ErrInvalidRequest},
		"a pause without an instance":    {func(r *ConsumerHeartbeatRequest) { r.Epoch = StaticLeaveEpoch }, ErrInvalidRequest},
		"joining without topics":         {func(r *ConsumerHeartbeatRequest) { r.Topics = nil }, ErrInvalidRequest},
		"joining with partitions":        {func(r *ConsumerHeartbeatRequest) { r.Owned = &foreign }, ErrInvalidRequest},
		"joining without a timeout":      {func(r *ConsumerHeartbeatRequest) { r.RebalanceTimeout = 0 }, ErrInvalidRequest},
		"unknown assignor":               {func(r *ConsumerHeartbeatRequest) { r.Assignor = &unknown }, ErrUnsupportedAssignor},
		"unknown group":                  {func(r *ConsumerHeartbeatRequest) { r.Group, r.Epoch = "other", 1 }, ErrGroupNotFound},
		"unknown member":                 {func(r *ConsumerHeartbeatRequest) { r.Epoch = 1 }, ErrUnknownMember},
		"unknown instance":               {func(r *ConsumerHeartbeatRequest) { r.Member, r.Epoch, r.InstanceID = "m", 1, "x" }, ErrUnknownMember},
		"one too many":                   {func(r *ConsumerHeartbeatRequest) {}, ErrGroupMaxSize},
		"a later epoch":                  {func(r *ConsumerHeartbeatRequest) { r.Member, r.Epoch = "m", 7 }, ErrFencedMemberEpoch},
		"another life of an instance":    {func(r *ConsumerHeartbeatRequest) { r.Epoch, r.InstanceID = 1, "i" }, ErrFencedInstance},
		"a second life of an instance":   {func(r *ConsumerHeartbeatRequest) { r.InstanceID = "i" }, ErrUnreleasedInstance},
		"the member, with what it lacks": {func(r *ConsumerHeartbeatRequest) { r.Member, r.Epoch, r.InstanceID, r.Owned = "m", 1, "i", &foreign }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			o.ConsumerMaxSize = 1
			w := newWorld(o)
			first := joining848("g", "m")
			first.InstanceID = "i"
			if _, err := beat848(t, w, first); err != nil {
				t.Fatal(err)
			}
			before := len(w.log)
			r := joining848("g", "n")
			c.change(r)
			if _, err := beat848(t, w, r); err != c.want {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.want != nil && len(w.log) != before {
				t.Errorf("%d records were written", len(w.log)-before)
			}
		})
	}
}

// TestAConsumerThatMissedAnAnswer comes with the epoch before: it is let in if it has
// only what it was given.
func TestAConsumerThatMissedAnAnswer(t *testing.T) {
	w := newWorld(quick())
	first := joining848("g", "m")
	if _, err := beat848(t, w, first); err != nil {
		t.Fatal(err)
	}
	more := *first
	more.Epoch, more.Topics = 1, []string{"t", "u"}
	if reply, err := beat848(t, w, &more); err != nil || reply.Epoch != 2 {
		t.Fatalf("got %+v, %v, want epoch 2", reply, err)
	}
	more.Owned = &[]TopicPartitions{{TopicID: [16]byte{'t'}, Partitions: []int32{0, 1}}}
	if reply, err := beat848(t, w, &more); err != nil || reply.Epoch != 2 {
		t.Errorf("once more: got %+v, %v, want epoch 2", reply, err)
	}
	more.Owned = &[]TopicPartitions{{TopicID: [16]byte{'w'}, Partitions: []int32{0}}}
	if _, err := beat848(t, w, &more); err != ErrFencedMemberEpoch {
		t.Errorf("with what it was not given: got %v, want %v", err, ErrFencedMemberEpoch)
	}
}

// TestOffsetsOfConsumers: commits and reads carry the member's epoch.
// TestAStaticConsumerThatLeavesOutItsInstance: franz-go names the instance only in
// heartbeats that say all of themselves, and is the same static member in between.
func TestAStaticConsumerThatLeavesOutItsInstance(t *testing.T) {
	w := newWorld(quick())
	r := joining848("g", "m")
	r.InstanceID = "i"
	first, err := beat848(t, w, r)
	if err != nil {
		t.Fatal(err)
	}
	quiet := &ConsumerHeartbeatRequest{Group: "g", Member: "m", Epoch: first.Epoch, Metadata: r.Metadata}
	if _, err := beat848(t, w, quiet); err != nil {
		t.Fatal(err)
	}
	r.Epoch, r.Owned = first.Epoch, first.Assignment
	if _, err := beat848(t, w, r); err != nil {
		t.Errorf("a full heartbeat after one without the instance: %v", err)
	}
	leaves := *quiet
	leaves.Epoch, leaves.InstanceID = StaticLeaveEpoch, "i"
	if _, err := beat848(t, w, &leaves); err != nil {
		t.Errorf("the instance stops: %v", err)
	}
	next := joining848("g", "n")
	next.InstanceID = "i"
	again, err := beat848(t, w, next)
	if err != nil {
		t.Fatalf("the instance's next life: %v", err)
	}
	if diff := cmp.Diff(first.Assignment, again.Assignment); diff != "" {
		t.Errorf("the next life has another assignment (-first +next):\n%s", diff)
	}
}

func TestOffsetsOfConsumers(t *testing.T) {
	w := newWorld(quick())
	if _, err := beat848(t, w, joining848("g", "m")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		member string
		epoch  int32
		want   error
	}{{"m", 1, nil}, {"m", 0, ErrStaleMemberEpoch}, {"m", 2, ErrStaleMemberEpoch}, {"n", 1, ErrUnknownMember}} {
		commit := &CommitRequest{Group: "g", Member: c.member, Generation: c.epoch, RetentionMs: -1, Offsets: []Commit{at("t", 0, 1)}}
		if _, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Commit(now, commit, k, out) }); err != c.want {
			t.Errorf("commit of %s at %d: got %v, want %v", c.member, c.epoch, err, c.want)
		}
		fetch := &OffsetsRequest{Group: "g", Member: c.member, MemberEpoch: c.epoch, All: true}
		if _, err := call[*OffsetsReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Offsets(now, fetch, k, out) }); err != c.want {
			t.Errorf("offsets for %s at %d: got %v, want %v", c.member, c.epoch, err, c.want)
		}
	}
	if err := keep(t, w, "g", at("t", 0, 1)); err != ErrUnknownMember {
		t.Errorf("a commit of nobody's: got %v", err)
	}
	remove := &DeleteOffsetsRequest{Group: "g", Partitions: []TopicPartition{{"t", 0}, {"v", 0}}}
	reply, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.DeleteOffsets(now, remove, k, out) })
	if err != nil || reply.Errs[0] != ErrSubscribed || reply.Errs[1] != nil {
		t.Errorf("deleting: got %+v, %v", reply, err)
	}
}

// TestConsumerGroupsEnd: listed while they are there, kept while somebody reads, gone
// with their offsets.
func TestConsumerGroupsEnd(t *testing.T) {
	o := quick()
	o.OffsetsRetention, o.RetentionInterval = time.Hour, 10*time.Minute
	w := newWorld(o)
	if _, err := beat848(t, w, joining848("g", "m")); err != nil {
		t.Fatal(err)
	}
	list := func() []Listed {
		reply, err := call[*ListReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) {
			g.List(now, &ListRequest{Types: []string{"consumer"}}, k, out)
		})
		if err != nil {
			t.Fatal(err)
		}
		return reply.Groups
	}
	if diff := cmp.Diff([]Listed{{"g", "consumer", "Stable", "consumer"}}, list()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	del := &DeleteRequest{Groups: []string{"g"}}
	if reply, _ := call[*DeleteReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Delete(now, del, k, out) }); reply.Errs[0] != ErrNonEmptyGroup {
		t.Errorf("deleting it with a member: got %v", reply.Errs[0])
	}
	w.advance(30 * time.Second) // its session lasts 45
	if got := list(); len(got) != 1 || got[0].State != "Stable" {
		t.Errorf("got %+v", got)
	}
	w.advance(20 * time.Minute)
	if got := list(); len(got) != 0 || len(w.groups.groups) != 0 {
		t.Errorf("a group without members and offsets is left: %+v", got)
	}
}

// TestConsumerLogsOfOthers: compaction may leave any part of a group's records.
func TestConsumerLogsOfOthers(t *testing.T) {
	w := newWorld(quick())
	for _, r := range []Record{
		&ConsumerGroupRecord{Group: "n", Tombstone: true}, &ConsumerMemberRecord{Group: "n", Tombstone: true},
		&TargetEpochRecord{Group: "n", Tombstone: true}, &TargetRecord{Group: "n", Tombstone: true}, &CurrentRecord{Group: "n", Tombstone: true},
		&CurrentRecord{Group: "g", Member: "m", Epoch: 3, Assigned: []TopicPartitions{{Partitions: []int32{0}}}},
		&CurrentRecord{Group: "g", Member: "other", Tombstone: true},
		&ConsumerMemberRecord{Group: "g", Member: "m", Topics: []string{"t"}},
		&ConsumerGroupRecord{Group: "g", Epoch: 3},
	} {
		w.groups.Replay(shard.Origin{}, r)
	}
	c := w.groups.groups["g"].consumers
	if len(w.groups.groups) != 1 || len(c.members) != 1 || c.members["m"].epoch != 3 || len(c.members["m"].topics) != 1 || len(c.owners) != 1 {
		t.Errorf("got %d groups, %+v", len(w.groups.groups), c.members["m"])
	}
}
