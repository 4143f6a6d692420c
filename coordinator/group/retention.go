package group

import (
	"maps"
	"slices"
	"time"

	"tidemark/coordinator/shard"
)

// consumerProtocolType is the protocol type of consumers, whose metadata names the
// topics that they read.
const consumerProtocolType = "consumer"

// sweepRecords bounds the tombstones of one retention sweep, so that they fit in a
// batch; the rest follows in the next sweep, which comes at once.
const sweepRecords = 1000

// expireOffsets writes tombstones for offsets whose time is over, and for groups that
// are Empty and have none left (KIP-211). How old an offset is counts
//
//   - where the client said when it expires: from then;
//   - in a group that is Empty: since it became so, whenever it was committed
//     (KAFKA-4682);
//   - in one that only keeps offsets: since the commit;
//   - in a Stable group of consumers: since the commit, for topics that no member
//     reads any more.
//
// A group that rebalances loses nothing (KAFKA-13636).
func (g *Groups) expireOffsets(now time.Time, out *Outcome) {
	out.RecordsOnly = true
	for _, id := range slices.Sorted(maps.Keys(g.groups)) {
		g.expireGroup(now, g.groups[id], out)
	}
	wait := g.options.RetentionInterval
	if len(out.Records) >= sweepRecords {
		wait = 0
	}
	out.Set(shard.TimerKey{Kind: retentionTimer}, wait)
}

// expireGroup adds the tombstones of one group, as far as they fit.
func (g *Groups) expireGroup(now time.Time, c *group, out *Outcome) {
	left := len(c.offsets)
	expired := g.expiry(now, c)
	for _, at := range slices.SortedFunc(maps.Keys(c.offsets), comparePartitions) {
		if len(out.Records) >= sweepRecords {
			return
		}
		if expired(c.offsets[at]) && !c.unstable(at) {
			out.Records = append(out.Records, &OffsetRecord{Group: c.id, TopicPartition: at, Tombstone: true})
			left--
		}
	}
	if !c.empty() || left > 0 || len(c.undecided) > 0 || len(c.pending) > 0 {
		return
	}
	switch {
	case c.consumers != nil:
		buryConsumers(c.id, out)
	case c.generation > 0:
		out.Records = append(out.Records, &GroupRecord{Group: c.id, Tombstone: true})
	}
}

// expiry is the rule by which the group's offsets expire now.
func (g *Groups) expiry(now time.Time, c *group) func(offset) bool {
	since := func(o offset) time.Time { return time.UnixMilli(o.CommitTimestampMs) }
	reads := func(string) bool { return false }
	switch {
	case c.consumers != nil:
		reads = c.consumers.reads
	case c.protocolType == "":
	case c.state == Empty:
		since = func(offset) time.Time { return c.since }
	case c.state == Stable && c.protocolType == consumerProtocolType:
		reads = g.readers(c)
	default:
		return func(offset) bool { return false }
	}
	return func(o offset) bool {
		if o.ExpireTimestampMs >= 0 {
			return now.UnixMilli() >= o.ExpireTimestampMs && !reads(o.Topic)
		}
		return now.Sub(since(o)) >= g.options.OffsetsRetention && !reads(o.Topic)
	}
}

// readers tells which topics the members read. Where that cannot be known it is all
// of them; without members, none.
func (g *Groups) readers(c *group) func(topic string) bool {
	if c.consumers != nil {
		return c.consumers.reads
	}
	read := map[string]bool{}
	for _, m := range c.members {
		topics, ok := g.subscription(m.metadata(c.protocol))
		if !ok {
			return func(string) bool { return true }
		}
		for _, t := range topics {
			read[t] = true
		}
	}
	return func(topic string) bool { return read[topic] }
}

// subscription asks the codec that the options name, if any.
func (g *Groups) subscription(metadata []byte) ([]string, bool) {
	if g.options.Subscription == nil {
		return nil, false
	}
	return g.options.Subscription(metadata)
}
