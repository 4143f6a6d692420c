package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestGroupsAgainstABroker(t *testing.T) {
	var at started
	s := startService(t, &at, "broker", "--json", "--listen", "127.0.0.1:0", "--set", "log.dirs="+t.TempDir(),
		"--set", "group.initial.rebalance.delay.ms=0", "--set", "offsets.topic.num.partitions=3")
	defer s.end(t)
	groups := func(wantCode int, want string, args ...string) string {
		t.Helper()
		code, out, errout := runLine(t, append(append([]string{"groups"}, args...), "--bootstrap", at.Listener)...)
		if code != wantCode || !strings.Contains(out+errout, want) {
			t.Errorf("groups %v: exit %d, printed %q, said %q; want exit %d and %q", args, code, out, errout, wantCode, want)
		}
		return out
	}
	groups(ExitOK, "GROUP  STATE", "list")
	groups(ExitFailed, "GROUP_ID_NOT_FOUND", "describe", "nobody") // whose coordinator is not there at once
	member := readTwo(t, at.Listener)
	groups(ExitOK, "readers  Stable  consumer", "list", "--state", "Stable")
	groups(ExitFailed, "GROUP_ID_NOT_FOUND", "describe", "nobody")
	groups(ExitFailed, "`tidemark groups list` shows", "describe", "nobody")
	groups(ExitFailed, `Did you mean "readers"?`, "describe", "readers", "reader")
	groups(ExitFailed, `Did you mean "readers"?`, "delete", "reader")
	groups(ExitFailed, "NON_EMPTY_GROUP", "delete", "readers")
	groups(ExitFailed, "it must have no members", "reset-offsets", "readers", "--topic", "orders", "--to-earliest", "--execute")

	var described []describedGroup
	out := groups(ExitOK, "readers", "describe", "readers", "--json")
	if err := json.Unmarshal([]byte(out), &described); err != nil || len(described) != 1 {
		t.Fatalf("describe: %v, %q", err, out)
	}
	g := described[0]
	if g.State != "Stable" || g.Generation == nil || *g.Generation < 1 || len(g.Members) != 1 || g.Members[0].WaitedFor || len(g.Members[0].Partitions["orders"]) != 1 ||
		len(g.Offsets) != 1 || g.Offsets[0].Committed != 2 || g.Offsets[0].Lag != 0 || g.Offsets[0].Member != g.Members[0].Member {
		t.Errorf("described is %s", out)
	}
	groups(ExitOK, "readers  Stable for ", "describe", "readers")

	var seen describedGroup
	watch := startService(t, &seen, "groups", "describe", "readers", "--watch", "--interval", "10ms", "--json", "--bootstrap", at.Listener)
	if seen.State != "Stable" || seen.Generation == nil {
		t.Errorf("--watch begins with %+v, want the group as it is", seen)
	}
	watch.end(t)

	joinNew(t, at.Listener)
	groups(ExitOK, "next  Stable, generation 1, uniform, 1 members", "describe", "next")
	groups(ExitOK, "orders  0          -1         2    -1", "describe", "next")

	member.Close()
	groups(ExitOK, "nothing was moved", "reset-offsets", "readers", "--topic", "orders", "--to-earliest")
	groups(ExitOK, "orders  0          2     0", "reset-offsets", "readers", "--topic", "orders", "--to-earliest", "--execute")
	groups(ExitOK, "orders  0          0     1", "reset-offsets", "readers", "--topic", "orders", "--shift-by", "1", "--execute")
	groups(ExitOK, "orders  0          1     2", "reset-offsets", "readers", "--topic", "orders", "--to-offset", "99", "--execute")
	groups(ExitOK, "orders  0          2     0", "reset-offsets", "readers", "--topic", "orders", "--to-datetime", "2001-01-01T00:00:00Z")
	groups(ExitOK, "orders  0          2     2", "reset-offsets", "readers", "--topic", "orders", "--to-current")
	groups(ExitUsage, "--to-datetime", "reset-offsets", "readers", "--topic", "orders", "--to-datetime", "soon")
	groups(ExitOK, "deleted readers", "delete", "readers")
	groups(ExitFailed, "GROUP_ID_NOT_FOUND", "delete", "readers")
}

