package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// LeaveGroup (13), versions 0 to 5: takes members out of a group, before version 3
// one, from 3 on several, static ones by their instance ids (KIP-345); 5 brought a
// reason.
func leaveGroup(s *Server, _ client, req *kmsg.LeaveGroupRequest, answer func(kmsg.Response)) {
	if req.Version < 3 {
		req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: req.MemberID}}
	}
	r := &group.LeaveRequest{Group: req.Group}
	for _, m := range req.Members {
		r.Members = append(r.Members, group.Leaver{Member: m.MemberID, InstanceID: deref(m.InstanceID)})
	}
	s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.Leave(now, r, token, out)
	}, func(reply shard.Reply) { answer(leaveResponse(req, reply)) })
}

func leaveResponse(req *kmsg.LeaveGroupRequest, reply shard.Reply) kmsg.Response {
	resp := kmsg.NewPtrLeaveGroupResponse()
	resp.ErrorCode = int16(groupCode(reply.Err))
	body, ok := reply.Body.(*group.LeaveReply)
	if !ok {
		return resp
	}
	for i, m := range req.Members {
		member := kmsg.NewLeaveGroupResponseMember()
		member.MemberID, member.InstanceID, member.ErrorCode = m.MemberID, m.InstanceID, int16(groupCode(body.Errs[i]))
		resp.Members = append(resp.Members, member)
	}
	if req.Version < 3 && resp.ErrorCode == int16(wire.None) {
		resp.ErrorCode = resp.Members[0].ErrorCode
	}
	return resp
}
