package api

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// TestOversizeGroups: what no record of the offsets topic can hold is refused to who
// asks for it, and other groups of the partition notice nothing (KAFKA-13998). Bodies
// over 4 MiB are not read at all, see TestLargeBodies.
func TestOversizeGroups(t *testing.T) {
	c := newCluster(t, map[string]string{"group.initial.rebalance.delay.ms": "0"})
	c.topic("t", 1)
	c.coordinate(1)
	neighbour, generation := c.become("neighbour", 9, 5)

	wantCode(t, "join with 2 MB of metadata", c.joinCode(func(r *kmsg.JoinGroupRequest) {
		r.Protocols[0].Metadata = make([]byte, 2<<20)
	}), wire.InvalidRequest)
	wantCode(t, "join with the id of another group's member", c.joinCode(func(r *kmsg.JoinGroupRequest) {
		r.MemberID = neighbour
	}), wire.UnknownMemberID)
	wantCode(t, "join with a reason of 1 MB", c.joinCode(func(r *kmsg.JoinGroupRequest) {
		r.Reason = text(strings.Repeat("because ", 1<<17))
	}), wire.MemberIDRequired)
	wantCode(t, "join with 10,000 protocols", c.joinCode(func(r *kmsg.JoinGroupRequest) {
		for i := range 10_000 {
			r.Protocols = append(r.Protocols, kmsg.JoinGroupRequestProtocol{Name: fmt.Sprint("p", i)})
		}
	}), wire.MemberIDRequired)

	req := joinRequestOf("large", "", "range")
	req.Version = 0
	joined := ask[*kmsg.JoinGroupResponse](c, req)
	wantCode(t, "join", joined.ErrorCode, wire.None)
	sync := &kmsg.SyncGroupRequest{Version: 5, Group: "large", Generation: joined.Generation, MemberID: joined.MemberID,
		ProtocolType: text("consumer"), Protocol: text("range"),
		GroupAssignment: []kmsg.SyncGroupRequestGroupAssignment{{MemberID: joined.MemberID, MemberAssignment: make([]byte, 2<<20)}}}
	wantCode(t, "sync with an assignment of 2 MB", ask[*kmsg.SyncGroupResponse](c, sync).ErrorCode, wire.UnknownServerError)
	sync.GroupAssignment[0].MemberAssignment = []byte("less")
	synced := ask[*kmsg.SyncGroupResponse](c, sync)
	wantCode(t, "sync with less", synced.ErrorCode, wire.None)
	if !bytes.Equal(synced.MemberAssignment, []byte("less")) {
		t.Errorf("the assignment is %q, want less", synced.MemberAssignment)
	}

	beat := &kmsg.HeartbeatRequest{Version: 4, Group: "neighbour", MemberID: neighbour, Generation: generation}
	wantCode(t, "heartbeat of the neighbour", ask[*kmsg.HeartbeatResponse](c, beat).ErrorCode, wire.None)
}

// joinCode is the answer to a first join of a group of its own, made different.
func (c *cluster) joinCode(differ func(*kmsg.JoinGroupRequest)) int16 {
	c.t.Helper()
	req := joinRequestOf("hostile", "", "range")
	differ(req)
	return ask[*kmsg.JoinGroupResponse](c, req).ErrorCode
}
