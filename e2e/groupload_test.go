package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// beater is a member of a group of ten that only heartbeats.
type beater struct {
	client *kgo.Client
	group  string
	// instance makes it a static member: with an id of its own before it joins, all
	// joins of a connection can wait at the same time.
	instance, id string
	generation   int32
	others       []string // of the leader: all members
}

// TestManyGroupsCostLittle: 1,000 groups of ten members over 100 connections with
// heartbeats every three seconds are to cost less than 15 % of one core, for a minute;
// without TIDEMARK_FULL it is a tenth of that for six seconds, and only answers count.
func TestManyGroupsCostLittle(t *testing.T) {
	scale := often(1, 10)
	window := time.Duration(scale) * 6 * time.Second
	b := startBroker(t, "queued.max.requests.per.connection=1000", "group.max.session.timeout.ms=300000", "group.initial.rebalance.delay.ms=5000")
	members := formGroups(t, b, 100*scale, 10, 10*scale)

	before, began := processorTime(t, b), time.Now()
	beats := heartbeat(t, members, 3*time.Second, window)
	used := (processorTime(t, b) - before).Seconds() / time.Since(began).Seconds()
	t.Logf("%d members of %d groups, %d heartbeats: %.1f %% of one core", len(members), len(members)/10, beats, 100*used)
	if want := int64(len(members)) * int64(window/(3*time.Second)); beats < want {
		t.Errorf("%d heartbeats were answered, want %d", beats, want)
	}
	if scale == 10 && used >= 0.15 {
		t.Errorf("the broker used %.1f %% of one core, want less than 15 %%", 100*used)
	}
}

// TestRebalanceOfFiveHundredMembers: they come in one generation and, once their leader
// joins again, are all in the next, over 100 connections.
func TestRebalanceOfFiveHundredMembers(t *testing.T) {
	b := startBroker(t, "queued.max.requests.per.connection=1000", "group.max.session.timeout.ms=300000", "group.initial.rebalance.delay.ms=5000")
	members := formGroups(t, b, 1, 500, 100)
	was := members[0].generation
	requireGeneration(t, members, was)
	leader := slices.IndexFunc(members, func(m *beater) bool { return len(m.others) > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var joining sync.WaitGroup
	join := func(m *beater) {
		joining.Go(func() {
			if err := m.join(ctx); err != nil {
				t.Errorf("member %s: %v", m.id, err)
			}
		})
	}
	join(members[leader])
	admin := b.admin()
	eventually(t, "the group rebalances", func() bool {
		groups, err := admin.DescribeGroups(ctx, members[0].group)
		return err == nil && groups[members[0].group].State == "PreparingRebalance"
	})
	began := time.Now()
	for _, m := range slices.Delete(slices.Clone(members), leader, leader+1) {
		join(m)
	}
	joining.Wait()
	t.Logf("%d members were in the next generation after %v", len(members), time.Since(began).Round(time.Millisecond))
	requireGeneration(t, members, was+1)
}

func requireGeneration(t *testing.T, members []*beater, want int32) {
	t.Helper()
	leaders := 0
	for i, m := range members {
		if m.generation != want {
			t.Fatalf("member %d is in generation %d, want %d", i, m.generation, want)
		}
		if len(m.others) > 0 {
			leaders++
			if len(m.others) != len(members) {
				t.Errorf("the leader is told of %d members, want %d", len(m.others), len(members))
			}
		}
	}
	if leaders != 1 {
		t.Errorf("%d members lead, want one", leaders)
	}
}

// formGroups has so many members join each group, those of ten no two over one
// connection, and returns once every group is stable.
func formGroups(t *testing.T, b *brokerProcess, groups, of, connections int) []*beater {
	t.Helper()
	clients := make([]*kgo.Client, connections)
	for i := range clients {
		clients[i] = newKgo(t, b, kgo.RequestTimeoutOverhead(time.Minute))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	members := make([]*beater, of*groups)
	var joining sync.WaitGroup
	for i := range members {
		m := &beater{client: clients[i%connections], group: "crew-" + strconv.Itoa(i/of), instance: strconv.Itoa(i)}
		members[i] = m
		joining.Go(func() {
			if err := m.join(ctx); err != nil {
				t.Errorf("%s: %v", m.group, err)
			}
		})
	}
	joining.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return members
}

// join comes again until the member is in a generation that is complete.
func (m *beater) join(ctx context.Context) error {
	for {
		err := m.joinOnce(ctx)
		if err == nil {
			err = m.sync(ctx)
		}
		if !errors.Is(err, kerr.RebalanceInProgress) {
			return err
		}
	}
}

func (m *beater) joinOnce(ctx context.Context) error {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.InstanceID, r.ProtocolType = m.group, m.id, &m.instance, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 120_000, 60_000
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name = "range"
	r.Protocols = append(r.Protocols, protocol)
	answer, err := r.RequestWith(ctx, m.client)
	if err != nil {
		return err
	}
	m.id, m.generation, m.others = answer.MemberID, answer.Generation, nil
	for _, other := range answer.Members {
		m.others = append(m.others, other.MemberID)
	}
	return kerr.ErrorForCode(answer.ErrorCode)
}

func (m *beater) sync(ctx context.Context) error {
	r := kmsg.NewPtrSyncGroupRequest()
	kind, protocol := "consumer", "range"
	r.Group, r.MemberID, r.Generation, r.ProtocolType, r.Protocol = m.group, m.id, m.generation, &kind, &protocol
	for _, id := range m.others {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, []byte("some")
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	answer, err := r.RequestWith(ctx, m.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.ErrorCode)
}

func (m *beater) beat(ctx context.Context) error {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = m.group, m.id, m.generation
	answer, err := r.RequestWith(ctx, m.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.ErrorCode)
}

// heartbeat has every member heartbeat at an interval for a time, evenly spread, and
// returns how many were answered well.
func heartbeat(t *testing.T, members []*beater, interval, window time.Duration) int64 {
	t.Helper()
	var answered atomic.Int64
	var beating sync.WaitGroup
	began := time.Now()
	for i, m := range members {
		beating.Go(func() {
			first := began.Add(interval * time.Duration(i) / time.Duration(len(members)))
			for n := range int(window / interval) {
				time.Sleep(time.Until(first.Add(time.Duration(n) * interval)))
				if err := m.beat(t.Context()); err != nil {
					t.Errorf("heartbeat of %s: %v", m.group, err)
					return
				}
				answered.Add(1)
			}
		})
	}
	beating.Wait()
	return answered.Load()
}

// processorTime is what a broker's process has used so far.
func processorTime(t *testing.T, b *brokerProcess) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.pid(t)))
	if err != nil {
		t.Skipf("no processor time here: %v", err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, f := range fields[11:13] { // utime and stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // USER_HZ
}
