// Package metadata is one broker's view of the cluster: which brokers live, which
// topics exist, who leads each partition. It is Kafka's MetadataCache. Readers
// take an immutable View; one writer at a time makes the next one. The view is
// only ever as fresh as the last change the controller announced.
package metadata

import (
	"context"
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
	// PartitionEpoch grows with every change of the partition's state.
	PartitionEpoch int32
	Replicas       []int32
	ISR            []int32 // a subset of Replicas
}

// olderThan says whether q is news to who knows p.
func (p *Partition) olderThan(q *Partition) bool {
	return p.LeaderEpoch < q.LeaderEpoch || p.LeaderEpoch == q.LeaderEpoch && p.PartitionEpoch <= q.PartitionEpoch
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
	version    int64
	controller int32
	brokers    []Broker
	byName     map[string]*Topic
	byID       map[[16]byte]*Topic
}

// Version grows with every change, so that two views of one Cache with one version
// are the same.
func (v *View) Version() int64 { return v.version }

// Controller is the broker that last announced something as controller; −1 before
// any did, and where it is not live.
func (v *View) Controller() int32 {
	if _, live := v.Broker(v.controller); !live {
		return -1
	}
	return v.controller
}

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
	mu      sync.Mutex
	changed chan struct{} // closed and replaced with each view
	view    atomic.Pointer[View]
}

// NewCache returns a cache whose view is empty.
func NewCache() *Cache {
	c := &Cache{changed: make(chan struct{})}
	c.view.Store(&View{controller: -1, byName: map[string]*Topic{}, byID: map[[16]byte]*Topic{}})
	return c
}

// View returns the current view.
func (c *Cache) View() *View { return c.view.Load() }

// Await returns once ok holds of the current view; the error is that of ctx.
func (c *Cache) Await(ctx context.Context, ok func(*View) bool) error {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		if ok(c.View()) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Change is what a controller announces.
type Change struct {
	Controller int32
	// Brokers replaces the live ones; nil leaves them.
	Brokers []Broker
	// Partitions are added or replaced, unless they are older than what is known.
	// One whose topic id differs from the known one replaces the whole topic: it was
	// deleted and created again.
	Partitions []Update
	// Removed names topics to forget, but those of another id; unknown ones are
	// skipped.
	Removed []Removal
}

// Update is the new state of one partition.
type Update struct {
	Topic string
	ID    [16]byte
	Partition
}

// Removal names a topic that was deleted.
type Removal struct {
	Topic string
	ID    [16]byte
}

// Apply publishes the view that the change makes of the current one.
func (c *Cache) Apply(change Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := *c.view.Load()
	next.version++
	next.controller = change.Controller
	if change.Brokers != nil {
		next.brokers = slices.Clone(change.Brokers)
		slices.SortFunc(next.brokers, func(a, b Broker) int { return int(a.ID) - int(b.ID) })
	}
	if len(change.Partitions)+len(change.Removed) > 0 {
		next.byName, next.byID = maps.Clone(next.byName), maps.Clone(next.byID)
		next.remove(change.Removed)
		next.update(change.Partitions)
	}
	c.view.Store(&next)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (v *View) remove(topics []Removal) {
	for _, r := range topics {
		if t := v.byName[r.Topic]; t != nil && t.ID == r.ID {
			delete(v.byName, r.Topic)
			delete(v.byID, r.ID)
		}
	}
}

func (v *View) update(updates []Update) {
	fresh := make(map[string]*Topic)
	for _, u := range updates {
		t := fresh[u.Topic]
		if t == nil || t.ID != u.ID {
			t = v.next(u)
			fresh[u.Topic] = t
		}
		i, found := slices.BinarySearchFunc(t.Partitions, u.Index, func(p Partition, index int32) int { return int(p.Index - index) })
		switch {
		case !found:
			t.Partitions = slices.Insert(t.Partitions, i, u.Partition)
		case t.Partitions[i].olderThan(&u.Partition):
			t.Partitions[i] = u.Partition
		}
	}
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
