package tree

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/coordinator/zkserver/jute"
)

// twin is the tree done without a thought: a flat list of nodes, copied whole
// before every request, and a flat list of watches.
type twin struct {
	zxid     int64
	nodes    map[string]twinNode
	sessions map[int64]bool
	watches  []twinWatch
}

type twinNode struct {
	data            string
	czxid, mzxid    int64
	version         int32
	made, unmade    int32 // children
	owner           int64
	ctime, mtime    int64
	lastChildChange int64
}

type twinWatch struct {
	watcher int64
	path    string
	child   bool // of the list of children, else of data
	mode    WatchMode
}

func newTwin() *twin {
	t := &twin{nodes: map[string]twinNode{}, sessions: map[int64]bool{}}
	for _, p := range special {
		t.nodes[p] = twinNode{}
	}
	for _, p := range special[1:] {
		n := t.nodes[parentOf(p)]
		n.unmade-- // ZooKeeper's own children were never counted as made
		t.nodes[parentOf(p)] = n
	}
	return t
}

func (t *twin) children(path string) (names []string) {
	for p := range t.nodes {
		if p != "/" && parentOf(p) == path {
			names = append(names, nameOf(p))
		}
	}
	slices.Sort(names)
	return names
}

// write returns the code and the paths that events are due for, in order.
func (t *twin) write(r Request) (Code, []Change) {
	before := maps.Clone(t.nodes)
	var changes []Change
	for _, op := range r.Ops {
		change, code := t.one(op, r)
		if code != OK {
			t.nodes = before
			return code, nil
		}
		if change.Kind != 0 {
			changes = append(changes, change)
		}
	}
	if len(changes) > 0 {
		t.zxid++
	}
	return OK, changes
}

func (t *twin) one(op Op, r Request) (Change, Code) {
	zxid := t.zxid + 1
	node, exists := t.nodes[op.Path]
	parentPath := parentOf(op.Path)
	parent, hasParent := t.nodes[parentPath]
	switch op.Kind {
	case OpCreate:
		path := op.Path
		if !hasParent {
			return Change{}, NoNode
		}
		if op.Mode.Sequential {
			path += fmt.Sprintf("%010d", parent.made)
		}
		if _, exists := t.nodes[path]; exists {
			return Change{}, NodeExists
		}
		if t.sessions[parent.owner] {
			return Change{}, NoChildrenForEphemerals
		}
		n := twinNode{data: string(op.Data), czxid: zxid, mzxid: zxid, ctime: r.TimeMs, mtime: r.TimeMs, lastChildChange: zxid}
		if op.Mode.Ephemeral {
			n.owner = r.Session
		}
		parent.made++
		parent.lastChildChange = zxid
		t.nodes[parentPath], t.nodes[path] = parent, n
		return Change{Kind: NodeCreated, Path: path}, OK
	case OpDelete:
		switch {
		case slices.Contains(special, op.Path):
			return Change{}, BadArguments
		case !hasParent || !exists:
			return Change{}, NoNode
		case op.Version != -1 && op.Version != node.version:
			return Change{}, BadVersion
		case len(t.children(op.Path)) > 0:
			return Change{}, NotEmpty
		}
		delete(t.nodes, op.Path)
		parent.unmade++
		parent.lastChildChange = zxid
		t.nodes[parentPath] = parent
		return Change{Kind: NodeDeleted, Path: op.Path}, OK
	default: // set, check
		switch {
		case !exists:
			return Change{}, NoNode
		case op.Version != -1 && op.Version != node.version:
			return Change{}, BadVersion
		case op.Kind == OpCheck:
			return Change{}, OK
		}
		node.data, node.mzxid, node.mtime = string(op.Data), zxid, r.TimeMs
		node.version++
		t.nodes[op.Path] = node
		return Change{Kind: DataSet, Path: op.Path}, OK
	}
}

// events fires the watches of one change.
func (t *twin) events(c Change) (out []Event) {
	fire := func(path string, child bool, typ EventType, skip []int64) (told []int64) {
		for _, w := range t.watches {
			covers := w.path == path && (w.mode != Recursive || typ != EventChildrenChanged)
			covers = covers || w.mode == Recursive && typ != EventChildrenChanged && w.path != path &&
				strings.HasPrefix(path, strings.TrimSuffix(w.path, "/")+"/")
			if w.child == child && covers && !slices.Contains(told, w.watcher) {
				told = append(told, w.watcher)
			}
		}
		t.watches = slices.DeleteFunc(t.watches, func(w twinWatch) bool {
			return w.child == child && w.path == path && w.mode == OneShot
		})
		slices.Sort(told)
		for _, w := range told {
			if !slices.Contains(skip, w) {
				out = append(out, Event{w, typ, path})
			}
		}
		return told
	}
	parent := parentOf(c.Path)
	switch c.Kind {
	case NodeCreated:
		fire(c.Path, false, EventCreated, nil)
		fire(parent, true, EventChildrenChanged, nil)
	case NodeDeleted:
		told := fire(c.Path, false, EventDeleted, nil)
		fire(c.Path, true, EventDeleted, told)
		fire(parent, true, EventChildrenChanged, nil)
	case DataSet:
		fire(c.Path, false, EventDataChanged, nil)
	}
	return out
}

func (t *twin) stat(path string) Stat {
	n := t.nodes[path]
	return Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime, Version: n.version,
		Cversion: n.made + n.unmade, EphemeralOwner: n.owner, DataLength: int32(len(n.data)),
		NumChildren: int32(len(t.children(path))), Pzxid: n.lastChildChange,
	}
}

