package znode

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"tidemark/replication"
)

func elected(t *testing.T, c *Client) Fence {
	t.Helper()
	f, err := c.ElectController(testContext(t), 1, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// put writes a node as some tool does.
func put(t *testing.T, c *Client, path, content string) {
	t.Helper()
	if err := c.createOnce(testContext(t), path, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

// TestStatesKeepWhatIsNotTheirs: Kafka's keys are Kafka's, ours stand beside them, and
// those of others stay.
func TestStatesKeepWhatIsNotTheirs(t *testing.T) {
	text := `{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":3,"isr":[1,2],"eligible_leader_replicas":[3],` +
		`"broker_epochs":{"1":10,"3":30},"log_dirs":{"1":"AQAAAAAAAAAAAAAAAAAAAA"},"other":{"a":[1]}}`
	s, err := decodeState([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := PartitionState{
		Leader: 1, LeaderEpoch: 3, ControllerEpoch: 7,
		ISR: []replication.Member{{Broker: 1, BrokerEpoch: 10, Dir: replication.DirID{1}}, {Broker: 2, BrokerEpoch: -1}},
		ELR: []replication.Member{{Broker: 3, BrokerEpoch: 30}},
	}
	if diff := cmp.Diff(want, s, cmpopts.IgnoreUnexported(PartitionState{})); diff != "" {
		t.Errorf("state differs (-want +got):\n%s", diff)
	}
	if got := string(encodeState(s)); got != text {
		t.Errorf("written again:\n%s\nwant\n%s", got, text)
	}
	for _, bad := range []string{
		`{"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1],"log_dirs":{"1":"AQ"}}`,
		`{"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1,1]}`,
		`{"leader":1,"leader_epoch":0,"controller_epoch":1,"isr":[1],"eligible_leader_replicas":[-2]}`,
	} {
		if _, err := decodeState([]byte(bad)); err == nil {
			t.Errorf("no error for %s", bad)
		}
	}
}

// TestBatchesOfStates: one conflict does not keep the others from being written, and a
// newer controller's epoch keeps all of them.
func TestBatchesOfStates(t *testing.T) {
	c := connect(t, startServer(t), Options{})
	ctx := testContext(t)
	f := elected(t, c)
	const n = 2*statesPerMulti + 10
	partitions := map[int32][]BrokerID{}
	var fresh []NewPartition
	var writes []StateWrite
	var names []TopicPartition
	for p := range int32(n) {
		partitions[p] = []BrokerID{1}
		tp := TopicPartition{"t", p}
		names = append(names, tp)
		fresh = append(fresh, NewPartition{tp, PartitionState{Leader: 1, ISR: Members(1)}})
		writes = append(writes, StateWrite{tp, PartitionState{Leader: 1, LeaderEpoch: 1, ISR: Members(1)}})
	}
	if err := c.CreateTopic(ctx, f, Topic{Name: "t", ID: NewTopicID(), Partitions: partitions}, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.CreatePartitions(ctx, f, fresh); err != nil {
		t.Fatal(err)
	}
	if _, err := c.UpdateISR(ctx, names[3], PartitionState{Leader: 1, ISR: Members(1)}); err != nil {
		t.Fatal(err)
	}
	results, err := c.SetPartitionStates(ctx, f, append(writes, StateWrite{TopicPartition{"none", 0}, PartitionState{}}))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		switch {
		case i == 3 && !errors.Is(r.Err, ErrVersion), i == n && !errors.Is(r.Err, ErrNotFound):
			t.Errorf("result %d: %v, want a conflict", i, r.Err)
		case i != 3 && i != n && (r.Err != nil || r.State.Version != 1):
			t.Errorf("result %d: %+v", i, r)
		}
	}
	read, err := c.PartitionStates(ctx, append(names, TopicPartition{"none", 0}))
	if err != nil || !errors.Is(read[n].Err, ErrNotFound) || read[5].State.LeaderEpoch != 1 || read[3].State.LeaderEpoch != 0 {
		t.Errorf("read: error %v, %+v", err, read[3:6])
	}
	f.Version--
	if _, err := c.SetPartitionStates(ctx, f, writes); !errors.Is(err, ErrFenced) {
		t.Errorf("of an earlier epoch: %v, want ErrFenced", err)
	}
}

// TestWhatToolsAskFor reads the nodes of Kafka's tools as those write them.
func TestWhatToolsAskFor(t *testing.T) {
	c := connect(t, startServer(t), Options{})
	ctx := testContext(t)
	f := elected(t, c)
	if asked, err := c.Reassignments(ctx); err != nil || len(asked) > 0 {
		t.Errorf("nothing is asked for: %v, error %v", asked, err)
	}
	put(t, c, reassignPath, `{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[2,3],"log_dirs":["any","any"]},{"topic":"T","partition":1,"replicas":[1]}]}`)
	asked, err := c.Reassignments(ctx)
	want := map[TopicPartition][]BrokerID{{"T", 0}: {2, 3}, {"T", 1}: {1}}
	if diff := cmp.Diff(want, asked); diff != "" || err != nil {
		t.Errorf("asked for, error %v (-want +got):\n%s", err, diff)
	}
	if err := c.RequestReassignments(ctx, want); !errors.Is(err, ErrExists) {
		t.Errorf("another request: %v, want ErrExists", err)
	}
	first := TopicPartition{"T", 0}
	if err := c.FinishReassignments(ctx, f, func(tp TopicPartition) bool { return tp == first }); err != nil {
		t.Fatal(err)
	}
	data, _, err := c.get(ctx, reassignPath)
	if left := `{"version":1,"partitions":[{"topic":"T","partition":1,"replicas":[1]}]}`; err != nil || string(data) != left {
		t.Errorf("left is %s, error %v; want %s", data, err, left)
	}
	if err := c.FinishReassignments(ctx, f, func(TopicPartition) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.get(ctx, reassignPath); !errors.Is(err, ErrNotFound) {
		t.Errorf("the node with nothing in it: %v, want ErrNotFound", err)
	}
	put(t, c, preferredPath, `{"version":1,"partitions":[{"topic":"T","partition":0}]}`)
	elections, found, err := c.PreferredElections(ctx)
	if err != nil || !found || !cmp.Equal(elections, []TopicPartition{first}) {
		t.Errorf("elections %v, %v, error %v", elections, found, err)
	}
	if err := c.FinishPreferredElections(ctx, f); err != nil {
		t.Fatal(err)
	}
	if _, found, err := c.PreferredElections(ctx); found || err != nil {
		t.Errorf("the request stays: %v, error %v", found, err)
	}
	put(t, c, isrChangePath+"/isr_change_0000000007", `{"version":1,"partitions":[{"topic":"T","partition":0}]}`)
	put(t, c, isrChangePath+"/isr_change_0000000008", `no JSON`)
	changed, nodes, err := c.ISRChanges(ctx)
	if err != nil || len(nodes) != 2 || !cmp.Equal(changed, []TopicPartition{first}) {
		t.Errorf("changed %v, nodes %v, error %v", changed, nodes, err)
	}
	if err := c.FinishISRChanges(ctx, f, nodes); err != nil {
		t.Fatal(err)
	}
	put(t, c, reassignPath, `[]`)
	var bad *FormatError
	if _, err := c.Reassignments(ctx); !errors.As(err, &bad) {
		t.Errorf("nonsense: %v, want a FormatError", err)
	}
	if err := c.DropReassignments(ctx, f); err != nil {
		t.Error(err)
	}
}

// TestISRUpdateIsOneForAll: who differs hears what to do.
func TestISRUpdateIsOneForAll(t *testing.T) {
	s := startServer(t)
	c := connect(t, s, Options{})
	ctx := testContext(t)
	for range 2 {
		if err := c.AgreeISRUpdate(ctx, "controller"); err != nil {
			t.Fatal(err)
		}
	}
	if err := connect(t, s, Options{}).AgreeISRUpdate(ctx, "zookeeper"); !errors.Is(err, ErrISRUpdate) {
		t.Errorf("another value: %v, want ErrISRUpdate", err)
	}
}

// TestConfigRequestsAreWaitedFor until the controller did them; what nobody can read
// has no name.
func TestConfigRequestsAreWaitedFor(t *testing.T) {
	s := startServer(t)
	c, other := connect(t, s, Options{}), connect(t, s, Options{})
	ctx := testContext(t)
	f := elected(t, c)
	diff := DiffConfig(map[string]string{"a": "1", "b": "2", "c": "3"}, map[string]string{"a": "1", "b": "3"})
	done := make(chan error, 1)
	go func() { done <- other.RequestConfig(ctx, ConfigRequest{Entity: Topics, Name: "t", Diff: diff}) }()
	put(t, c, configRequestsPath+"/request_nonsense", `{"change":{}}`)
	var requests []ConfigRequest
	for len(requests) < 2 {
		var err error
		if requests, err = c.ConfigRequests(ctx); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string]ConfigDiff{}
	for _, r := range requests {
		names[r.Name] = r.Diff
		if err := c.FinishConfigRequest(ctx, f, r); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]ConfigDiff{"": {}, "t": {Set: map[string]string{"b": "3"}, Removed: []string{"c"}}}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("requests differ (-want +got):\n%s", diff)
	}
	if err := <-done; err != nil {
		t.Errorf("who asked got %v", err)
	}
	config := map[string]string{"c": "3", "d": "4"}
	if err := diff.Apply(config); err != nil || !cmp.Equal(config, map[string]string{"b": "3", "d": "4"}) {
		t.Errorf("applied: %v, error %v", config, err)
	}
}

// TestStrays are kept by topic id, and their node goes with the last replica.
func TestStrays(t *testing.T) {
	c := connect(t, startServer(t), Options{})
	ctx := testContext(t)
	f := elected(t, c)
	s := Stray{Topic: "t", ID: NewTopicID(), Replicas: map[int32][]BrokerID{0: {2, 3}, 5: {2}}}
	for range 2 {
		if err := c.SetStray(ctx, f, s); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Strays(ctx)
	if diff := cmp.Diff([]Stray{s}, got); diff != "" || err != nil {
		t.Errorf("strays, error %v (-want +got):\n%s", err, diff)
	}
	s.Replicas = nil
	if err := c.SetStray(ctx, f, s); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Strays(ctx); err != nil || len(got) > 0 {
		t.Errorf("left: %v, error %v", got, err)
	}
}

// TestLeaseNeedsNews: it holds while the store answers, and not longer than the session
// can be relied on after that.
func TestLeaseNeedsNews(t *testing.T) {
	s := startServer(t)
	c := connect(t, s, Options{})
	l := c.Lease()
	if c.Lease() != l {
		t.Error("there are two leases")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	poll := func(want bool) {
		for l.Holds() != want {
			if ctx.Err() != nil {
				t.Fatalf("the lease holds: %v, want %v", !want, want)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	poll(true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	poll(false)
}

// TestLeaseOfTheGrantedSession: a server that grants less than was asked for ends the
// session earlier, and the lease with it.
func TestLeaseOfTheGrantedSession(t *testing.T) {
	s := startServer(t)
	asked := time.Hour
	c := connect(t, s, Options{SessionTimeout: asked})
	l := c.Lease()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !l.Holds() {
		if ctx.Err() != nil {
			t.Fatal("the lease never holds")
		}
		time.Sleep(time.Millisecond)
	}
	granted := c.SessionTimeout()
	if granted <= 0 || granted >= asked {
		t.Fatalf("granted are %v of %v", granted, asked)
	}
	if until := time.Duration(l.until.Load()); until > time.Since(l.base)+granted*2/3 {
		t.Errorf("the lease runs until %v and the session is of %v", until, granted)
	}
}

// FuzzAdminNodes: what anybody may write is read without harm.
func FuzzAdminNodes(f *testing.F) {
	f.Add([]byte(`{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[2,3]}]}`))
	f.Add([]byte(`{"version":1,"topic":"t","partitions":{"0":[1]}}`))
	f.Add([]byte(`{"version":1,"entity_path":"topics/t","change":{"set":{"a":"b"},"removed":["c"]}}`))
	f.Add([]byte(`{"controller_epoch":7,"leader":1,"version":1,"leader_epoch":3,"isr":[1,2],"broker_epochs":{"1":10}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := decodeAdmin(data); err == nil {
			if again, err := decodeAdmin(encodeAdmin(p)); err != nil || !cmp.Equal(p, again, cmpopts.EquateEmpty()) {
				t.Errorf("%+v read again is %+v, error %v", p, again, err)
			}
		}
		if s, err := decodeState(data); err == nil {
			again, err := decodeState(encodeState(s))
			if err != nil || !cmp.Equal(s, again, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(PartitionState{})) {
				t.Errorf("%+v read again is %+v, error %v", s, again, err)
			}
			if !json.Valid(encodeState(s)) {
				t.Errorf("%+v is written as no JSON", s)
			}
		}
		_, _ = decodeStray(TopicID{}, data)
		_ = decodeConfigRequest(data, &ConfigRequest{})
	})
}
