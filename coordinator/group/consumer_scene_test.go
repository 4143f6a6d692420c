package group

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tidemark/coordinator/shard"
)

// topics is the metadata of a test: each topic's id begins with its name.
type topics struct {
	version int64
	sizes   map[string]int32
}

func newTopics() *topics { return &topics{sizes: map[string]int32{"t": 4, "u": 3}} }

func (t *topics) grow(name string, partitions int32) { t.version++; t.sizes[name] = partitions }
func (t *topics) drop(name string)                   { t.version++; delete(t.sizes, name) }
func (t *topics) Version() int64                     { return t.version }
func (t *topics) Topic(name string) (id [16]byte, partitions int32, ok bool) {
	copy(id[:], name)
	partitions, ok = t.sizes[name]
	return id, partitions, ok
}
func (t *topics) Names() []string { return slices.Sorted(maps.Keys(t.sizes)) }

// beating848 is a client of KIP-848 as it knows itself.
type beating848 struct {
	epoch int32
	owned []TopicPartitions
	// holding says that it keeps what it was told to give back.
	holding bool
}

// beat sends a heartbeat: to join with topics=, else to go on; static= and leave= as
// they say, keep= to hold on to what it should give back.
func (s *scene) beat(c *client, args map[string]string) {
	if static, ok := args["static"]; ok {
		c.instance = static
	}
	r := &ConsumerHeartbeatRequest{
		Group: "g", Member: c.member, Epoch: c.beats.epoch, InstanceID: c.instance, ClientID: c.name, Metadata: s.topics,
	}
	_, joins := args["topics"]
	if joins {
		r.Topics = strings.Split(args["topics"], ",")
	}
	if regex, ok := args["regex"]; ok {
		r.Regex, joins = &regex, true
	}
	if joins {
		r.RebalanceTimeout = time.Minute
	}
	if _, ok := args["anew"]; ok {
		c.beats = beating848{}
		r.Epoch = JoinEpoch
	}
	if name, ok := args["assignor"]; ok {
		r.Assignor = &name
	}
	if joins && r.Epoch == JoinEpoch {
		c.lives++
		if r.Member == "" || args["anew"] == "id" {
			r.Member, r.FreshID = "", c.name+strconv.Itoa(c.lives)
		}
		c.beats.owned = []TopicPartitions{}
	}
	c.beats.holding = args["keep"] != ""
	owned := c.beats.owned
	r.Owned = &owned
	if v, ok := args["leave"]; ok {
		r.Epoch = int32(number(v))
	}
	s.ask(c.name+" beat", func(g *Groups, now time.Time, token shard.Token, out *Outcome) {
		g.ConsumerHeartbeat(now, r, token, out)
	})
}

// learn is a client that takes a reply: it gives back at once what it must, unless it
// is holding.
func (c *client) learn(b *ConsumerHeartbeatReply) string {
	c.member, c.beats.epoch, c.generation = b.Member, b.Epoch, b.Epoch
	text := fmt.Sprintf("member %s at epoch %d", b.Member, b.Epoch)
	if b.Epoch < 0 {
		c.beats = beating848{}
	}
	if b.Assignment == nil {
		return text
	}
	if !c.beats.holding {
		c.beats.owned = *b.Assignment
	}
	return text + ", has " + showPartitions(*b.Assignment)
}

func showPartitions(list []TopicPartitions) string {
	text := []string{}
	for _, t := range list {
		for _, p := range t.Partitions {
			text = append(text, strings.TrimRight(string(t.TopicID[:]), "\x00")+strconv.Itoa(int(p)))
		}
	}
	return "[" + strings.Join(text, " ") + "]"
}

func showConsumers(d *ConsumerDescription) string {
	text := fmt.Sprintf("%s by %s, epoch %d, assigned for %d", d.State, d.Assignor, d.Epoch, d.AssignmentEpoch)
	for _, m := range d.Members {
		text += fmt.Sprintf("; %s at %d has %s of %s", m.Member, m.Epoch, showPartitions(m.Assignment), showPartitions(m.Target))
	}
	return text
}

// matching is a pattern among the topics of a member.
func matching(regex string) []string {
	if regex == "" {
		return nil
	}
	return []string{"/" + regex + "/"}
}

func showConsumerRecord(r Record) string {
	gone := func(tombstone bool, text string) string {
		if tombstone {
			return " is gone"
		}
		return text
	}
	states := []string{"stable", "revoking", "waiting"}
	switch r := r.(type) {
	case *ConsumerGroupRecord:
		return "consumer group" + gone(r.Tombstone, fmt.Sprintf(" at epoch %d", r.Epoch))
	case *ConsumerMemberRecord:
		return "member " + r.Member + gone(r.Tombstone, " reads "+strings.Join(slices.Concat(r.Topics, matching(r.Regex)), " "))
	case *TargetEpochRecord:
		return "target" + gone(r.Tombstone, fmt.Sprintf(" for epoch %d", r.Epoch))
	case *TargetRecord:
		return "target of " + r.Member + gone(r.Tombstone, " "+showPartitions(r.Partitions))
	case *CurrentRecord:
		text := fmt.Sprintf(" at epoch %d %s %s", r.Epoch, states[r.State], showPartitions(r.Assigned))
		if len(r.Revoking) > 0 {
			text += " gives back " + showPartitions(r.Revoking)
		}
		return r.Member + gone(r.Tombstone, text)
	}
	return fmt.Sprintf("%T", r)
}
