package api

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
)

// ListGroups (16), versions 0 to 5: the groups that this broker coordinates. 4
// filters by state (KIP-518), 5 by type (KIP-848).
func listGroups(s *Server, _ client, req *kmsg.ListGroupsRequest, answer func(kmsg.Response)) {
	r := &group.ListRequest{States: req.StatesFilter, Types: req.TypesFilter}
	s.o.Groups.SubmitAll(func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.List(now, r, token, out)
	}, func(replies []shard.Reply) {
		resp := kmsg.NewPtrListGroupsResponse()
		for _, reply := range replies {
			if reply.Err != nil && !errors.Is(reply.Err, shard.ErrNotCoordinator) {
				resp.ErrorCode, resp.Groups = int16(groupCode(reply.Err)), nil
				break
			}
			if body, ok := reply.Body.(*group.ListReply); ok {
				resp.Groups = append(resp.Groups, listedGroups(body.Groups)...)
			}
		}
		answer(resp)
	})
}

func listedGroups(list []group.Listed) []kmsg.ListGroupsResponseGroup {
	out := make([]kmsg.ListGroupsResponseGroup, len(list))
	for i, l := range list {
		out[i] = kmsg.NewListGroupsResponseGroup()
		out[i].Group, out[i].ProtocolType, out[i].GroupState, out[i].GroupType = l.Group, l.ProtocolType, l.State, l.Type
	}
	return out
}