// readTwo makes a member of readers that read and committed all of orders.
func readTwo(t *testing.T, bootstrap string) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup("readers"), kgo.ConsumeTopics("orders"), kgo.DefaultProduceTopic("orders"),
		kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(100), kgo.DisableAutoCommit(), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if err := client.ProduceSync(t.Context(), kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	for read := 0; read < 2; {
		fetches := client.PollFetches(t.Context())
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		read += fetches.NumRecords()
	}
	if err := client.CommitUncommittedOffsets(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client
}

// joinNew makes a member of next, a group of KIP-848, that reads orders.
func joinNew(t *testing.T, bootstrap string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	join := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	join.Group, join.MemberID, join.RebalanceTimeoutMillis = "next", "m", 60_000
	join.SubscribedTopicNames, join.Topics = []string{"orders"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	resp, err := join.RequestWith(t.Context(), client)
	if err != nil || resp.ErrorCode != 0 {
		t.Fatalf("join: %v, %v", err, kerr.ErrorForCode(resp.ErrorCode))
	}
}

// TestWatchWaits: on a fresh broker there is no coordinator, then no such group. Each
// change is told once; an error that does not pass ends the watch.
func TestWatchWaits(t *testing.T) {
	var out, said strings.Builder
	broken := errors.New("broken")
	answers := []error{kerr.CoordinatorNotAvailable, kerr.CoordinatorNotAvailable, kerr.GroupIDNotFound, nil, nil, kerr.GroupIDNotFound, nil, broken}
	w := &groupWatch{app: &App{Out: &out, Err: &said}, last: map[string]string{}}
	for i, answer := range answers {
		w.describe = func(name string) (describedGroup, error) { return describedGroup{Group: name, State: "Stable"}, answer }
		if err := w.look("g"); (answer == broken) != (err != nil) {
			t.Fatalf("look %d, answered %v: %v", i, answer, err)
		}
	}
	if n := strings.Count(out.String(), "g  Stable"); n != 2 {
		t.Errorf("printed %q, want the group twice", out.String())
	}
	if n := strings.Count(said.String(), "; waiting"); n != 2 || !strings.Contains(said.String(), "COORDINATOR_NOT_AVAILABLE") {
		t.Errorf("said %q, want two waits", said.String())
	}
}

// TestGroupLine: in a rebalance the line says who is waited for, and for how long.
func TestGroupLine(t *testing.T) {
	generation, ms, silent := int32(7), int64(1500), int64(900)
	g := &describedGroup{Group: "g", State: "PreparingRebalance", Generation: &generation, InStateMs: &ms, Pending: 1, Members: []describedMember{
		{Member: "b", WaitedFor: true, SilentMs: &silent}, {Member: "a"}}}
	want := "g  PreparingRebalance for 1.5s, generation 7, 2 members, 1 about to join, waiting for b (silent for 900ms)"
	if got := groupLine(g); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	before := outline(g)
	ms = int64(time.Hour / time.Millisecond)
	if outline(g) != before {
		t.Error("time that passes is a change")
	}
	g.Members[0].WaitedFor = false
	if outline(g) == before {
		t.Error("a member that joined is no change")
	}
}

// TestPartial: what some brokers answered is shown although another did not.
func TestPartial(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("list: %w", &kadm.ShardErrors{Errs: make([]kadm.ShardError, 1)}), true},
		{&kadm.ShardErrors{AllFailed: true, Errs: make([]kadm.ShardError, 3)}, false},
		{context.DeadlineExceeded, false},
	} {
		if got := partial(test.err); got != test.want {
			t.Errorf("%T: %v, want %v", test.err, got, test.want)
		}
	}
}
