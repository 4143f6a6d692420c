package group

import (
	"bytes"
	"slices"
)

// metadata is what the member gave for a protocol.
func (m *member) metadata(protocol string) []byte {
	for _, p := range m.protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// speaks says that the member has the protocol.
func (m *member) speaks(protocol string) bool {
	return slices.ContainsFunc(m.protocols, func(p Protocol) bool { return p.Name == protocol })
}

// matches says that the protocols are what the member joined with, in order.
func (m *member) matches(protocols []Protocol) bool {
	return slices.EqualFunc(m.protocols, protocols, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// supports says that a member with these protocols can be in the group: there is one
// that every member speaks.
func (c *group) supports(protocolType string, protocols []Protocol) bool {
	if len(c.members) == 0 {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == c.protocolType &&
		slices.ContainsFunc(protocols, func(p Protocol) bool { return c.allSpeak(p.Name) })
}

func (c *group) allSpeak(protocol string) bool {
	return !slices.ContainsFunc(c.members, func(m *member) bool { return !m.speaks(protocol) })
}

// choose picks the protocol of the next generation: every member votes for the first
// of its list that all speak, and most votes win. Where Kafka leaves a tie to the
// order of a hash map, the leader's preference decides.
func (c *group) choose() string {
	common := map[string]bool{}
	for _, p := range c.members[0].protocols {
		if c.allSpeak(p.Name) {
			common[p.Name] = true
		}
	}
	votes := map[string]int{}
	for _, m := range c.members {
		for _, p := range m.protocols {
			if common[p.Name] {
				votes[p.Name]++
				break
			}
		}
	}
	best := ""
	for _, p := range c.byID[c.leader].protocols {
		if common[p.Name] && (best == "" || votes[p.Name] > votes[best]) {
			best = p.Name
		}
	}
	return best
}
