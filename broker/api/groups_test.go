package api

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/coordinator/group"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// groupSeeds are requests about groups that are answered in every version.
func groupSeeds() []kmsg.Request {
	return []kmsg.Request{
		joinRequestOf("g", "", "range"),
		&kmsg.SyncGroupRequest{Group: "g", MemberID: "m", ProtocolType: text("consumer"), Protocol: text("range"),
			GroupAssignment: []kmsg.SyncGroupRequestGroupAssignment{{MemberID: "m", MemberAssignment: []byte("a")}}},
		&kmsg.HeartbeatRequest{Group: "g", MemberID: "m", InstanceID: text("i")},
		&kmsg.LeaveGroupRequest{Group: "g", MemberID: "m", Members: []kmsg.LeaveGroupRequestMember{{MemberID: "m"}, {InstanceID: text("i")}}},
		&kmsg.DescribeGroupsRequest{Groups: []string{"g", "h"}},
		&kmsg.ListGroupsRequest{StatesFilter: []string{"Stable"}, TypesFilter: []string{"classic"}},
		&kmsg.DeleteGroupsRequest{Groups: []string{"g", "h"}},
		commitOf("g", 17),
		&kmsg.OffsetFetchRequest{Group: "g", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}},
			Groups: []kmsg.OffsetFetchRequestGroup{{Group: "g"}, {Group: "h", Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0}}}}}},
		&kmsg.OffsetDeleteRequest{Group: "g", Topics: []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}},
		consumerJoin("k"),
		&kmsg.ConsumerGroupDescribeRequest{Groups: []string{"k", "g"}},
	}
}

// consumerJoin joins a group of KIP-848 and reads t.
func consumerJoin(group string) *kmsg.ConsumerGroupHeartbeatRequest {
	r := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	r.Group, r.RebalanceTimeoutMillis, r.SubscribedTopicNames = group, 60_000, []string{"t"}
	r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return r
}

// joinRequestOf joins as a consumer.
func joinRequestOf(group, member string, protocols ...string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version, r.Group, r.MemberID, r.ProtocolType = 9, group, member, "consumer"
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = 10_000, 60_000
	for _, p := range protocols {
		r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: p, Metadata: []byte(p + " of " + member)})
	}
	return r
}

// commitOf commits an offset of t-0 for no member.
func commitOf(group string, offset int64) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Offset, p.LeaderEpoch, p.Metadata = offset, 3, text("here")
	r.Version, r.Group, r.Generation = 9, group, -1
	r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{p}}}
	return r
}

// coordinate creates __consumer_offsets and waits until it is loaded.
func (c *cluster) coordinate(partitions int32) {
	c.t.Helper()
	c.topic(groups.Topic, partitions, "cleanup.policy", "compact")
	for ask[*kmsg.ListGroupsResponse](c, &kmsg.ListGroupsRequest{Version: 5}).ErrorCode == int16(wire.CoordinatorLoadInProgress) {
	}
}

// ask sends a request that needs no time to pass and decodes the response.
func ask[R kmsg.Response](c *cluster, req kmsg.Request) R {
	c.t.Helper()
	return decode[R](c.t, req, c.start(req).soon())
}

// soon returns the answer, which comes from another goroutine and not by the clock.
func (f *fakeRequest) soon() outcome {
	f.t.Helper()
	select {
	case o := <-f.answers:
		return o
	case <-time.After(2 * time.Minute):
		f.t.Fatal("the request was not answered within two minutes")
		return outcome{}
	}
}

// groupCluster is a broker with a topic t of two partitions, whose groups form
// without delay.
func groupCluster(t *testing.T) *cluster {
	c := newCluster(t, map[string]string{"group.initial.rebalance.delay.ms": "0"})
	c.topic("t", 2)
	c.coordinate(2)
	return c
}

