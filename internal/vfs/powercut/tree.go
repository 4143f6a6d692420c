package powercut

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// nodeID numbers the files and directories of a record, from 1; 0 is none.
type nodeID uint32

// node is a file or a directory, whatever its names.
type node struct {
	id    nodeID
	inode uint64
	// entries are the names in a directory as a process sees them, durable
	// those that a power cut leaves; nil for a file.
	entries, durable map[string]nodeID
	// refs counts the durable names and the pending changes that could bring
	// the node back; named the names a process sees.
	refs, named int
	// live is what a recorder keeps of a file; nil in a record that is read.
	live *liveFile
}

func (n *node) isDir() bool { return n.entries != nil }

// entry sets a name of a directory to node; 0 removes the name.
type entry struct {
	dir  nodeID
	name string
	node nodeID
}

// change is one atomic change of names that no SyncDir covers yet: a rename is
// two entries that come and go together.
type change struct {
	seq     uint64
	kind    string
	entries []entry
}

// tree is the names under the roots, as seen and as durable. It is pure: a
// recorder and the reader of its journal feed it the same events and have the
// same tree. It is not safe for concurrent use.
type tree struct {
	nodes   map[nodeID]*node
	roots   map[string]nodeID
	pending []change
	seq     uint64
	// unneeded are nodes without any name or hope of one, for who has to drop
	// what it keeps of them.
	unneeded []nodeID
}

func newTree() *tree { return &tree{nodes: map[nodeID]*node{}, roots: map[string]nodeID{}} }

// add enters a new node without a name.
func (t *tree) add(id nodeID, inode uint64, dir bool) *node {
	n := &node{id: id, inode: inode}
	if dir {
		n.entries, n.durable = map[string]nodeID{}, map[string]nodeID{}
	}
	t.nodes[id] = n
	return n
}

// found enters a node that was there, durably, when the record began.
func (t *tree) found(id nodeID, inode uint64, dir bool, in nodeID, name string) *node {
	n := t.add(id, inode, dir)
	if in == 0 {
		t.roots[name] = id
		n.named, n.refs = 1, 1
		return n
	}
	t.setSeen(entry{in, name, id})
	t.setDurable(entry{in, name, id})
	return n
}

// apply makes a change visible and pending.
func (t *tree) apply(kind string, entries ...entry) {
	t.seq++
	for _, e := range entries {
		if n := t.nodes[e.node]; n != nil {
			n.refs++
		}
	}
	t.pending = append(t.pending, change{seq: t.seq, kind: kind, entries: entries})
	for _, e := range entries {
		t.setSeen(e)
	}
}

// syncDir makes the changes of names in dir durable that came no later than
// upto, in their order.
func (t *tree) syncDir(dir nodeID, upto uint64) {
	covered := t.take(func(c change) bool { return c.seq <= upto && c.touches(dir) })
	for _, c := range covered {
		for _, e := range c.entries {
			t.setDurable(e)
			t.unref(e.node)
		}
	}
}

// take removes from pending the changes for which which holds.
func (t *tree) take(which func(change) bool) (taken []change) {
	kept := t.pending[:0]
	for _, c := range t.pending {
		if which(c) {
			taken = append(taken, c)
		} else {
			kept = append(kept, c)
		}
	}
	clear(t.pending[len(kept):])
	t.pending = kept
	return taken
}

func (c change) touches(dir nodeID) bool {
	return slices.ContainsFunc(c.entries, func(e entry) bool { return e.dir == dir })
}

func (t *tree) setSeen(e entry) {
	dir := t.nodes[e.dir]
	if dir == nil {
		return
	}
	former := t.nodes[dir.entries[e.name]]
	if e.node == 0 {
		delete(dir.entries, e.name)
	} else {
		dir.entries[e.name] = e.node
		t.nodes[e.node].named++
	}
	if former != nil {
		former.named--
		t.settle(former)
	}
}

func (t *tree) setDurable(e entry) {
	dir := t.nodes[e.dir]
	if dir == nil {
		return
	}
	former := dir.durable[e.name]
	if e.node == 0 {
		delete(dir.durable, e.name)
	} else {
		dir.durable[e.name] = e.node
		t.nodes[e.node].refs++
	}
	t.unref(former)
}

func (t *tree) unref(id nodeID) {
	if n := t.nodes[id]; n != nil {
		n.refs--
		t.settle(n)
	}
}

// settle forgets a node that has no name and cannot get one back, with all that
// a directory holds.
func (t *tree) settle(n *node) {
	if n.named > 0 || n.refs > 0 || t.nodes[n.id] == nil {
		return
	}
	delete(t.nodes, n.id)
	t.unneeded = append(t.unneeded, n.id)
	if !n.isDir() {
		return
	}
	gone := t.take(func(c change) bool { return c.touches(n.id) })
	for _, c := range gone {
		for _, e := range c.entries {
			t.unref(e.node)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(n.durable)) {
		t.unref(n.durable[name])
	}
}

// rootOf returns the root that path lies in and the way from there; ok is false
// for a path outside.
func (t *tree) rootOf(path string) (root nodeID, way []string, ok bool) {
	for r, id := range t.roots {
		if path == r {
			return id, nil, true
		}
		if rest, below := strings.CutPrefix(path, r+string(filepath.Separator)); below {
			return id, strings.Split(rest, string(filepath.Separator)), true
		}
	}
	return 0, nil, false
}

// find returns the node of a path as a process sees it; nil if there is none.
func (t *tree) find(path string) *node {
	id, way, ok := t.rootOf(path)
	if !ok {
		return nil
	}
	for _, name := range way {
		n := t.nodes[id]
		if n == nil || !n.isDir() {
			return nil
		}
		id = n.entries[name]
	}
	return t.nodes[id]
}

// parent returns the directory that holds path; nil where path is a root, lies
// outside, or its directory is unknown.
func (t *tree) parent(path string) *node {
	if _, way, ok := t.rootOf(path); !ok || len(way) == 0 {
		return nil
	}
	if n := t.find(filepath.Dir(path)); n != nil && n.isDir() {
		return n
	}
	return nil
}
