package replica

import "sync/atomic"

// Topic is one topic of which this broker holds partitions. It is safe for
// concurrent use; a topic that was deleted and created again is another Topic.
type Topic struct {
	// Name and ID do not change.
	Name string
	ID   [16]byte

	config     atomic.Pointer[TopicConfig]
	partitions atomic.Pointer[[]*Partition] // by index, nil where there is none
}

// Config is the topic's current configuration; it is shared and read-only.
func (t *Topic) Config() *TopicConfig { return t.config.Load() }

// Partition returns the partition with that index; nil when it is not here.
func (t *Topic) Partition(index int32) *Partition {
	list := *t.partitions.Load()
	if index < 0 || int(index) >= len(list) {
		return nil
	}
	return list[index]
}

// Partitions returns the partitions that are here, by index.
func (t *Topic) Partitions() []*Partition {
	list := *t.partitions.Load()
	out := make([]*Partition, 0, len(list))
	for _, p := range list {
		if p != nil {
			out = append(out, p)
		}
	}
	return out
}

// set publishes the partition under its index; nil removes it. The manager's mu
// is held.
func (t *Topic) set(index int32, p *Partition) {
	old := *t.partitions.Load()
	list := make([]*Partition, max(len(old), int(index)+1))
	copy(list, old)
	list[index] = p
	t.partitions.Store(&list)
}

func (t *Topic) empty() bool {
	for _, p := range *t.partitions.Load() {
		if p != nil {
			return false
		}
	}
	return true
}

// index is the manager's immutable map of topics.
type index struct {
	byName map[string]*Topic
	byID   map[[16]byte]*Topic
}
