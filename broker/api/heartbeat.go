package api

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/protocol/wire"
)

// Heartbeat (12), versions 0 to 4: says that a member lives, and learns that the
// group rebalances. 3 brought static members.
func heartbeat(s *Server, _ client, req *kmsg.HeartbeatRequest, answer func(kmsg.Response)) {
	r := &group.HeartbeatRequest{
		Group: req.Group, Generation: req.Generation, Member: req.MemberID, InstanceID: deref(req.InstanceID),
	}
	s.o.Groups.Submit(r.Group, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.Heartbeat(now, r, token, out)
	}, func(reply shard.Reply) {
		resp := kmsg.NewPtrHeartbeatResponse()
		resp.ErrorCode = int16(groupCode(reply.Err))
		if errors.Is(reply.Err, shard.ErrLoadInProgress) {
			resp.ErrorCode = int16(wire.None) // sessions begin anew when it is loaded
		}
		answer(resp)
	})
}
