package group

import (
	"testing"
	"time"

	"tidemark/coordinator/shard"
)

// TestRetention holds the rules of expiry against the clock, hour by hour.
func TestRetention(t *testing.T) {
	reads := func(topic string) func([]byte) ([]string, bool) {
		return func([]byte) ([]string, bool) { return []string{topic}, true }
	}
	for name, c := range map[string]struct {
		subscription func([]byte) ([]string, bool)
		kind         string // of the member, which heartbeats; none for ""
		asked        time.Duration
		rebalancing  bool
		wantHours    int // after the commit; 0: it stays
	}{
		"kept by nobody":                     {wantHours: 3},
		"asked for longer":                   {asked: 5 * time.Hour, wantHours: 5},
		"read by a consumer":                 {subscription: reads("t"), kind: "consumer"},
		"of a topic that no consumer reads":  {subscription: reads("u"), kind: "consumer", wantHours: 3},
		"of a consumer that cannot be known": {kind: "consumer"},
		"of another kind of member":          {subscription: reads("u"), kind: "connect"},
		"while the group rebalances":         {subscription: reads("u"), kind: "consumer", rebalancing: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := quick()
			o.OffsetsRetention, o.RetentionInterval, o.Subscription = 3*time.Hour, 30*time.Minute, c.subscription
			w := newWorld(o)
			r := &CommitRequest{Group: "g", Generation: -1, RetentionMs: -1, Offsets: []Commit{at("t", 0, 1)}}
			if c.asked > 0 {
				r.RetentionMs = c.asked.Milliseconds()
			}
			if _, err := call[*CommitReply](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Commit(now, r, k, out) }); err != nil {
				t.Fatal(err)
			}
			if c.kind != "" {
				join := joinRequest("g", "")
				join.ProtocolType, join.SessionTimeout, join.RebalanceTimeout = c.kind, 30*time.Minute, 100*time.Hour
				settle(t, w, "g", join)
			}
			if c.rebalancing {
				join := joinRequest("g", "")
				join.FreshID, join.RequireKnownMember, join.SessionTimeout = "2", true, 100*time.Hour
				w.groups.options.MaxSessionTimeout = join.SessionTimeout
				w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, join, k, out) })
				again := joinRequest("g", "c-1")
				again.SessionTimeout, again.RebalanceTimeout = 30*time.Minute, 100*time.Hour
				w.do(func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Join(now, again, k, out) })
			}
			gone := 0
			for minutes := 20; minutes <= 10*60 && gone == 0; minutes += 20 {
				w.advance(20 * time.Minute)
				if c.kind != "" && !c.rebalancing {
					h := &HeartbeatRequest{Group: "g", Member: "c-1", Generation: 1}
					if _, err := call[any](t, w, func(g *Groups, now time.Time, k shard.Token, out *Outcome) { g.Heartbeat(now, h, k, out) }); err != nil {
						t.Fatal(err)
					}
				}
				if offsetsOf(t, w, "g") == "" {
					gone = (minutes + 59) / 60
				}
			}
			if gone != c.wantHours {
				t.Errorf("gone after %d hours, want %d", gone, c.wantHours)
			}
		})
	}
}

// TestRetentionGoesOnWhereItStopped: one sweep writes no more than a batch holds, and
// a log that refuses it is asked again.
func TestRetentionGoesOnWhereItStopped(t *testing.T) {
	o := quick()
	o.OffsetsRetention, o.RetentionInterval = time.Hour, time.Hour
	w := newWorld(o)
	var offsets []Commit
	for p := range int32(2*sweepRecords + 10) {
		offsets = append(offsets, at("t", p, 1))
	}
	if err := keep(t, w, "g", offsets...); err != nil {
		t.Fatal(err)
	}
	w.refuse = true
	w.advance(time.Hour)
	if offsetsOf(t, w, "g") == "" {
		t.Fatal("the log refused, and the offsets are gone")
	}
	w.refuse = false
	w.advance(time.Minute)
	if got := offsetsOf(t, w, "g"); got != "" {
		t.Errorf("%d bytes of offsets are left", len(got))
	}
	if len(w.groups.groups) != 0 {
		t.Error("a group is left that nobody knows")
	}
}
