package group

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/coordinator/shard"
)

func TestJoinsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*JoinRequest)
		want   error
	}{
		"no group":            {func(r *JoinRequest) { r.Group = "" }, ErrInvalidGroupID},
		"short session":       {func(r *JoinRequest) { r.SessionTimeout = time.Second }, ErrInvalidSessionTimeout},
		"long session":        {func(r *JoinRequest) { r.SessionTimeout = time.Hour }, ErrInvalidSessionTimeout},
		"id of no group":      {func(r *JoinRequest) { r.Group, r.Member = "other", "m" }, ErrUnknownMember},
		"id of nobody":        {func(r *JoinRequest) { r.Member = "m" }, ErrUnknownMember},
		"no protocol":         {func(r *JoinRequest) { r.Group, r.Protocols = "other", nil }, ErrInconsistentProtocol},
		"no protocol type":    {func(r *JoinRequest) { r.Group, r.ProtocolType = "other", "" }, ErrInconsistentProtocol},
		"other protocol type": {func(r *JoinRequest) { r.ProtocolType = "connect" }, ErrInconsistentProtocol},
		"other protocols":     {func(r *JoinRequest) { r.Protocols = []Protocol{{Name: "sticky"}} }, ErrInconsistentProtocol},
		"instance of nobody":  {func(r *JoinRequest) { r.Member, r.InstanceID = "c-1", "i" }, ErrUnknownMember},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(quick())
			settle(t, w, "g", joinRequest("g", ""))
			r := joinRequest("g", "")
			c.change(r)
			_, err := call[*JoinReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if r.Group == "other" && w.groups.groups["other"] != nil {
				t.Error("a refused join left a group behind")
			}
		})
	}
}

func TestSyncsAndHeartbeatsThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		group, member string
		generation    int32
		want          error
	}{
		"no group":          {"", "c-1", 1, ErrInvalidGroupID},
		"unknown group":     {"other", "c-1", 1, ErrUnknownMember},
		"unknown member":    {"g", "m", 1, ErrUnknownMember},
		"earlier":           {"g", "c-1", 0, ErrIllegalGeneration},
		"later":             {"g", "c-1", 2, ErrIllegalGeneration},
		"the member itself": {"g", "c-1", 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(quick())
			settle(t, w, "g", joinRequest("g", ""))
			h := &HeartbeatRequest{Group: c.group, Member: c.member, Generation: c.generation}
			if _, err := call[any](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Heartbeat(now, h, k, out) }); err != c.want {
				t.Errorf("heartbeat: got %v, want %v", err, c.want)
			}
			s := &SyncRequest{Group: c.group, Member: c.member, Generation: c.generation}
			if _, err := call[any](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, s, k, out) }); err != c.want {
				t.Errorf("sync: got %v, want %v", err, c.want)
			}
			l := &LeaveRequest{Group: c.group}
			if _, err := call[any](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Leave(now, l, k, out) }); (err != nil) != (c.group == "") {
				t.Errorf("leave: got %v", err)
			}
		})
	}
}

func TestSyncNamesTheProtocol(t *testing.T) {
	w := newWorld(quick())
	settle(t, w, "g", joinRequest("g", ""))
	for _, c := range []struct {
		kind, protocol string
		want           error
	}{{"consumer", "range", nil}, {"connect", "range", ErrInconsistentProtocol}, {"consumer", "sticky", ErrInconsistentProtocol}} {
		s := &SyncRequest{Group: "g", Member: "c-1", Generation: 1, ProtocolType: c.kind, Protocol: c.protocol}
		if _, err := call[any](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, s, k, out) }); err != c.want {
			t.Errorf("%s %s: got %v, want %v", c.kind, c.protocol, err, c.want)
		}
	}
}

// TestAThousandJoinersRebalanceOnce: the initial delay goes on while members come.
func TestAThousandJoinersRebalanceOnce(t *testing.T) {
	w := newWorld(NewOptions())
	generations, leaders := map[int32]int{}, 0
	w.replied = func(r shard.Reply) {
		if b := r.Body.(*JoinReply); r.Err == nil {
			generations[b.Generation]++
			if len(b.Members) == 1000 {
				leaders++
			}
		}
	}
	for i := range 1000 {
		r := joinRequest("g", "")
		r.FreshID = strconv.Itoa(i)
		w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
		w.advance(5 * time.Millisecond)
	}
	w.advance(10 * time.Second)
	if diff := cmp.Diff(map[int32]int{1: 1000}, generations); diff != "" || leaders != 1 {
		t.Errorf("replies by generation (-want +got):\n%s%d leaders, want 1", diff, leaders)
	}
}

