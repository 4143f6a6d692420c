package tree

import "slices"

// EventType is what a watch tells of.
type EventType int32

// The types of events.
const (
	EventCreated         EventType = 1
	EventDeleted         EventType = 2
	EventDataChanged     EventType = 3
	EventChildrenChanged EventType = 4
)

// Event is a notification for one watcher.
type Event struct {
	Watcher int64
	Type    EventType
	Path    string
}

// WatchMode says how long a watch lasts and what it covers.
type WatchMode uint8

// The modes; a watcher may have several on one path.
const (
	// OneShot fires once.
	OneShot WatchMode = 1 << iota
	// Persistent stays until it is removed.
	Persistent
	// Recursive is persistent and covers the whole subtree; it is told of
	// nodes created, deleted and changed, not of lists of children.
	Recursive
)

// WatcherType chooses among watches to be removed or looked for.
type WatcherType int32

// The types of the removeWatches and checkWatches requests.
const (
	ChildrenWatcher WatcherType = 1
	DataWatcher     WatcherType = 2
	AnyWatcher      WatcherType = 3
)

// watchTable holds the watches of one kind. Watchers are connections.
type watchTable struct {
	byPath    map[string]map[int64]WatchMode
	byWatcher map[int64]map[string]struct{}
	recursive int // recursive watches set
	count     int // (watcher, path, mode) triples
}

func newWatchTable() watchTable {
	return watchTable{byPath: map[string]map[int64]WatchMode{}, byWatcher: map[int64]map[string]struct{}{}}
}

func (w *watchTable) add(path string, watcher int64, mode WatchMode) {
	modes := w.byPath[path]
	if modes == nil {
		modes = map[int64]WatchMode{}
		w.byPath[path] = modes
	}
	if modes[watcher]&mode != 0 {
		return
	}
	modes[watcher] |= mode
	w.count++
	if mode == Recursive {
		w.recursive++
	}
	paths := w.byWatcher[watcher]
	if paths == nil {
		paths = map[string]struct{}{}
		w.byWatcher[watcher] = paths
	}
	paths[path] = struct{}{}
}

// drop removes the given modes and reports whether any was set.
func (w *watchTable) drop(path string, watcher int64, modes WatchMode) bool {
	had := w.byPath[path][watcher] & modes
	if had == 0 {
		return false
	}
	for m := OneShot; m <= Recursive; m <<= 1 {
		if had&m != 0 {
			w.count--
		}
	}
	if had&Recursive != 0 {
		w.recursive--
	}
	if left := w.byPath[path][watcher] &^ had; left != 0 {
		w.byPath[path][watcher] = left
		return true
	}
	delete(w.byPath[path], watcher)
	if len(w.byPath[path]) == 0 {
		delete(w.byPath, path)
	}
	delete(w.byWatcher[watcher], path)
	if len(w.byWatcher[watcher]) == 0 {
		delete(w.byWatcher, watcher)
	}
	return true
}

// fire returns the watchers to be told, in order, and uses up one-shot watches.
func (w *watchTable) fire(path string, typ EventType) []int64 {
	var told []int64
	for watcher, modes := range w.byPath[path] {
		if modes&(OneShot|Persistent) != 0 || typ != EventChildrenChanged {
			told = append(told, watcher)
		}
	}
	for _, watcher := range told {
		w.drop(path, watcher, OneShot)
	}
	if w.recursive > 0 && typ != EventChildrenChanged && path != "/" {
		for at := parentOf(path); ; at = parentOf(at) {
			for watcher, modes := range w.byPath[at] {
				if modes&Recursive != 0 && !slices.Contains(told, watcher) {
					told = append(told, watcher)
				}
			}
			if at == "/" {
				break
			}
		}
	}
	slices.Sort(told)
	return told
}

