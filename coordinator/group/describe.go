package group

import (
	"maps"
	"slices"
	"strings"
	"time"

	"tidemark/coordinator/shard"
)

// Describe replies with a Description, of a Dead group where there is none.
func (g *Groups) Describe(_ time.Time, id string, token shard.Token, out *Outcome) {
	c := g.groups[id]
	if c == nil || c.consumers != nil {
		out.Reply(token, &Description{Group: id, State: Dead.String(), Consumer: c != nil}, nil)
		return
	}
	d := &Description{
		Group: id, State: c.state.String(), ProtocolType: c.protocolType, Generation: c.generation,
		Leader: c.leader, Since: c.since, Pending: len(c.pending),
	}
	if c.state == Stable {
		d.Protocol = c.protocol
	}
	for _, m := range c.members {
		described := DescribedMember{
			Member: m.id, InstanceID: m.instance, ClientID: m.clientID, ClientHost: m.clientHost,
			Joining: m.joining != 0, Syncing: m.syncing != 0, Heard: m.heard,
		}
		if c.state == Stable {
			described.Metadata, described.Assignment = m.metadata(c.protocol), m.assignment
		}
		d.Members = append(d.Members, described)
	}
	out.Reply(token, d, nil)
}

// List replies with a ListReply.
func (g *Groups) List(_ time.Time, r *ListRequest, token shard.Token, out *Outcome) {
	reply := &ListReply{}
	for _, id := range slices.Sorted(maps.Keys(g.groups)) {
		c := g.groups[id]
		l := Listed{Group: id, ProtocolType: c.protocolType, State: c.state.String(), Type: classicType}
		if c.consumers != nil {
			l = Listed{Group: id, ProtocolType: consumerProtocolType, State: c.consumers.stateName(), Type: consumerType}
		}
		if passes(r.States, l.State) && passes(r.Types, l.Type) {
			reply.Groups = append(reply.Groups, l)
		}
	}
	out.Reply(token, reply, nil)
}

// How ListGroups calls groups of either protocol.
const (
	classicType  = "classic"
	consumerType = "consumer"
)

// passes says that a filter lets a name through.
func passes(filter []string, name string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, name) })
}
