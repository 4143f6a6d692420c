package api

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/groups"
	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
)

// JoinGroup (11), versions 0 to 9: becomes a member of a group, or asks for a new
// generation, and waits until the generation has all its members. 1 brought the
// rebalance timeout (KIP-62), 4 members that must know their id (KIP-394), 5 static
// members (KIP-345), 7 the protocol's type and null names, 8 a reason (KIP-800), 9
// leaders that may skip the assignment (KIP-814). A member whose protocols no record of
// the group could hold gets INVALID_REQUEST; Kafka lets it in, keeps them in memory, and
// fails the sync.
func joinGroup(s *Server, from client, req *kmsg.JoinGroupRequest, answer func(kmsg.Response)) {
	if protocolBytes(req) > s.o.Configs.Topic(groups.Topic).Log.MaxMessageBytes {
		answer(joinResponse(req, shard.Reply{Err: group.ErrInvalidRequest}))
		return
	}
	r := joinRequest(from, req)
	s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.Join(now, r, token, out)
	}, func(reply shard.Reply) { answer(joinResponse(req, reply)) })
}

// protocolBytes is what a member asks the group to remember.
func protocolBytes(req *kmsg.JoinGroupRequest) (n int) {
	for i := range req.Protocols {
		n += len(req.Protocols[i].Name) + len(req.Protocols[i].Metadata)
	}
	return n
}

func joinRequest(from client, req *kmsg.JoinGroupRequest) *group.JoinRequest {
	r := &group.JoinRequest{
		Group: req.Group, Member: req.MemberID, InstanceID: deref(req.InstanceID), ClientID: from.ID, ClientHost: from.Host,
		ProtocolType: req.ProtocolType, SessionTimeout: millis(req.SessionTimeoutMillis),
		RebalanceTimeout:   millis(req.RebalanceTimeoutMillis),
		RequireKnownMember: req.Version >= 4, CanSkipAssignment: req.Version >= 9, FreshID: uniqueID(),
	}
	if req.Version < 1 {
		r.RebalanceTimeout = r.SessionTimeout
	}
	for _, p := range req.Protocols {
		r.Protocols = append(r.Protocols, group.Protocol{Name: p.Name, Metadata: p.Metadata})
	}
	return r
}

func joinResponse(req *kmsg.JoinGroupRequest, reply shard.Reply) kmsg.Response {
	resp := kmsg.NewPtrJoinGroupResponse()
	resp.ErrorCode, resp.Generation, resp.MemberID = int16(groupCode(reply.Err)), -1, req.MemberID
	body, ok := reply.Body.(*group.JoinReply)
	if !ok {
		return resp
	}
	resp.MemberID = body.Member
	if reply.Err != nil {
		return resp
	}
	resp.Generation, resp.ProtocolType, resp.Protocol = body.Generation, &body.ProtocolType, &body.Protocol
	resp.LeaderID, resp.SkipAssignment = body.Leader, body.SkipAssignment
	for i := range body.Members {
		m := &body.Members[i]
		member := kmsg.NewJoinGroupResponseMember()
		member.MemberID, member.InstanceID, member.ProtocolMetadata = m.Member, nullable(m.InstanceID), m.Metadata
		resp.Members = append(resp.Members, member)
	}
	return resp
}

// uniqueID is a random UUID, with which Kafka makes member ids.
func uniqueID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func millis(ms int32) time.Duration { return time.Duration(ms) * time.Millisecond }

// deref reads a name that may be null.
func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// nullable is how an empty name is answered.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
