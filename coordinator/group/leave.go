package group

import (
	"time"

	"tidemark/coordinator/shard"
)

// Leave takes members out of the group. The reply itself has ErrInvalidGroupID or no
// error; each member has nil, ErrUnknownMember or ErrFencedInstance of its own. It is
// Kafka's handleLeaveGroup.
func (g *Groups) Leave(now time.Time, r *LeaveRequest, token shard.Token, out *Outcome) {
	if r.Group == "" {
		out.Reply(token, nil, ErrInvalidGroupID)
		return
	}
	reply := &LeaveReply{Errs: make([]error, len(r.Members))}
	c := g.groups[r.Group]
	for i, l := range r.Members {
		if c == nil {
			reply.Errs[i] = ErrUnknownMember
			continue
		}
		reply.Errs[i] = g.leave(now, c, l, out)
	}
	if c != nil {
		g.dropUnused(c)
	}
	out.Reply(token, reply, nil)
}

func (g *Groups) leave(now time.Time, c *group, l Leaver, out *Outcome) error {
	id := l.Member
	if id == "" { // an administrator names static members only
		id = c.instances[l.InstanceID]
	}
	if c.pending[id] {
		g.removePending(c, id, out)
		g.tryCompleteJoin(now, c, out)
		return nil
	}
	m, err := c.check(id, l.InstanceID)
	if err != nil {
		return err
	}
	g.removeMember(now, c, m, out)
	return nil
}