// become joins and syncs a group's only member, in the given versions, and returns
// its id and generation.
func (c *cluster) become(group string, joinVersion, syncVersion int16) (member string, generation int32) {
	c.t.Helper()
	req := joinRequestOf(group, "", "range", "sticky")
	req.Version = joinVersion
	joined := ask[*kmsg.JoinGroupResponse](c, req)
	if joinVersion >= 4 {
		wantCode(c.t, "first join", joined.ErrorCode, wire.MemberIDRequired)
		req.MemberID = joined.MemberID
		joined = ask[*kmsg.JoinGroupResponse](c, req)
	}
	wantCode(c.t, "join", joined.ErrorCode, wire.None)
	if joined.MemberID == "" || joined.LeaderID != joined.MemberID || deref(joined.Protocol) != "range" || len(joined.Members) != 1 {
		c.t.Fatalf("join in version %d: got %+v, want to lead alone with range", joinVersion, joined)
	}
	if got := joined.Members[0]; got.MemberID != joined.MemberID || string(got.ProtocolMetadata) != "range of " {
		c.t.Errorf("join in version %d: the leader is told of %+v", joinVersion, got)
	}
	synced := ask[*kmsg.SyncGroupResponse](c, &kmsg.SyncGroupRequest{Version: syncVersion, Group: group, Generation: joined.Generation, MemberID: joined.MemberID,
		ProtocolType: text("consumer"), Protocol: text("range"),
		GroupAssignment: []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: []byte("yours")}}})
	wantCode(c.t, "sync", synced.ErrorCode, wire.None)
	if string(synced.MemberAssignment) != "yours" {
		c.t.Errorf("sync in version %d: got assignment %q, want yours", syncVersion, synced.MemberAssignment)
	}
	return joined.MemberID, joined.Generation
}

func TestGroupsOfEveryVersion(t *testing.T) {
	c := groupCluster(t)
	for version := int16(0); version <= 9; version++ {
		id := fmt.Sprintf("g%d", version)
		member, generation := c.become(id, version, min(version, 5))
		beat := &kmsg.HeartbeatRequest{Version: min(version, 4), Group: id, MemberID: member, Generation: generation}
		wantCode(t, "heartbeat", ask[*kmsg.HeartbeatResponse](c, beat).ErrorCode, wire.None)
		beat.Generation++
		wantCode(t, "heartbeat of another generation", ask[*kmsg.HeartbeatResponse](c, beat).ErrorCode, wire.IllegalGeneration)
		c.wantDescribed(id, member, min(version, 6))
		c.wantListed(id, min(version, 5))

		wantCode(t, "deletion of a group with members", ask[*kmsg.DeleteGroupsResponse](c,
			&kmsg.DeleteGroupsRequest{Version: min(version, 2), Groups: []string{id}}).Groups[0].ErrorCode, wire.NonEmptyGroup)
		leave := &kmsg.LeaveGroupRequest{Version: min(version, 5), Group: id, MemberID: member, Members: []kmsg.LeaveGroupRequestMember{{MemberID: member}}}
		left := ask[*kmsg.LeaveGroupResponse](c, leave)
		wantCode(t, "leave", left.ErrorCode, wire.None)
		left = ask[*kmsg.LeaveGroupResponse](c, leave)
		if leave.Version < 3 {
			wantCode(t, "leave twice", left.ErrorCode, wire.UnknownMemberID)
		} else {
			wantCode(t, "leave twice", left.ErrorCode, wire.None)
			wantCode(t, "leave twice, the member's part", left.Members[0].ErrorCode, wire.UnknownMemberID)
		}
		wantCode(t, "deletion of an empty group", ask[*kmsg.DeleteGroupsResponse](c,
			&kmsg.DeleteGroupsRequest{Version: min(version, 2), Groups: []string{id}}).Groups[0].ErrorCode, wire.None)
	}
}

func (c *cluster) wantDescribed(group, member string, version int16) {
	c.t.Helper()
	d := ask[*kmsg.DescribeGroupsResponse](c, &kmsg.DescribeGroupsRequest{Version: version, Groups: []string{group, "nobody"}}).Groups
	if len(d) != 2 || d[0].State != "Stable" || d[0].Protocol != "range" || len(d[0].Members) != 1 || d[0].Members[0].MemberID != member ||
		string(d[0].Members[0].MemberAssignment) != "yours" {
		c.t.Errorf("description in version %d: got %+v, want Stable with range and the member", version, d)
	}
	want := wire.None
	if version >= 6 {
		want = wire.GroupIDNotFound
	}
	wantCode(c.t, "description of no group", d[1].ErrorCode, want)
	if d[1].State != "Dead" {
		c.t.Errorf("a group that is not there is %s, want Dead", d[1].State)
	}
}

