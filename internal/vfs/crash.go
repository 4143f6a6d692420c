package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// sectorSize is the unit a disk writes whole or not at all.
const sectorSize = 512

// nameChange is one atomic change of the tree: a rename is two entries that come
// and go together.
type nameChange []entryChange

// entryChange sets a name of a directory to node; nil removes the name.
type entryChange struct {
	dir  *memNode
	name string
	node *memNode
}

// change applies c to the visible tree and notes it as not yet durable.
func (m *Mem) change(c nameChange) {
	c.apply(func(dir *memNode) map[string]*memNode { return dir.entries })
	m.pending = append(m.pending, c)
}

func (c nameChange) apply(entries func(*memNode) map[string]*memNode) {
	for _, e := range c {
		if e.node == nil {
			delete(entries(e.dir), e.name)
		} else {
			entries(e.dir)[e.name] = e.node
		}
	}
}

func (c nameChange) touches(dir *memNode) bool {
	for _, e := range c {
		if e.dir == dir {
			return true
		}
	}
	return false
}

// SyncDir implements FS: every change of a name in dir becomes durable, in the
// order it happened.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	node, err := m.dir("open", dir)
	if err != nil {
		return err
	}
	kept := m.pending[:0]
	for _, c := range m.pending {
		if c.touches(node) {
			c.apply(durableEntries)
		} else {
			kept = append(kept, c)
		}
	}
	clear(m.pending[len(kept):])
	m.pending = kept
	return nil
}

func durableEntries(dir *memNode) map[string]*memNode { return dir.durableEntries }

// CrashClone returns the file system as a machine could find it after its power
// was cut now; m itself goes on. What was synced is there. Of what was not, the
// seed decides: each change of a name happened or did not (a rename never by
// halves), each 512-byte sector is the new one or the old one, each file has its
// old length, its new one or one between, the gap reading as zeros. Seed 0 loses
// all of it. The same seed on the same state gives the same clone.
func (m *Mem) CrashClone(seed uint64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := crash{rng: rand.New(rand.NewPCG(seed, 0)), nodes: map[*memNode]*memNode{}}
	if seed != 0 {
		c.keep = []float64{0.1, 0.5, 0.9, 1}[c.rng.IntN(4)]
	}
	survivors := map[*memNode]map[string]*memNode{}
	entries := func(dir *memNode) map[string]*memNode {
		if survivors[dir] == nil {
			survivors[dir] = make(map[string]*memNode, len(dir.durableEntries))
			for name, node := range dir.durableEntries {
				survivors[dir][name] = node
			}
		}
		return survivors[dir]
	}
	for _, change := range m.pending {
		if c.chance() {
			change.apply(entries)
		}
	}
	clone := NewMem()
	clone.capacity = m.capacity
	clone.root = c.dir(m.root, entries)
	for _, node := range c.nodes {
		clone.used += int64(len(node.data))
	}
	return clone
}

// crash is one roll of the dice.
type crash struct {
	rng *rand.Rand
	// keep is the chance that an unsynced change survived.
	keep float64
	// nodes maps files to their clones: a file under two names stays one file.
	nodes map[*memNode]*memNode
}

func (c *crash) chance() bool { return c.keep > 0 && c.rng.Float64() < c.keep }

func (c *crash) dir(from *memNode, entries func(*memNode) map[string]*memNode) *memNode {
	to := newDirNode()
	survivors := entries(from)
	for _, name := range slices.Sorted(maps.Keys(survivors)) {
		child := survivors[name]
		clone := c.nodes[child]
		switch {
		case child.entries != nil:
			clone = c.dir(child, entries)
		case clone == nil:
			clone = &memNode{content: c.file(&child.content)}
			c.nodes[child] = clone
		}
		to.entries[name], to.durableEntries[name] = clone, clone
	}
	return to
}

// file rolls the content of one file; what the clone holds is durable in it.
func (c *crash) file(from *content) content {
	oldSize, newSize := int64(len(from.durable)), int64(len(from.data))
	size := oldSize
	if c.chance() {
		size = newSize
		if between := newSize - oldSize; between > 0 && c.rng.IntN(2) == 0 {
			size = oldSize + c.rng.Int64N(between+1)
		}
	}
	data := make([]byte, size)
	copy(data, from.durable)
	first := from.dirtyFrom / sectorSize * sectorSize
	for at := first; at < min(from.dirtyTo, size); at += sectorSize {
		if c.chance() && at < newSize {
			copy(data[at:min(at+sectorSize, size)], from.data[at:])
		}
	}
	return content{data: data, durable: append([]byte(nil), data...)}
}
