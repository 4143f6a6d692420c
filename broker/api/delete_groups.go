package api

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
)

// DeleteGroups (42), versions 0 to 2: removes groups without members, and their
// offsets (KIP-229). Each group is an operation of its own.
func deleteGroups(s *Server, _ client, req *kmsg.DeleteGroupsRequest, answer func(kmsg.Response)) {
	shard.SubmitEach(len(req.Groups), func(i int, done func(shard.Reply)) {
		r := &group.DeleteRequest{Groups: req.Groups[i : i+1]}
		s.o.Groups.Submit(req.Groups[i], func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
			g.Delete(now, r, token, out)
		}, done)
	}, func(replies []shard.Reply) {
		resp := kmsg.NewPtrDeleteGroupsResponse()
		for i, reply := range replies {
			answer := kmsg.NewDeleteGroupsResponseGroup()
			err := reply.Err
			if body, ok := reply.Body.(*group.DeleteReply); ok && err == nil {
				err = body.Errs[0]
			}
			answer.Group, answer.ErrorCode = req.Groups[i], int16(groupCode(err))
			resp.Groups = append(resp.Groups, answer)
		}
		answer(resp)
	})
}