// trigger appends the events of one change. A watcher hears of a deletion once,
// though it may watch both the data and the children.
func (t *Tree) trigger(events []Event, c Change) []Event {
	var typ EventType
	switch c.Kind {
	case NodeCreated:
		typ = EventCreated
	case NodeDeleted:
		typ = EventDeleted
	case DataSet:
		typ = EventDataChanged
	default:
		return events
	}
	told := t.data.fire(c.Path, typ)
	events = appendEvents(events, told, typ, c.Path)
	if typ == EventDataChanged {
		return events
	}
	if typ == EventDeleted {
		also := slices.DeleteFunc(t.child.fire(c.Path, typ), func(w int64) bool { return slices.Contains(told, w) })
		events = appendEvents(events, also, typ, c.Path)
	}
	parent := parentOf(c.Path)
	return appendEvents(events, t.child.fire(parent, EventChildrenChanged), EventChildrenChanged, parent)
}

func appendEvents(events []Event, watchers []int64, typ EventType, path string) []Event {
	for _, w := range watchers {
		events = append(events, Event{w, typ, path})
	}
	return events
}

// WatchData sets a one-shot watch on a node's data or existence.
func (t *Tree) WatchData(path string, watcher int64) { t.data.add(path, watcher, OneShot) }

// WatchChildren sets a one-shot watch on the list of a node's children.
func (t *Tree) WatchChildren(path string, watcher int64) { t.child.add(path, watcher, OneShot) }

// AddWatch sets a persistent or recursive watch, on a path that need not exist.
func (t *Tree) AddWatch(path string, watcher int64, mode WatchMode) Code {
	if !validPath(path) {
		return BadArguments
	}
	t.data.add(path, watcher, mode)
	t.child.add(path, watcher, mode)
	return OK
}

// HasWatch reports by OK or NoWatcher whether such a watch is set.
func (t *Tree) HasWatch(path string, watcher int64, typ WatcherType) Code {
	if typ < ChildrenWatcher || typ > AnyWatcher {
		return BadArguments
	}
	if typ != DataWatcher && t.child.byPath[path][watcher] != 0 || typ != ChildrenWatcher && t.data.byPath[path][watcher] != 0 {
		return OK
	}
	return NoWatcher
}

// RemoveWatch removes watches of every mode.
func (t *Tree) RemoveWatch(path string, watcher int64, typ WatcherType) Code {
	code := t.HasWatch(path, watcher, typ)
	const every = OneShot | Persistent | Recursive
	if code == OK && typ != DataWatcher {
		t.child.drop(path, watcher, every)
	}
	if code == OK && typ != ChildrenWatcher {
		t.data.drop(path, watcher, every)
	}
	return code
}

// Forget removes all watches of a watcher.
func (t *Tree) Forget(watcher int64) {
	for _, w := range []*watchTable{&t.data, &t.child} {
		for _, path := range sortedKeys(w.byWatcher[watcher]) {
			w.drop(path, watcher, OneShot|Persistent|Recursive)
		}
	}
}

// Rearm is a client's list of watches after it connected again.
type Rearm struct {
	// Seen is the last zxid that the client saw.
	Seen                                          int64
	Data, Exist, Child, PersistentOn, RecursiveOn []string
}

// Rearm sets the watches anew; what happened since Seen is told at once instead.
func (t *Tree) Rearm(r Rearm, watcher int64) []Event {
	var events []Event
	tell := func(typ EventType, path string) { events = append(events, Event{watcher, typ, path}) }
	for _, path := range r.Data {
		n, ok := t.nodes[path]
		switch {
		case !ok:
			tell(EventDeleted, path)
		case n.mzxid > r.Seen:
			tell(EventDataChanged, path)
		default:
			t.WatchData(path, watcher)
		}
	}
	for _, path := range r.Exist {
		if _, ok := t.nodes[path]; ok {
			tell(EventCreated, path)
		} else {
			t.WatchData(path, watcher)
		}
	}
	for _, path := range r.Child {
		n, ok := t.nodes[path]
		switch {
		case !ok:
			tell(EventDeleted, path)
		case n.pzxid > r.Seen:
			tell(EventChildrenChanged, path)
		default:
			t.WatchChildren(path, watcher)
		}
	}
	for _, path := range r.PersistentOn {
		t.AddWatch(path, watcher, Persistent)
	}
	for _, path := range r.RecursiveOn {
		t.AddWatch(path, watcher, Recursive)
	}
	return events
}