func (c *cluster) wantListed(group string, version int16) {
	c.t.Helper()
	for _, test := range []struct {
		states, types []string
		from          int16 // the version that filters so
		there         bool
	}{
		{nil, nil, 0, true},
		{[]string{"stable"}, nil, 0, true},
		{[]string{"Empty"}, nil, 4, false},
		{nil, []string{"Classic"}, 0, true},
		{nil, []string{"consumer"}, 5, false},
	} {
		list := ask[*kmsg.ListGroupsResponse](c, &kmsg.ListGroupsRequest{Version: version, StatesFilter: test.states, TypesFilter: test.types})
		got := slices.ContainsFunc(list.Groups, func(g kmsg.ListGroupsResponseGroup) bool { return g.Group == group })
		if want := test.there || version < test.from; got != want {
			c.t.Errorf("list in version %d with %v, %v has %s: got %v, want %v", version, test.states, test.types, group, got, want)
		}
	}
}

// TestOffsetsOfEveryVersion: what is committed in any version is fetched in any.
func TestOffsetsOfEveryVersion(t *testing.T) {
	c := groupCluster(t)
	id := c.server.o.Metadata.View().Topic("t").ID
	for commit := int16(2); commit <= 10; commit++ {
		req := commitOf("g", 100+int64(commit))
		req.Version = commit
		req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.OffsetCommitRequestTopicPartition{Partition: 7})
		req.Topics = append(req.Topics, kmsg.OffsetCommitRequestTopic{Topic: "none", Partitions: make([]kmsg.OffsetCommitRequestTopicPartition, 1)})
		unknown := wire.UnknownTopicOrPartition
		if commit >= 10 {
			req.Topics[0].TopicID, req.Topics[1].TopicID, unknown = id, [16]byte{9}, wire.UnknownTopicID
		}
		topics := ask[*kmsg.OffsetCommitResponse](c, req).Topics
		wantCode(t, "commit", topics[0].Partitions[0].ErrorCode, wire.None)
		wantCode(t, "commit of an unknown partition", topics[0].Partitions[1].ErrorCode, wire.UnknownTopicOrPartition)
		wantCode(t, "commit of an unknown topic", topics[1].Partitions[0].ErrorCode, unknown)
		if commit >= 10 && (topics[0].TopicID != id || topics[1].TopicID != [16]byte{9}) {
			t.Errorf("committed by ids is answered %+v, want the ids", topics)
		}
		epoch := int32(-1)
		if commit >= 6 {
			epoch = 3
		}
		for fetch := int16(1); fetch <= 10; fetch++ {
			c.wantOffset(fetch, "g", 100+int64(commit), epoch)
		}
	}
}

// wantOffset fetches the group's offset of t-0, and all of the group's where the
// version can ask for them.
func (c *cluster) wantOffset(version int16, group string, offset int64, epoch int32) {
	c.t.Helper()
	for _, all := range []bool{false, true} {
		if all && version < 2 {
			continue
		}
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version, req.Group = version, group
		req.Groups = []kmsg.OffsetFetchRequestGroup{kmsg.NewOffsetFetchRequestGroup()}
		req.Groups[0].Group = group
		if !all {
			req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}
			req.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: c.server.o.Metadata.View().Topic("t").ID, Partitions: []int32{0}}}
		}
		if version < 5 {
			epoch = -1
		}
		resp := ask[*kmsg.OffsetFetchResponse](c, req)
		got := fmt.Sprintf("%+v", resp.Topics)
		want := fmt.Sprintf("[{Topic:t Partitions:[{Partition:0 Offset:%d LeaderEpoch:%d", offset, epoch)
		if version >= 8 {
			got = fmt.Sprintf("%+v", resp.Groups[0].Topics)
			want = fmt.Sprintf("[{Topic:t TopicID:[0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0] Partitions:[{Partition:0 Offset:%d LeaderEpoch:%d", offset, epoch)
		}
		if version >= 10 {
			want = fmt.Sprintf("[{Topic: TopicID:%v Partitions:[{Partition:0 Offset:%d LeaderEpoch:%d", c.server.o.Metadata.View().Topic("t").ID, offset, epoch)
		}
		if version < 5 {
			want = want[:len(want)-len(" LeaderEpoch:-1")]
		}
		if len(got) < len(want) || got[:len(want)] != want {
			c.t.Errorf("fetch in version %d, all %v: got %s, want %s", version, all, got, want)
		}
	}
}