// TestTwin runs random requests and watches on the tree, the twin, and a tree
// that only replays the log.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		real, dumb, replayed := New(), newTwin(), New()
		paths := []string{"/", "/a", "/a/b", "/a/b/c", "/d", "/d/e", "/a/0000000000", "/d/0000000001", "/zookeeper"}
		drawPath := rapid.SampledFrom(paths)
		for step := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now := int64(step)
			var txn Txn
			var events, want []Event
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				id := int64(100 + step)
				txn = real.OpenSession(Session{ID: id, TimeoutMs: 1}, now)
				dumb.sessions[id] = true
				dumb.zxid++
			case 1:
				id := anySession(t, dumb)
				ephemerals := []string{}
				for _, p := range slices.Sorted(maps.Keys(dumb.nodes)) {
					if id != 0 && dumb.nodes[p].owner == id {
						ephemerals = append(ephemerals, p)
					}
				}
				var ok bool
				if txn, events, ok = real.CloseSession(id, now); ok != dumb.sessions[id] {
					t.Fatalf("close session %d: %v", id, ok)
				}
				var changes []Change
				for _, p := range ephemerals {
					c, _ := dumb.one(Op{Kind: OpDelete, Path: p, Version: -1}, Request{})
					changes = append(changes, c)
				}
				for _, c := range changes {
					want = append(want, dumb.events(c)...)
				}
				if ok {
					dumb.zxid++
					delete(dumb.sessions, id)
				}
			case 2, 3:
				w := twinWatch{rapid.Int64Range(1, 3).Draw(t, "watcher"), drawPath.Draw(t, "watched"), rapid.Bool().Draw(t, "child"), OneShot}
				w.mode = rapid.SampledFrom([]WatchMode{OneShot, OneShot, Persistent, Recursive}).Draw(t, "mode")
				addBoth(real, dumb, w)
			case 4:
				w, p := rapid.Int64Range(1, 3).Draw(t, "watcher"), drawPath.Draw(t, "unwatched")
				real.RemoveWatch(p, w, AnyWatcher)
				dumb.watches = slices.DeleteFunc(dumb.watches, func(x twinWatch) bool { return x.watcher == w && x.path == p })
			default:
				r := Request{Session: anySession(t, dumb), TimeMs: now}
				for range rapid.IntRange(1, 3).Draw(t, "ops") {
					op := Op{Kind: rapid.SampledFrom([]OpKind{OpCreate, OpCreate, OpDelete, OpSetData, OpCheck}).Draw(t, "op"), Path: drawPath.Draw(t, "path"), ACL: openACL}
					op.Version = rapid.Int32Range(-1, 2).Draw(t, "version")
					op.Data = []byte(rapid.StringN(0, 2, -1).Draw(t, "data"))
					op.Mode.Sequential = op.Kind == OpCreate && op.Path != "/" && rapid.Bool().Draw(t, "sequential")
					op.Mode.Ephemeral = r.Session != 0 && rapid.Bool().Draw(t, "ephemeral")
					r.Ops = append(r.Ops, op)
				}
				out := real.Write(r)
				code, changes := dumb.write(r)
				if out.Code != code {
					t.Fatalf("request %+v: %v, the twin says %v", r.Ops, out.Code, code)
				}
				txn, events = out.Txn, out.Events
				for _, c := range changes {
					want = append(want, dumb.events(c)...)
				}
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Fatalf("events differ (-twin +tree):\n%s", diff)
			}
			if len(txn.Changes) > 0 {
				if err := replayed.Replay(txn); err != nil {
					t.Fatal(err)
				}
			}
			compare(t, real, dumb)
		}
		if diff := cmp.Diff(snapshot(real), snapshot(replayed)); diff != "" {
			t.Fatalf("the replayed tree differs:\n%s", diff)
		}
		again, err := ReadSnapshot(jute.NewReader(snapshot(real)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(snapshot(real), snapshot(again)); diff != "" {
			t.Fatalf("the tree of the snapshot differs:\n%s", diff)
		}
	})
}

func anySession(t *rapid.T, d *twin) int64 {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(d.sessions)), 0)).Draw(t, "session")
}

func addBoth(real *Tree, dumb *twin, w twinWatch) {
	add := func(w twinWatch) {
		if !slices.Contains(dumb.watches, w) {
			dumb.watches = append(dumb.watches, w)
		}
	}
	switch {
	case w.mode != OneShot:
		real.AddWatch(w.path, w.watcher, w.mode)
		for _, child := range []bool{false, true} {
			w.child = child
			add(w)
		}
		return
	case w.child:
		real.WatchChildren(w.path, w.watcher)
	default:
		real.WatchData(w.path, w.watcher)
	}
	add(w)
}

func compare(t *rapid.T, real *Tree, dumb *twin) {
	if real.Zxid() != dumb.zxid || real.NodeCount() != len(dumb.nodes) || real.WatchCount() != len(dumb.watches) {
		t.Fatalf("zxid %d, %d nodes, %d watches; the twin has %d, %d, %d",
			real.Zxid(), real.NodeCount(), real.WatchCount(), dumb.zxid, len(dumb.nodes), len(dumb.watches))
	}
	for path := range dumb.nodes {
		data, stat, code := real.GetData(path, nil)
		if code != OK || string(data) != dumb.nodes[path].data {
			t.Fatalf("%s holds %q (%v), the twin %q", path, data, code, dumb.nodes[path].data)
		}
		if diff := cmp.Diff(dumb.stat(path), stat); diff != "" {
			t.Fatalf("Stat of %s differs (-twin +tree):\n%s", path, diff)
		}
	}
}

func snapshot(t *Tree) []byte {
	var w jute.Writer
	t.AppendSnapshot(&w)
	return w.Bytes()
}