// TestMaxSizeAtTheRush: a hundred of a thousand come in, at once, and the others are
// told.
func TestMaxSizeAtTheRush(t *testing.T) {
	o := NewOptions()
	o.MaxSize = 100
	w := newWorld(o)
	got := map[string]int{}
	w.replied = func(r shard.Reply) {
		if r.Err != nil {
			got[r.Err.Error()]++
			return
		}
		got[strconv.Itoa(int(r.Body.(*JoinReply).Generation))]++
	}
	for i := range 1000 {
		r := joinRequest("g", "")
		r.FreshID, r.RequireKnownMember = strconv.Itoa(i), true
		before := got[ErrMemberIDRequired.Error()]
		w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
		if got[ErrMemberIDRequired.Error()] > before {
			r = joinRequest("g", "c-"+strconv.Itoa(i))
			w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
		}
		w.advance(time.Millisecond)
	}
	w.advance(10 * time.Second)
	want := map[string]int{ErrMemberIDRequired.Error(): 100, ErrGroupMaxSize.Error(): 900, "1": 100}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("replies (-want +got):\n%s", diff)
	}
}

// TestALoadedGroupThatIsTooLarge rebalances, so that somebody is turned away.
func TestALoadedGroupThatIsTooLarge(t *testing.T) {
	w := newWorld(quick())
	settle(t, w, "g", joinRequest("g", ""))
	second := joinRequest("g", "")
	second.FreshID = "2"
	w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, second, k, out) })
	again := joinRequest("g", "c-1")
	w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, again, k, out) })
	s := &SyncRequest{Group: "g", Member: "c-1", Generation: 2}
	w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Sync(now, s, k, out) })
	w.options.MaxSize = 1
	w.failOver()
	w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, again, k, out) })
	r := joinRequest("g", "c-2")
	if _, err := call[*JoinReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) }); err != ErrGroupMaxSize {
		t.Errorf("the second to come back: got %v, want %v", err, ErrGroupMaxSize)
	}
	if c := w.groups.groups["g"]; c.state != CompletingRebalance || len(c.members) != 1 {
		t.Errorf("the group is in %s with %d members, want the one that came back first", c.state, len(c.members))
	}
}

// TestAFreshJoinEnds: a join that waits behind somebody who never comes is not kept
// for ever if its client has gone before it knew its id.
func TestAFreshJoinEnds(t *testing.T) {
	w := newWorld(quick())
	first := joinRequest("g", "")
	first.RebalanceTimeout = time.Hour
	first.SessionTimeout = 30 * time.Minute
	settle(t, w, "g", first)
	var got error
	w.replied = func(r shard.Reply) { got = r.Err }
	second := joinRequest("g", "")
	second.FreshID = "2"
	w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, second, k, out) })
	w.advance(NewMemberJoinTimeout - time.Second)
	if got != nil {
		t.Fatalf("answered early: %v", got)
	}
	if w.advance(2 * time.Second); got != ErrUnknownMember {
		t.Errorf("got %v, want %v", got, ErrUnknownMember)
	}
}

func TestListFilters(t *testing.T) {
	w := newWorld(quick())
	settle(t, w, "stable", joinRequest("stable", ""))
	if err := keep(t, w, "kept", at("t", 0, 1)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    ListRequest
		want []Listed
	}{
		{ListRequest{}, []Listed{{"kept", "", "Empty", "classic"}, {"stable", "consumer", "Stable", "classic"}}},
		{ListRequest{States: []string{"stable"}}, []Listed{{"stable", "consumer", "Stable", "classic"}}},
		{ListRequest{States: []string{"Dead"}}, nil},
		{ListRequest{Types: []string{"Classic"}, States: []string{"Empty"}}, []Listed{{"kept", "", "Empty", "classic"}}},
		{ListRequest{Types: []string{"consumer"}}, nil},
	} {
		reply, err := call[*ListReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.List(now, &c.r, k, out) })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, reply.Groups); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.r, diff)
		}
	}
}