// TestGroupsWithoutTopic: before the topic is there every request but
// FindCoordinator says so at once, and that one has it created.
func TestGroupsWithoutTopic(t *testing.T) {
	c := newCluster(t, map[string]string{"offsets.topic.num.partitions": "3", "offsets.topic.segment.bytes": "12345"})
	c.topic("t", 1)
	wantCode(t, "join", do[*kmsg.JoinGroupResponse](c, joinRequestOf("g", "", "range")).ErrorCode, wire.NotCoordinator)
	wantCode(t, "commit", do[*kmsg.OffsetCommitResponse](c, commitOf("g", 1)).Topics[0].Partitions[0].ErrorCode, wire.NotCoordinator)
	fetch := &kmsg.OffsetFetchRequest{Version: 1, Group: "g", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}}
	wantCode(t, "fetch", do[*kmsg.OffsetFetchResponse](c, fetch).Topics[0].Partitions[0].ErrorCode, wire.NotCoordinator)
	list := do[*kmsg.ListGroupsResponse](c, &kmsg.ListGroupsRequest{Version: 4})
	if list.ErrorCode != 0 || len(list.Groups) != 0 {
		t.Errorf("list: got %+v, want no group and no error", list)
	}

	for version := int16(0); version <= 6; version++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorKey, req.CoordinatorKeys = version, "g", []string{"g", "h"}
		var code int16
		var node int32 = -1
		for range 100_000 {
			resp := do[*kmsg.FindCoordinatorResponse](c, req)
			if code, node = resp.ErrorCode, resp.NodeID; version >= 4 {
				code, node = resp.Coordinators[1].ErrorCode, resp.Coordinators[1].NodeID
			}
			if code != int16(wire.CoordinatorNotAvailable) {
				break
			}
			time.Sleep(time.Millisecond) // the topic is being created
		}
		wantCode(t, fmt.Sprintf("FindCoordinator %d", version), code, wire.None)
		if node != 1 {
			t.Errorf("FindCoordinator %d names broker %d, want 1", version, node)
		}
	}
	topic := c.server.o.Metadata.View().Topic(groups.Topic)
	if len(topic.Partitions) != 3 {
		t.Errorf("the topic has %d partitions, want 3", len(topic.Partitions))
	}
	config := c.server.o.Replicas.Topic(groups.Topic).Config()
	if !config.Log.Compacted || config.Log.SegmentBytes != 12345 || config.AppendEngine != "buffered" {
		t.Errorf("the topic's log has %+v, want it compacted, buffered, with segments of 12345 bytes", config.Log)
	}
}

// TestGroupErrors: what clients of groups do wrong is told in Kafka's codes.
func TestGroupErrors(t *testing.T) {
	c := groupCluster(t)
	member, generation := c.become("g", 9, 5)
	join := func(change func(*kmsg.JoinGroupRequest)) int16 {
		r := joinRequestOf("g", member, "range")
		change(r)
		return ask[*kmsg.JoinGroupResponse](c, r).ErrorCode
	}
	wantCode(t, "no group id", join(func(r *kmsg.JoinGroupRequest) { r.Group = "" }), wire.InvalidGroupID)
	wantCode(t, "short session", join(func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 5999 }), wire.InvalidSessionTimeout)
	wantCode(t, "long session", join(func(r *kmsg.JoinGroupRequest) { r.SessionTimeoutMillis = 1800001 }), wire.InvalidSessionTimeout)
	wantCode(t, "unknown member", join(func(r *kmsg.JoinGroupRequest) { r.MemberID = "m" }), wire.UnknownMemberID)
	wantCode(t, "other protocols", join(func(r *kmsg.JoinGroupRequest) { r.Protocols[0].Name = "other" }), wire.InconsistentGroupProtocol)
	wantCode(t, "no protocols", join(func(r *kmsg.JoinGroupRequest) { r.Protocols = nil }), wire.InconsistentGroupProtocol)

	wantCode(t, "sync without a protocol", ask[*kmsg.SyncGroupResponse](c, &kmsg.SyncGroupRequest{Version: 5, Group: "g", MemberID: member, Generation: generation}).ErrorCode,
		wire.InconsistentGroupProtocol)
	commit := commitOf("g", 1)
	commit.Generation, commit.MemberID = generation+1, member
	code := func(r *kmsg.OffsetCommitRequest) int16 {
		return ask[*kmsg.OffsetCommitResponse](c, r).Topics[0].Partitions[0].ErrorCode
	}
	wantCode(t, "commit of another generation", code(commit), wire.IllegalGeneration)
	commit.Generation, commit.MemberID = generation, "m"
	wantCode(t, "commit of a stranger", code(commit), wire.UnknownMemberID)
	commit.MemberID, commit.Topics[0].Partitions[0].Metadata = member, text(string(bytes.Repeat([]byte{'x'}, 4097)))
	wantCode(t, "commit with too long a text", code(commit), wire.OffsetMetadataTooLarge)

	find := kmsg.NewPtrFindCoordinatorRequest()
	find.Version, find.CoordinatorType, find.CoordinatorKeys = 6, 2, []string{"share"}
	wantCode(t, "coordinator of a share group", do[*kmsg.FindCoordinatorResponse](c, find).Coordinators[0].ErrorCode, wire.InvalidRequest)
	deletion := &kmsg.OffsetDeleteRequest{Group: "nobody", Topics: []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{}}}}}
	wantCode(t, "OffsetDelete of no group", ask[*kmsg.OffsetDeleteResponse](c, deletion).ErrorCode, wire.GroupIDNotFound)
}

