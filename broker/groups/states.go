package groups

import (
	"context"
	"time"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
)

// States counts the groups that are coordinated here, by the name of their state.
// Partitions that are being loaded, or whose log does not commit before ctx ends,
// are left out.
func (c *Coordinator) States(ctx context.Context) map[string]int {
	listed := make(chan []shard.Reply, 1)
	all := &group.ListRequest{}
	c.SubmitAll(func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.List(now, all, token, out)
	}, func(replies []shard.Reply) { listed <- replies })
	states := map[string]int{}
	select {
	case replies := <-listed:
		for _, r := range replies {
			if list, ok := r.Body.(*group.ListReply); ok {
				for i := range list.Groups {
					states[list.Groups[i].State]++
				}
			}
		}
	case <-ctx.Done():
	}
	return states
}
