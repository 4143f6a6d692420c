package powercut

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzJournal: no bytes make a tree that miscounts or a walk without an end, and a
// journal cut off anywhere is one with fewer events.
func FuzzJournal(f *testing.F) {
	lines := func(events ...event) []byte {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		for _, e := range append([]event{{Op: opStart, Version: formatVersion}}, events...) {
			if err := enc.Encode(e); err != nil {
				f.Fatal(err)
			}
		}
		return []byte(b.String())
	}
	root := event{Op: opFound, Node: 1, Name: "/r", IsDir: true}
	f.Add(lines())
	f.Add(lines(root,
		event{Op: opCreate, Node: 2, Dir: 1, Name: "d", IsDir: true},
		event{Op: opCreate, Node: 3, Dir: 2, Name: "f"},
		event{Op: opRename, Dir: 2, Name: "f", ToDir: 1, ToName: "g"},
		event{Op: opSyncDir, Dir: 1, Through: 3},
		event{Op: opRemove, Dir: 1, Name: "d"},
		event{Op: opSyncDir, Dir: 1, Through: 9},
		event{Op: opAcks, Path: "/r/d", Cell: 7}))
	f.Add(lines(root,
		event{Op: opFound, Node: 2, Dir: 1, Name: "a", IsDir: true},
		event{Op: opFound, Node: 3, Dir: 1, Name: "b", IsDir: true},
		event{Op: opRename, Dir: 1, Name: "a", ToDir: 3, ToName: "a"},
		event{Op: opRename, Dir: 1, Name: "b", ToDir: 2, ToName: "b"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := decodeJournal(data)
		if err != nil {
			return
		}
		x := newTree()
		for _, e := range events {
			if err := x.replay(e); err != nil {
				return
			}
			checkCounts(t, x)
		}
		c := cut{Record: &Record{tree: x}, o: CutOptions{Seed: 5}, keep: 0.5}
		c.chooseNames()
		c.paths(func(n *node) map[string]nodeID { return n.durable })
		if n := len(data); n > 0 {
			if less, err := decodeJournal(data[:n-1]); err == nil && len(less) > len(events) {
				t.Errorf("%d events of a journal that is cut off, %d of the whole", len(less), len(events))
			}
		}
	})
}

// checkCounts counts the names of every node anew.
func checkCounts(t *testing.T, x *tree) {
	t.Helper()
	refs, named := map[nodeID]int{}, map[nodeID]int{}
	for _, id := range x.roots {
		refs[id]++
		named[id]++
	}
	for _, n := range x.nodes {
		for _, id := range n.entries {
			named[id]++
		}
		for _, id := range n.durable {
			refs[id]++
		}
	}
	for _, c := range x.pending {
		for _, e := range c.entries {
			refs[e.node]++
		}
	}
	for id, n := range x.nodes {
		if n.refs != refs[id] || n.named < named[id] {
			t.Fatalf("node %d: %d durable and pending names, counted %d; %d seen, counted %d", id, refs[id], n.refs, named[id], n.named)
		}
	}
}

func FuzzUndoName(f *testing.F) {
	f.Add("1-0-0-0-4096")
	f.Add("12-3-4-4096-5000.part")
	f.Add("+1-0-0-0-4096")
	f.Fuzz(func(t *testing.T, name string) {
		if u, ok := parseUndoName(name); ok && (u.String() != name || u.from > u.to) {
			t.Errorf("%q is taken for %s", name, u)
		}
	})
}

// TestNamesStayInside: a journal cannot name what lies outside of its roots.
func TestNamesStayInside(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc"} {
		x := newTree()
		for _, e := range []event{
			{Op: opFound, Node: 1, Name: "/r", IsDir: true},
			{Op: opCreate, Node: 2, Dir: 1, Name: "f"},
		} {
			if err := x.replay(e); err != nil {
				t.Fatal(err)
			}
		}
		for _, e := range []event{
			{Op: opFound, Node: 3, Dir: 1, Name: name},
			{Op: opCreate, Node: 3, Dir: 1, Name: name},
			{Op: opRename, Dir: 1, Name: "f", ToDir: 1, ToName: name},
		} {
			if err := x.replay(e); err == nil {
				t.Errorf("%s to %q is taken", e.Op, name)
			}
		}
	}
}