func TestDelete(t *testing.T) {
	w := newWorld(quick())
	settle(t, w, "stable", joinRequest("stable", ""))
	if err := keep(t, w, "kept", at("t", 0, 1)); err != nil {
		t.Fatal(err)
	}
	asked := joinRequest("asked", "")
	asked.RequireKnownMember = true
	w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, asked, k, out) })
	r := &DeleteRequest{Groups: []string{"stable", "kept", "none", "asked"}}
	reply, err := call[*DeleteReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Delete(now, r, k, out) })
	if err != nil {
		t.Fatal(err)
	}
	want := []error{ErrNonEmptyGroup, nil, ErrGroupNotFound, nil}
	for i := range want {
		if reply.Errs[i] != want[i] {
			t.Errorf("%s: got %v, want %v", r.Groups[i], reply.Errs[i], want[i])
		}
	}
	w.failOver()
	if len(w.groups.groups) != 1 {
		t.Errorf("%d groups after a failover, want the one with a member", len(w.groups.groups))
	}
}

// TestTimersOfWhatIsGone: a timer may run out while its end is on the way.
func TestTimersOfWhatIsGone(t *testing.T) {
	w := newWorld(quick())
	settle(t, w, "g", joinRequest("g", ""))
	before := *w.groups.groups["g"]
	for _, key := range []shard.TimerKey{
		{Kind: heartbeatTimer, Name: "g", Member: "m"}, {Kind: heartbeatTimer, Name: "none", Member: "m"},
		{Kind: pendingTimer, Name: "g", Member: "m"}, {Kind: pendingTimer, Name: "none", Member: "m"},
		{Kind: rebalanceTimer, Name: "g"}, {Kind: rebalanceTimer, Name: "none"},
		{Kind: syncTimer, Name: "g"}, {Kind: syncTimer, Name: "none"},
	} {
		var out Outcome
		w.groups.Expire(w.now, key, &out)
		if len(out.Records)+len(out.Replies)+len(out.Timers) > 0 {
			t.Errorf("%+v: got %+v, want nothing", key, out)
		}
	}
	if after := w.groups.groups["g"]; after.state != before.state || len(after.members) != 1 {
		t.Errorf("the group became %s with %d members", after.state, len(after.members))
	}
}

// TestLogsOfOthers: compaction may leave tombstones whose subjects are gone, and
// offsets of a group that was deleted and came back.
func TestLogsOfOthers(t *testing.T) {
	w := newWorld(quick())
	for i, r := range []Record{
		&GroupRecord{Group: "none", Tombstone: true},
		&OffsetRecord{Group: "none", Tombstone: true},
		&GroupRecord{Group: "g", ProtocolType: "consumer", Generation: 7, Leader: "m", Members: []MemberRecord{{Member: "m", SessionTimeoutMs: 6000}}},
		&OffsetRecord{Group: "g", TopicPartition: TopicPartition{"t", 0}, Offset: 1},
		&GroupRecord{Group: "g", Tombstone: true},
		&OffsetRecord{Group: "g", TopicPartition: TopicPartition{"t", 1}, Offset: 2},
	} {
		w.log = append(w.log, logged{from: shard.Origin{Offset: int64(i)}, record: r})
	}
	w.failOver()
	c := w.groups.groups["g"]
	if len(w.groups.groups) != 1 || c.state != Empty || c.generation != 0 || len(c.members) != 0 {
		t.Errorf("got %d groups, %+v; want one that only keeps offsets", len(w.groups.groups), c)
	}
	if got := offsetsOf(t, w, "g"); got != "t-0:1 t-1:2 " {
		t.Errorf("offsets %q", got)
	}
}

// TestFiveHundredGroupsRebalanceTogether: each in one step, and none waits for
// another.
func TestFiveHundredGroupsRebalanceTogether(t *testing.T) {
	const groups, members = 500, 4
	w := newWorld(quick())
	r := func(group, member int, known bool) *JoinRequest {
		r := joinRequest("g-"+strconv.Itoa(group), "")
		if r.FreshID = strconv.Itoa(member); known {
			r.Member = "c-" + r.FreshID
		}
		return r
	}
	join := func(r *JoinRequest) {
		w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, r, k, out) })
	}
	for m := range members {
		for g := range groups {
			join(r(g, m, false))
		}
	}
	answered := map[int32]int{}
	w.replied = func(r shard.Reply) { answered[r.Body.(*JoinReply).Generation]++ }
	for g := range groups {
		join(r(g, 0, true))
	}
	if diff := cmp.Diff(map[int32]int{2: groups * members}, answered); diff != "" {
		t.Errorf("join replies by generation (-want +got):\n%s", diff)
	}
}
