package api

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// SyncGroup (14), versions 0 to 5: gives the leader's assignment, and waits for one's
// own. 3 brought static members, 5 the protocol's type and name, which must be there
// then (KIP-559).
func syncGroup(s *Server, _ client, req *kmsg.SyncGroupRequest, answer func(kmsg.Response)) {
	if req.Version >= 5 && (req.ProtocolType == nil || req.Protocol == nil) {
		answer(syncResponse(shard.Reply{Err: group.ErrInconsistentProtocol}))
		return
	}
	r := &group.SyncRequest{
		Group: req.Group, Generation: req.Generation, Member: req.MemberID, InstanceID: deref(req.InstanceID),
		ProtocolType: deref(req.ProtocolType), Protocol: deref(req.Protocol),
	}
	for _, a := range req.GroupAssignment {
		r.Assignments = append(r.Assignments, group.Assignment{Member: a.MemberID, Bytes: a.MemberAssignment})
	}
	s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.Sync(now, r, token, out)
	}, func(reply shard.Reply) { answer(syncResponse(reply)) })
}

func syncResponse(reply shard.Reply) kmsg.Response {
	resp := kmsg.NewPtrSyncGroupResponse()
	resp.ErrorCode = int16(groupCode(reply.Err))
	if errors.Is(reply.Err, shard.ErrLoadInProgress) {
		// The generation is gone with the earlier coordinator's memory; clients that
		// are told so join again, and do not take the load for an error.
		resp.ErrorCode = int16(wire.RebalanceInProgress)
	}
	if body, ok := reply.Body.(*group.SyncReply); ok && reply.Err == nil {
		resp.ProtocolType, resp.Protocol, resp.MemberAssignment = &body.ProtocolType, &body.Protocol, body.Assignment
	}
	return resp
}