// TestOffsetDelete removes an offset, and not one of a topic that is not there.
func TestOffsetDelete(t *testing.T) {
	c := groupCluster(t)
	ask[*kmsg.OffsetCommitResponse](c, commitOf("g", 5))
	req := &kmsg.OffsetDeleteRequest{Group: "g", Topics: []kmsg.OffsetDeleteRequestTopic{
		{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 9}}}}}
	resp := ask[*kmsg.OffsetDeleteResponse](c, req)
	wantCode(t, "deletion", resp.Topics[0].Partitions[0].ErrorCode, wire.None)
	wantCode(t, "deletion of an unknown partition", resp.Topics[0].Partitions[1].ErrorCode, wire.UnknownTopicOrPartition)
	fetch := &kmsg.OffsetFetchRequest{Version: 7, Group: "g", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}}
	if got := ask[*kmsg.OffsetFetchResponse](c, fetch).Topics[0].Partitions[0].Offset; got != -1 {
		t.Errorf("the offset is %d after its deletion, want none", got)
	}
}

// TestClientsDoNotWriteOffsets is fault S07 where it hurts most: a client could make
// up groups and offsets.
func TestClientsDoNotWriteOffsets(t *testing.T) {
	c := groupCluster(t)
	p := c.produced(produceRequest(9, -1, groups.Topic, 0, batch(record.None, "a")))
	wantCode(t, "produce", p.ErrorCode, wire.InvalidTopicException)
	if got := c.server.o.Replicas.Partition(groups.Topic, 0).LogEndOffset(); got != 0 {
		t.Errorf("log end offset %d, want 0", got)
	}
}

// TestGroupDetail: what DescribeGroups has no field for goes to our own commands
// and to nobody else.
func TestGroupDetail(t *testing.T) {
	c := groupCluster(t)
	_, generation := c.become("g", 9, 5)
	c.clock.Advance(1500 * time.Millisecond)
	describe := func(version int16, clientID string) *kmsg.DescribeGroupsResponseGroup {
		req := &kmsg.DescribeGroupsRequest{Version: version, Groups: []string{"g"}}
		f := newFakeRequest(t)
		c.server.serve(call{header: wire.Header{Key: 15, Version: version, CorrelationID: 7, ClientID: []byte(clientID)}, body: req.AppendTo(nil), to: f})
		return &decode[*kmsg.DescribeGroupsResponse](t, req, f.soon()).Groups[0]
	}
	d, ok := GroupDetailOf(describe(5, OwnClientID))
	if want := (GroupDetail{Generation: generation, InState: 1500 * time.Millisecond}); !ok || d != want {
		t.Errorf("got %+v (there: %v), want %+v", d, ok, want)
	}
	m, ok := MemberDetailOf(&describe(6, OwnClientID).Members[0])
	if want := (MemberDetail{Silent: 1500 * time.Millisecond}); !ok || m != want {
		t.Errorf("got member %+v (there: %v), want %+v", m, ok, want)
	}
	for version, clientID := range map[int16]string{4: OwnClientID, 6: "other"} {
		g := describe(version, clientID)
		if _, ok := GroupDetailOf(g); ok || g.UnknownTags.Len() > 0 {
			t.Errorf("client %s gets our fields in version %d", clientID, version)
		}
	}
}

