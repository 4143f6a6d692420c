package group

import (
	"time"

	"tidemark/coordinator/shard"
)

// ConsumerDescribe replies with a ConsumerDescription (ConsumerGroupDescribe).
func (g *Groups) ConsumerDescribe(_ time.Time, id string, token shard.Token, out *Outcome) {
	group := g.groups[id]
	if group == nil || group.consumers == nil {
		out.Reply(token, nil, ErrGroupNotFound)
		return
	}
	c := group.consumers
	d := &ConsumerDescription{Group: id, State: c.stateName(), Assignor: c.assignor(nil), Epoch: c.epoch, AssignmentEpoch: c.targetEpoch}
	for _, m := range c.ordered() {
		d.Members = append(d.Members, ConsumerMemberDescription{
			Member: m.id, InstanceID: m.instance, RackID: m.rack, ClientID: m.clientID, ClientHost: m.clientHost,
			Epoch: m.epoch, Topics: m.topics, Regex: m.pattern.String(), Assignment: m.assigned.list(), Target: c.targets[m.id].list(),
		})
	}
	out.Reply(token, d, nil)
}
