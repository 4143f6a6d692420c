package groups

import (
	"time"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
)

// TopicsDeleted has the offsets of topics forgotten in the background. What is being
// loaded, or fails, keeps them for the retention of its group.
func (c *Coordinator) TopicsDeleted(names []string) {
	if len(names) == 0 {
		return
	}
	for _, partition := range c.host.Partitions() {
		c.dropTopics(partition, names)
	}
}

func (c *Coordinator) dropTopics(partition int32, names []string) {
	c.host.Submit(partition, func(g *group.Groups, now time.Time, token shard.Token, out *group.Outcome) {
		g.DropTopics(now, names, token, out)
	}, func(reply shard.Reply) {
		if reply.Err != nil {
			c.o.Logger.Warn("offsets of deleted topics are kept", "topics", names, "partition", partition, "error", reply.Err)
			return
		}
		if reply.Body.(*group.DropReply).More {
			c.dropTopics(partition, names)
		}
	})
}
