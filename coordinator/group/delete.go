package group

import (
	"maps"
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// Delete removes Empty groups with their offsets and replies with a DeleteReply. A
// group's error is nil, ErrGroupNotFound or ErrNonEmptyGroup.
func (g *Groups) Delete(_ time.Time, r *DeleteRequest, token shard.Token, out *Outcome) {
	reply := &DeleteReply{Errs: make([]error, len(r.Groups))}
	for i, id := range r.Groups {
		switch c := g.groups[id]; {
		case c == nil:
			reply.Errs[i] = ErrGroupNotFound
		case !c.empty():
			reply.Errs[i] = ErrNonEmptyGroup
		default:
			g.bury(c, out)
		}
	}
	out.RecordsOnly = true
	out.Reply(token, reply, nil)
}

// bury writes the tombstones of an Empty group: of its offsets, decided or not, and
// of itself if the log knows it. Ids that were given out are forgotten.
func (g *Groups) bury(c *group, out *Outcome) {
	for _, at := range c.everyOffset() {
		out.Records = append(out.Records, &OffsetRecord{Group: c.id, TopicPartition: at, Tombstone: true})
	}
	if c.consumers != nil {
		buryConsumers(c.id, out)
	}
	for _, id := range slices.Sorted(maps.Keys(c.pending)) {
		g.removePending(c, id, out)
	}
	if c.generation > 0 {
		out.Records = append(out.Records, &GroupRecord{Group: c.id, Tombstone: true})
	}
	g.dropUnused(c)
}