// TestConsumerGroup: a member of KIP-848 joins, is given its partitions, commits by
// its epoch, is described, and leaves; what is wrong is told in Kafka's codes.
func TestConsumerGroup(t *testing.T) {
	c := groupCluster(t)
	join := consumerJoin("k")
	joined := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, join)
	wantCode(t, "join", joined.ErrorCode, wire.None)
	if joined.MemberEpoch < 1 || joined.MemberID == nil || joined.HeartbeatIntervalMillis != 5000 || joined.Assignment == nil ||
		len(joined.Assignment.Topics) != 1 || len(joined.Assignment.Topics[0].Partitions) != 2 {
		t.Fatalf("joined as %+v, want an epoch, an id, 5000 ms and both partitions of t", joined)
	}
	member := *joined.MemberID
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Group, beat.MemberID, beat.MemberEpoch = "k", member, joined.MemberEpoch
	if again := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, beat); again.ErrorCode != 0 || again.Assignment != nil {
		t.Errorf("a heartbeat answers %+v, want nothing new", again)
	}
	beat.MemberEpoch++
	wantCode(t, "heartbeat of another epoch", ask[*kmsg.ConsumerGroupHeartbeatResponse](c, beat).ErrorCode, wire.FencedMemberEpoch)
	join.ServerAssignor = text("random")
	wantCode(t, "unknown assignor", ask[*kmsg.ConsumerGroupHeartbeatResponse](c, join).ErrorCode, wire.UnsupportedAssignor)

	commit := commitOf("k", 5)
	commit.MemberID, commit.Generation = member, joined.MemberEpoch
	wantCode(t, "commit", ask[*kmsg.OffsetCommitResponse](c, commit).Topics[0].Partitions[0].ErrorCode, wire.None)
	for version := int16(0); version <= 1; version++ {
		d := ask[*kmsg.ConsumerGroupDescribeResponse](c, &kmsg.ConsumerGroupDescribeRequest{Version: version, Groups: []string{"k", "nobody"}}).Groups
		if d[0].State != "Stable" || len(d[0].Members) != 1 || d[0].Members[0].MemberID != member ||
			len(d[0].Members[0].Assignment.TopicPartitions) != 1 || d[0].Members[0].Assignment.TopicPartitions[0].Topic != "t" {
			t.Errorf("described in version %d as %+v, want Stable, with the member and its partitions of t", version, d[0])
		}
		wantCode(t, "description of no group", d[1].ErrorCode, wire.GroupIDNotFound)
	}
	list := ask[*kmsg.ListGroupsResponse](c, &kmsg.ListGroupsRequest{Version: 5, TypesFilter: []string{"consumer"}})
	if len(list.Groups) != 1 || list.Groups[0].Group != "k" || list.Groups[0].GroupType != "consumer" {
		t.Errorf("listed are %+v, want k of type consumer", list.Groups)
	}
	beat.MemberEpoch = -1
	wantCode(t, "leave", ask[*kmsg.ConsumerGroupHeartbeatResponse](c, beat).ErrorCode, wire.None)
}

// TestSubscriptionByRegex: the broker evaluates a pattern over topics that there are and
// that come to be, but for internal ones, and shows it; what is wrong with a bad one is
// told.
func TestSubscriptionByRegex(t *testing.T) {
	c := groupCluster(t)
	c.topic("t2", 1)
	join := consumerJoin("k")
	join.Version, join.MemberID, join.SubscribedTopicNames, join.SubscribedTopicRegex = 1, "chosen", nil, text("t(")
	refused := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, join)
	wantCode(t, "a bad pattern", refused.ErrorCode, wire.InvalidRegularExpression)
	if refused.ErrorMessage == nil || !strings.Contains(*refused.ErrorMessage, "missing closing )") {
		t.Errorf("a bad pattern is refused with %v, want what is wrong with it", refused.ErrorMessage)
	}

	join.SubscribedTopicRegex = text(".*")
	joined := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, join)
	wantCode(t, "join", joined.ErrorCode, wire.None)
	if joined.Assignment == nil || len(joined.Assignment.Topics) != 2 {
		t.Fatalf("assigned is %+v, want t and t2", joined.Assignment)
	}
	d := ask[*kmsg.ConsumerGroupDescribeResponse](c, &kmsg.ConsumerGroupDescribeRequest{Version: 1, Groups: []string{"k"}}).Groups[0].Members
	if len(d) != 1 || d[0].SubscribedTopicRegex == nil || *d[0].SubscribedTopicRegex != ".*" || len(d[0].SubscribedTopics) != 0 {
		t.Errorf("described as %+v, want the pattern and no names", d)
	}

	c.topic("fresh", 3)
	beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	beat.Version, beat.Group, beat.MemberID, beat.MemberEpoch = 1, "k", "chosen", joined.MemberEpoch
	grown := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, beat)
	wantCode(t, "heartbeat", grown.ErrorCode, wire.None)
	if grown.Assignment == nil || len(grown.Assignment.Topics) != 3 {
		t.Errorf("with a new topic assigned is %+v, want that too", grown.Assignment)
	}
}

