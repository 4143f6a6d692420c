package group

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"tidemark/coordinator/shard"
)

// consuming plays consumers of KIP-848 that do anything, lose answers and coordinators,
// and checks that
//
//   - a partition is in the hands of one member at most, as the members themselves see
//     it: what one gives back late nobody else has before, unless it is fenced or
//     its session is over;
//   - a machine made from the log is the machine that wrote it;
//   - in the end, when members only heartbeat, the group is Stable, all partitions are
//     had, each by a reader, and with uniform as evenly as can be.
type consuming struct {
	t *testing.T
	*world
	rnd     *rand.Rand
	topics  *topics
	members []*consumer848
	lives   int
}

type consumer848 struct {
	name, instance, id string
	epoch              int32
	reads              []string
	regex              string
	owned              partitionSet
	// keeps is what it was told to give back and still has.
	keeps partitionSet
	heard time.Time
}

func (d *consuming) beat(m *consumer848, leave int32) {
	r := &ConsumerHeartbeatRequest{Group: "g", Member: m.id, Epoch: m.epoch, InstanceID: m.instance, ClientID: m.name, Metadata: d.topics}
	if m.epoch == JoinEpoch {
		d.lives++
		r.FreshID, r.RebalanceTimeout, r.Topics, r.Regex = m.name+strconv.Itoa(d.lives), 20*time.Second, m.reads, &m.regex
		m.owned, m.keeps = partitionSet{}, partitionSet{}
	} else if d.rnd.IntN(4) == 0 {
		r.Topics, r.Regex = m.reads, &m.regex
	}
	if leave < 0 {
		r.Epoch = leave
	}
	owned := m.owned.list()
	for p := range m.keeps {
		owned = append(owned, TopicPartitions{p.topic, []int32{p.index}})
	}
	r.Owned = &owned
	lost := d.rnd.IntN(10) == 0 && m.epoch != JoinEpoch
	d.replied = func(reply shard.Reply) {
		if !lost {
			d.learn(m, reply, leave)
		}
	}
	d.do(func(g *Groups, now time.Time, token shard.Token, out *Outcome) {
		g.ConsumerHeartbeat(now, r, token, out)
	})
}

// learn is a member that gets its answer.
func (d *consuming) learn(m *consumer848, r shard.Reply, leave int32) {
	switch b, _ := r.Body.(*ConsumerHeartbeatReply); {
	case r.Err == ErrUnknownMember || r.Err == ErrFencedMemberEpoch || r.Err == ErrGroupNotFound || r.Err == ErrFencedInstance:
		m.owned, m.keeps, m.epoch = partitionSet{}, partitionSet{}, JoinEpoch
		if r.Err == ErrFencedInstance {
			m.id = ""
		}
	case r.Err != nil:
	case leave < 0:
		m.owned, m.keeps, m.epoch, m.id = partitionSet{}, partitionSet{}, JoinEpoch, ""
	default:
		m.id, m.epoch, m.heard = b.Member, b.Epoch, d.now
		if b.Assignment != nil {
			have := setOf(*b.Assignment)
			for p := range m.owned.without(have) {
				m.keeps[p] = true
			}
			for p := range have {
				delete(m.keeps, p)
			}
			m.owned = have
		}
	}
	if d.rnd.IntN(2) == 0 {
		m.keeps = partitionSet{}
	}
}

func (d *consuming) step() {
	m := d.members[d.rnd.IntN(len(d.members))]
	switch d.rnd.IntN(20) {
	case 0:
		m.reads = [][]string{{"t"}, {"t", "u"}, {"u", "w"}, {}}[d.rnd.IntN(4)]
		m.regex = []string{"", "[tw]", "u|w"}[d.rnd.IntN(3)]
	case 1:
		d.beat(m, LeaveEpoch)
	case 2:
		if m.instance != "" {
			d.beat(m, StaticLeaveEpoch)
		}
	case 3:
		d.advance(time.Duration(d.rnd.IntN(30)) * time.Second)
	case 4:
		d.topics.grow([]string{"t", "u", "w"}[d.rnd.IntN(3)], int32(3+d.rnd.IntN(5)))
	case 5:
		d.sameAfterReload()
		d.failOver()
	case 6:
		d.refuse = !d.refuse
	default:
		d.beat(m, 0)
	}
	d.oneOwner()
}

