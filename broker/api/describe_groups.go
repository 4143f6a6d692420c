package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// DescribeGroups (15), versions 0 to 6: the state and members of groups. 4 brought
// instance ids; 6 says GROUP_ID_NOT_FOUND of a group that is Dead in earlier
// versions (KIP-1043).
func describeGroups(s *Server, from client, req *kmsg.DescribeGroupsRequest, answer func(kmsg.Response)) {
	shard.SubmitEach(len(req.Groups), func(i int, done func(shard.Reply)) {
		id := req.Groups[i]
		s.o.Groups.Submit(id, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
			g.Describe(now, id, token, out)
		}, done)
	}, func(replies []shard.Reply) {
		resp := kmsg.NewPtrDescribeGroupsResponse()
		for i, reply := range replies {
			d := describedGroup(req, req.Groups[i], reply)
			if body, ok := reply.Body.(*group.Description); ok && from.ID == OwnClientID {
				addDetail(&d, body, s.o.Clock.Now())
			}
			resp.Groups = append(resp.Groups, d)
		}
		answer(resp)
	})
}

func describedGroup(req *kmsg.DescribeGroupsRequest, id string, reply shard.Reply) kmsg.DescribeGroupsResponseGroup {
	d := kmsg.NewDescribeGroupsResponseGroup()
	d.Group, d.ErrorCode = id, int16(groupCode(reply.Err))
	body, ok := reply.Body.(*group.Description)
	if !ok {
		return d
	}
	d.State, d.ProtocolType, d.Protocol = body.State, body.ProtocolType, body.Protocol
	if d.State == group.Dead.String() && req.Version >= 6 {
		d.ErrorCode, d.ErrorMessage = int16(wire.GroupIDNotFound), message(group.ErrGroupNotFound)
	}
	for i := range body.Members {
		m := &body.Members[i]
		member := kmsg.NewDescribeGroupsResponseGroupMember()
		member.MemberID, member.InstanceID = m.Member, nullable(m.InstanceID)
		member.ClientID, member.ClientHost = m.ClientID, m.ClientHost
		member.ProtocolMetadata, member.MemberAssignment = m.Metadata, m.Assignment
		d.Members = append(d.Members, member)
	}
	return d
}