// TestOffsetsByTopicID: a topic that there is not has UNKNOWN_TOPIC_ID, and the others
// their offsets; what was committed by the id of an earlier topic of the name is none
// of the present one.
func TestOffsetsByTopicID(t *testing.T) {
	c := groupCluster(t)
	id := c.server.o.Metadata.View().Topic("t").ID
	commit := commitOf("g", 5)
	commit.Version, commit.Topics[0].TopicID = 10, id
	wantCode(t, "commit", ask[*kmsg.OffsetCommitResponse](c, commit).Topics[0].Partitions[0].ErrorCode, wire.None)

	fetch := &kmsg.OffsetFetchRequest{Version: 10, Groups: []kmsg.OffsetFetchRequestGroup{kmsg.NewOffsetFetchRequestGroup()}}
	fetch.Groups[0].Group = "g"
	fetch.Groups[0].Topics = []kmsg.OffsetFetchRequestGroupTopic{{TopicID: [16]byte{9}, Partitions: []int32{0, 1}}, {TopicID: id, Partitions: []int32{0, 1}}}
	topics := ask[*kmsg.OffsetFetchResponse](c, fetch).Groups[0].Topics
	if len(topics) != 2 || topics[0].TopicID != id || topics[1].TopicID != [16]byte{9} {
		t.Fatalf("got %+v, want both topics by their ids", topics)
	}
	if known := topics[0].Partitions; known[0].Offset != 5 || known[1].Offset != -1 || known[1].ErrorCode != 0 {
		t.Errorf("got %+v, want 5 and none", known)
	}
	for _, p := range topics[1].Partitions {
		wantCode(t, "an unknown topic", p.ErrorCode, wire.UnknownTopicID)
	}

	fetch.Groups[0].Topics = fetch.Groups[0].Topics[:1]
	if only := ask[*kmsg.OffsetFetchResponse](c, fetch).Groups[0].Topics; len(only) != 1 || only[0].TopicID != [16]byte{9} {
		t.Errorf("only an unknown topic is asked about, and the answer is %+v", only)
	}

	view := c.server.o.Metadata.View()
	earlier := &group.Committed{TopicPartition: group.TopicPartition{Topic: "t"}, TopicID: [16]byte{8}, Offset: 5}
	if got, ok := ofTopic(view, earlier); got != id || !ok || earlier.Offset != -1 {
		t.Errorf("an offset of an earlier topic is %d of %v, want none of the present one", earlier.Offset, got)
	}
	if _, ok := ofTopic(view, &group.Committed{TopicPartition: group.TopicPartition{Topic: "gone"}}); ok {
		t.Error("an offset of a topic that is gone has no id to be told by")
	}
}

// TestOffsetsOfDeletedTopic: a topic that is made again under the name of a deleted
// one does not begin where the other ended.
func TestOffsetsOfDeletedTopic(t *testing.T) {
	c := groupCluster(t)
	ask[*kmsg.OffsetCommitResponse](c, commitOf("h", 5))
	if err := c.control.DeleteTopic(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	c.topic("t", 2)
	fetch := &kmsg.OffsetFetchRequest{Version: 7, Group: "h", Topics: []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{0}}}}
	if got := ask[*kmsg.OffsetFetchResponse](c, fetch).Topics[0].Partitions[0].Offset; got != -1 {
		t.Errorf("the new topic has offset %d of the old one, want none", got)
	}
}
