package group

import (
	"cmp"
	"maps"
	"slices"

	"tidemark/coordinator/shard"
)

// offset is a committed offset, and where its record stands.
type offset struct {
	*OffsetRecord
	at int64
}

// replayOffset applies a committed offset, or puts it by until its transaction is
// decided.
func (g *Groups) replayOffset(from shard.Origin, r *OffsetRecord) {
	switch {
	case r.Tombstone:
		g.forgetOffset(r)
	case from.Transactional:
		g.putBy(from, r)
	default:
		c := g.group(r.Group)
		c.offsets[r.TopicPartition] = offset{r, from.Offset}
	}
}

// forgetOffset is an offset's tombstone, for what open transactions hold of it too.
func (g *Groups) forgetOffset(r *OffsetRecord) {
	c := g.groups[r.Group]
	if c == nil {
		return
	}
	delete(c.offsets, r.TopicPartition)
	for producer, offsets := range c.undecided {
		if delete(offsets, r.TopicPartition); len(offsets) == 0 {
			delete(c.undecided, producer)
		}
	}
	g.dropUnused(c)
}

// putBy keeps an offset of an open transaction.
func (g *Groups) putBy(from shard.Origin, r *OffsetRecord) {
	c := g.group(r.Group)
	offsets := c.undecided[from.ProducerID]
	if offsets == nil {
		offsets = map[TopicPartition]offset{}
		c.undecided[from.ProducerID] = offsets
	}
	offsets[r.TopicPartition] = offset{r, from.Offset}
	groups := g.undecided[from.ProducerID]
	if groups == nil {
		groups = map[string]bool{}
		g.undecided[from.ProducerID] = groups
	}
	groups[r.Group] = true
}

// EndTransaction implements shard.Machine: the offsets of a committed transaction
// count, unless a later record of the log has replaced them already.
func (g *Groups) EndTransaction(producerID int64, _ int16, committed bool) {
	for id := range g.undecided[producerID] {
		c := g.groups[id]
		if c == nil {
			continue
		}
		if committed {
			for at, o := range c.undecided[producerID] {
				if known, ok := c.offsets[at]; !ok || known.at < o.at {
					c.offsets[at] = o
				}
			}
		}
		delete(c.undecided, producerID)
		g.dropUnused(c)
	}
	delete(g.undecided, producerID)
	delete(g.verifying, producerID)
}

// unstable says that an open transaction has an offset of the partition.
func (c *group) unstable(at TopicPartition) bool {
	for _, offsets := range c.undecided {
		if _, ok := offsets[at]; ok {
			return true
		}
	}
	return false
}

// everyOffset lists, in order, the partitions with an offset, decided or not.
func (c *group) everyOffset() []TopicPartition {
	all := map[TopicPartition]bool{}
	for at := range c.offsets {
		all[at] = true
	}
	for _, offsets := range c.undecided {
		for at := range offsets {
			all[at] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), comparePartitions)
}

func comparePartitions(a, b TopicPartition) int {
	return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
}
