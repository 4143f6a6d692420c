// Package metadata is one broker's view of the cluster: which brokers live, which
// topics exist, who leads each partition. It is Kafka's MetadataCache. Readers
// take an immutable View; one writer at a time makes the next one. The view is
// only ever as fresh as the last change the controller announced.
package metadata

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Broker is one live broker and the address that its clients use.
type Broker struct {
	ID   int32
	Host string
	Port int32
	// Rack is empty where none is configured.
	Rack string
}

// Partition is who holds one partition. Leader −1 means none.
type Partition struct {
	Index       int32
	Leader      int32
	LeaderEpoch int32
	Replicas    []int32
	ISR         []int32 // a subset of Replicas
}

// Topic is one topic; Partitions are in the order of their index.
type Topic struct {
	Name       string
	ID         [16]byte
	Partitions []Partition
}

// Partition finds a partition by index; ok is false when there is none.
func (t *Topic) Partition(index int32) (p Partition, ok bool) {
	i, ok := slices.BinarySearchFunc(t.Partitions, index, func(p Partition, index int32) int { return int(p.Index - index) })
	if !ok {
		return Partition{}, false
	}
	return t.Partitions[i], true
}

// View is the cluster at one moment. It is immutable.
type View struct {
	version int64
	brokers []Broker
	byName  map[string]*Topic
	byID    map[[16]byte]*Topic
}

// Version grows with every change, so that two views of one Cache with one version
// are the same.
func (v *View) Version() int64 { return v.version }

// Brokers lists the live brokers by id; the slice is shared and read-only.
func (v *View) Brokers() []Broker { return v.brokers }

// Broker finds a live broker.
func (v *View) Broker(id int32) (b Broker, ok bool) {
	for _, b := range v.brokers {
		if b.ID == id {
			return b, true
		}
	}
	return Broker{}, false
}

// Topic finds a topic by name; nil when there is none.
func (v *View) Topic(name string) *Topic { return v.byName[name] }

// TopicByID finds a topic by id; nil when there is none.
func (v *View) TopicByID(id [16]byte) *Topic { return v.byID[id] }

// TopicNames lists all topics in order of their names; the slice is the caller's.
func (v *View) TopicNames() []string { return slices.Sorted(maps.Keys(v.byName)) }

// Len is the number of topics.
func (v *View) Len() int { return len(v.byName) }

// Cache holds the current View. It is safe for concurrent use; mu serializes
// writers.
type Cache struct {
	mu   sync.Mutex
	view atomic.Pointer[View]
}

// NewCache returns a cache whose view is empty.
func NewCache() *Cache {
	c := &Cache{}
	c.view.Store(&View{byName: map[string]*Topic{}, byID: map[[16]byte]*Topic{}})
	return c
}

// View returns the current view.
func (c *Cache) View() *View { return c.view.Load() }

// SetBrokers replaces the live brokers.
func (c *Cache) SetBrokers(brokers []Broker) {
	brokers = slices.Clone(brokers)
	slices.SortFunc(brokers, func(a, b Broker) int { return int(a.ID) - int(b.ID) })
	c.change(func(v *View) { v.brokers = brokers })
}

// Update is the new state of one partition.
type Update struct {
	Topic string
	ID    [16]byte
	Partition
}

// Apply adds or replaces partitions. An update whose topic id differs from the
// known one replaces the whole topic: it was deleted and created again.
func (c *Cache) Apply(updates []Update) {
	c.change(func(v *View) {
		v.byName, v.byID = maps.Clone(v.byName), maps.Clone(v.byID)
		fresh := make(map[string]*Topic)
		for _, u := range updates {
			t := fresh[u.Topic]
			if t == nil || t.ID != u.ID {
				t = v.next(u)
				fresh[u.Topic] = t
			}
			i, found := slices.BinarySearchFunc(t.Partitions, u.Index, func(p Partition, index int32) int { return int(p.Index - index) })
			if found {
				t.Partitions[i] = u.Partition
			} else {
				t.Partitions = slices.Insert(t.Partitions, i, u.Partition)
			}
		}
	})
}

// next enters a copy of u's topic that may still be changed.
func (v *View) next(u Update) *Topic {
	t := &Topic{Name: u.Topic, ID: u.ID}
	if old := v.byName[u.Topic]; old != nil {
		if old.ID == u.ID {
			t.Partitions = slices.Clone(old.Partitions)
		} else {
			delete(v.byID, old.ID)
		}
	}
	v.byName[u.Topic], v.byID[u.ID] = t, t
	return t
}

// Remove forgets topics; names that are unknown are skipped.
func (c *Cache) Remove(names ...string) {
	c.change(func(v *View) {
		v.byName, v.byID = maps.Clone(v.byName), maps.Clone(v.byID)
		for _, name := range names {
			if t := v.byName[name]; t != nil {
				delete(v.byName, name)
				delete(v.byID, t.ID)
			}
		}
	})
}

// change publishes a view that f made out of a copy of the current one.
func (c *Cache) change(f func(*View)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := *c.view.Load()
	next.version++
	f(&next)
	c.view.Store(&next)
}