// oneOwner looks into the members' hands. Who was not heard of for its session, or
// took too long to give back, may be wrong about what it has.
func (d *consuming) oneOwner() {
	c := d.groups.groups["g"]
	owners := map[partition]string{}
	for _, m := range d.members {
		if c == nil || c.consumers == nil || c.consumers.members[m.id] == nil {
			continue
		}
		for _, set := range []partitionSet{m.owned, m.keeps} {
			for p := range set {
				if other, taken := owners[p]; taken && other != m.name {
					d.t.Fatalf("%v is in the hands of %s and of %s", p, other, m.name)
				}
				owners[p] = m.name
			}
		}
	}
}

func (d *consuming) sameAfterReload() {
	other := *d.world
	other.timers = map[shard.TimerKey]pendingTime{}
	other.load()
	if got, want := showAll(other.groups), showAll(d.world.groups); got != want {
		d.t.Fatalf("made again from the log:\n%s\nwhile in memory:\n%s", got, want)
	}
}

func showAll(g *Groups) string {
	c := g.groups["g"]
	if c == nil || c.consumers == nil {
		return ""
	}
	text := fmt.Sprintln(c.consumers.epoch, c.consumers.targetEpoch, c.consumers.metadataHash, len(c.consumers.owners), c.consumers.instances)
	for _, m := range c.consumers.ordered() {
		text += fmt.Sprintln(m.id, m.instance, m.epoch, m.previousEpoch, m.state, m.topics, m.pattern, m.assigned.list(), m.revoking.list(), c.consumers.targets[m.id].list())
	}
	return text
}

// settles lets everybody heartbeat and give back until nothing changes.
func (d *consuming) settles() {
	d.refuse = false
	for range 40 {
		for _, m := range d.members {
			m.keeps = partitionSet{}
			d.beat(m, 0)
			m.keeps = partitionSet{}
		}
		d.advance(3 * time.Second)
		d.oneOwner()
	}
	c := d.groups.groups["g"].consumers
	if got := c.stateName(); got != "Stable" {
		d.t.Fatalf("the group is %s in the end:\n%s", got, showAll(d.groups))
	}
	read := partitionSet{}
	sizes := map[string]int{}
	topics := newSubscriptions(d.topics)
	for _, m := range c.members {
		sizes[m.id] = len(m.assigned)
		for _, name := range topics.of(m) {
			id, n, _ := d.topics.Topic(name)
			for p := range n {
				read[partition{id, p}] = true
			}
		}
	}
	if len(c.owners) != len(read) || !read.within(setOfOwners(c.owners)) {
		d.t.Fatalf("%d of %d partitions are had", len(c.owners), len(read))
	}
	if sameTopics(c) && slices.Max(slices.Collect(maps.Values(sizes)))-slices.Min(slices.Collect(maps.Values(sizes))) > 1 {
		d.t.Fatalf("uneven: %v", sizes)
	}
}

func setOfOwners(owners map[partition]string) partitionSet {
	s := partitionSet{}
	for p := range owners {
		s[p] = true
	}
	return s
}

func sameTopics(c *consumers) bool {
	list := c.ordered()
	return !slices.ContainsFunc(list, func(m *consumerMember) bool { return !m.readsAs(list[0]) })
}

func TestRandomConsumers(t *testing.T) {
	for seed := range seeds(200) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { consume(t, seed) })
	}
}

// consume plays one seed.
func consume(t *testing.T, seed uint64) {
	o := NewOptions()
	o.ConsumerSessionTimeout = 15 * time.Second
	d := &consuming{t: t, world: newWorld(o), rnd: rand.New(rand.NewPCG(seed, 8)), topics: newTopics()}
	for i, instance := range []string{"", "", "", "i1", "i2"} {
		d.members = append(d.members, &consumer848{name: string(rune('a' + i)), instance: instance, reads: []string{"t", "u"}, owned: partitionSet{}, keeps: partitionSet{}})
	}
	for range 150 {
		d.step()
	}
	d.settles()
	d.sameAfterReload()
}
