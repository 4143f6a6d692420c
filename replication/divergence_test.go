package replication_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"tidemark/commitlog/epoch"
	"tidemark/replication"
	"tidemark/replication/catalog"
)

// entries is a log as the leader epoch of each offset.
type entries []int32

func (l entries) epochs() []epoch.Entry {
	var c epoch.Cache
	for i, e := range l {
		c.Assign(e, int64(i))
	}
	return c.Entries()
}

// start makes a machine of the isr strategy that has the log.
func start(self int32, log entries, hw int64) replication.Machine {
	spec, _ := catalog.Builtin().Find("isr")
	m := spec.New(replication.Config{Self: self, MinISR: 1, BrokerEpoch: int64(self)})
	m.Step(replication.Event{
		Kind: replication.Restarted, Offset: int64(len(log)), Synced: int64(len(log)), HighWatermark: hw,
		FencedEpoch: replication.NoEpoch, BrokerEpoch: int64(self), Epochs: log.epochs(),
	}, nil)
	return m
}

// fataler is what a test and a rapid check have in common.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// agree lets broker 2 follow broker 1 in the leader epoch until it truncates no
// more, and returns where its log ends then and after how many answers.
func agree(t fataler, leaderLog, followerLog entries, leaderEpoch int32) (end int64, answers int) {
	leader, follower := start(1, leaderLog, 0), start(2, followerLog, 0)
	set := []replication.Member{{Broker: 1, BrokerEpoch: 1}, {Broker: 2, BrokerEpoch: 2}}
	state := replication.Event{Kind: replication.BecomeLeader, LeaderEpoch: leaderEpoch, PartitionEpoch: 1, ISR: set, Replicas: set}
	leader.Step(state, nil)
	state.Kind, state.Broker = replication.BecomeFollower, 1
	effects := follower.Step(state, nil)
	for {
		ask := effects[len(effects)-1]
		if ask.Kind != replication.Fetch {
			t.Fatalf("follower wants %+v, not a fetch", effects)
		}
		effects = leader.Step(replication.Event{
			Kind: replication.FollowerFetched, Broker: 2, BrokerEpoch: 2,
			LeaderEpoch: ask.LeaderEpoch, Offset: ask.Offset, RecordEpoch: ask.RecordEpoch,
		}, nil)
		answer := effects[len(effects)-1]
		if answer.Kind != replication.AnswerFetch || answer.Failure != replication.NoFailure {
			t.Fatalf("answered with %+v", answer)
		}
		if answer.DivergingEpoch == replication.NoEpoch {
			return ask.Offset, answers
		}
		if answers++; answers > len(leaderLog)+len(followerLog)+2 {
			t.Fatal("the follower asks for ever")
		}
		effects = follower.Step(replication.Event{
			Kind: replication.FetchResponse, LeaderEpoch: ask.LeaderEpoch, Offset: ask.Offset, HighWatermark: answer.HighWatermark,
			DivergingEpoch: answer.DivergingEpoch, DivergingEnd: answer.DivergingEnd,
		}, nil)
		cut := effects[len(effects)-1]
		if cut.Kind != replication.Truncate || cut.Offset > ask.Offset {
			t.Fatalf("at a divergence the follower wants %+v", effects)
		}
		effects = follower.Step(replication.Event{Kind: replication.Truncated, Offset: cut.Offset}, nil)
	}
}

// TestDivergenceTable is the table of the ways in which a follower's log can
// differ from a new leader's.
func TestDivergenceTable(t *testing.T) {
	for _, c := range []struct {
		name             string
		leader, follower entries
		want             int64
		answers          int
	}{
		{"A: behind in the same epoch", entries{1, 1, 1, 1}, entries{1, 1}, 2, 0},
		{"B: behind by an epoch", entries{1, 1, 2, 2}, entries{1, 1}, 2, 0},
		{"C: ahead in the same epoch", entries{1, 1}, entries{1, 1, 1, 1}, 2, 1},
		{"D: ahead by an epoch", entries{1, 1}, entries{1, 1, 2, 2}, 2, 1},
		{"E: forked, each with an epoch of its own", entries{1, 1, 3, 3}, entries{1, 1, 2, 2}, 2, 1},
		{"F: forked, the leader went on in the old epoch", entries{1, 1}, entries{1, 2, 2}, 1, 1},
		{"G: no epoch in common", entries{1, 1}, entries{2, 2, 2}, 0, 1},
		{"two answers: each has an epoch below the other's last", entries{1, 2, 2, 4}, entries{1, 1, 3, 3}, 1, 2},
		{"both empty", nil, nil, 0, 0},
		{"an empty follower", entries{1}, nil, 0, 0},
		{"an empty leader", nil, entries{1, 1}, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			end, answers := agree(t, c.leader, c.follower, 5)
			if end != c.want || answers != c.answers {
				t.Errorf("log ends at %d after %d answers, want %d after %d", end, answers, c.want, c.answers)
			}
		})
	}
}

// history makes the logs of three replicas by the protocol's own rule: in every
// leader epoch one replica appends, and another copies some of its log over what
// differs in its own.
func history(t *rapid.T) [3]entries {
	var logs [3]entries
	for e := int32(1); e <= 6; e++ {
		leads := rapid.IntRange(0, 2).Draw(t, "leads")
		for range rapid.IntRange(0, 3).Draw(t, "appends") {
			logs[leads] = append(logs[leads], e)
		}
		if follows := rapid.IntRange(0, 2).Draw(t, "follows"); follows != leads {
			from := common(logs[leads], logs[follows])
			to := rapid.IntRange(from, len(logs[leads])).Draw(t, "copies")
			logs[follows] = slices.Clone(logs[leads][:to])
		}
	}
	return logs
}

// common is how many entries two logs share from the start: the dumb twin. Equal
// epochs at an offset are equal entries, as each epoch has one leader.
func common(a, b entries) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// TestTruncationIsTheCommonPrefix: whatever came before, a follower cuts off
// exactly what its leader does not have.
func TestTruncationIsTheCommonPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := history(t)
		leader, follower := logs[0], logs[1]
		end, _ := agree(t, leader, follower, 7)
		if want := common(leader, follower); end != int64(want) {
			t.Fatalf("leader %v, follower %v: log ends at %d, want %d", leader, follower, end, want)
		}
	})
}
