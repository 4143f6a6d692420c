// Package tree is the state of a ZooKeeper server: znodes, sessions and watches.
// It is pure: it has no clock, goroutine, I/O or randomness and no result of it
// depends on the order of a map. Time, session ids and passwords are arguments;
// what happened comes back as values: the transaction to be logged, the results
// for the client, the watch events for others.
//
// A write either happens as a whole, with one zxid, or leaves no trace. Replay
// of the transactions in order rebuilds the same tree. The semantics are those
// of ZooKeeper 3.8 (PrepRequestProcessor, DataTree, WatchManager); what differs
// is listed in docs/formats/zookeeper.md.
package tree

import (
	"math"
	"slices"
	"strings"
)

// Stat describes a znode; field for field ZooKeeper's Stat.
type Stat struct {
	Czxid, Mzxid   int64 // of the creation and of the last change of the data
	Ctime, Mtime   int64 // milliseconds
	Version        int32 // changes of the data
	Cversion       int32 // creations plus deletions of children
	Aversion       int32 // changes of the ACL
	EphemeralOwner int64 // session; 0 for containers and TTL nodes too
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // of the last creation or deletion of a child
}

// ContainerOwner is the owner of a container node, inside the tree and its files.
const ContainerOwner = math.MinInt64

// MaxTTL is the longest time to live in milliseconds; it fits in 40 bits.
const MaxTTL = 1<<40 - 1

// ttlMark fills the top byte of the owner of a TTL node.
const ttlMark = -1 << 56 // 0xff00000000000000

// ttlOf returns the time to live that an owner stands for.
func ttlOf(owner int64) (ttl int64, ok bool) {
	if owner&ttlMark != ttlMark {
		return 0, false
	}
	return owner & MaxTTL, true
}

// ephemeral reports whether an owner is a session.
func ephemeral(owner int64) bool {
	_, ttl := ttlOf(owner)
	return owner != 0 && owner != ContainerOwner && !ttl
}

type node struct {
	data                []byte
	acl                 []ACL
	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	created             int32 // children ever created; numbers sequential ones
	owner               int64
	children            map[string]struct{}
}

// stat translates the count of created children into ZooKeeper's cversion,
// which counts deletions too. Clients do not see that a node is a container or
// has a time to live.
func (n *node) stat() Stat {
	children := int32(len(n.children))
	owner := n.owner
	if !ephemeral(owner) {
		owner = 0
	}
	return Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: n.created*2 - children, Aversion: n.aversion,
		EphemeralOwner: owner, DataLength: int32(len(n.data)), NumChildren: children, Pzxid: n.pzxid,
	}
}

// Session is a client's session. TimeoutMs is what was negotiated.
type Session struct {
	ID        int64
	TimeoutMs int32
	Password  [16]byte
}

type session struct {
	Session
	ephemerals map[string]struct{}
}

// Tree holds everything. It is confined to one goroutine. Returned data and ACLs
// alias the tree and must not be changed; the tree itself never changes them in
// place.
type Tree struct {
	zxid     int64
	lastID   int64 // highest id that a session ever had
	nodes    map[string]*node
	sessions map[int64]*session
	fleeting map[string]struct{} // containers and TTL nodes
	data     watchTable          // watches for data and existence
	child    watchTable          // watches for children
}

// special are the nodes that always exist and cannot be deleted.
var special = []string{"/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota"}

// New returns an empty tree, with the nodes that ZooKeeper always has.
func New() *Tree {
	t := &Tree{
		nodes:    map[string]*node{},
		sessions: map[int64]*session{},
		fleeting: map[string]struct{}{},
		data:     newWatchTable(),
		child:    newWatchTable(),
	}
	for _, path := range special {
		t.nodes[path] = &node{acl: openACL}
		if path != "/" {
			t.nodes[parentOf(path)].addChild(nameOf(path))
		}
	}
	return t
}

// Zxid is the number of the last transaction.
func (t *Tree) Zxid() int64 { return t.zxid }

// LastSessionID is the highest id that a session ever had; ids above it are new.
func (t *Tree) LastSessionID() int64 { return t.lastID }

// NodeCount is the number of znodes.
func (t *Tree) NodeCount() int { return len(t.nodes) }

// WatchCount is the number of watches set.
func (t *Tree) WatchCount() int { return t.data.count + t.child.count }

// EphemeralCount is the number of ephemeral nodes.
func (t *Tree) EphemeralCount() int {
	n := 0
	for _, s := range t.sessions {
		n += len(s.ephemerals)
	}
	return n
}

// DataSize is roughly the bytes of all paths and data.
func (t *Tree) DataSize() int {
	size := 0
	for path, n := range t.nodes {
		size += len(path) + len(n.data)
	}
	return size
}

// Session returns an open session.
func (t *Tree) Session(id int64) (Session, bool) {
	s, ok := t.sessions[id]
	if !ok {
		return Session{}, false
	}
	return s.Session, true
}

// Sessions returns all open sessions in order of id.
func (t *Tree) Sessions() []Session {
	out := make([]Session, 0, len(t.sessions))
	for _, id := range sortedKeys(t.sessions) {
		out = append(out, t.sessions[id].Session)
	}
	return out
}

// Ephemerals returns the paths of a session's nodes that begin with prefix, as
// ZooKeeper does it: by character, not by node. They are in order.
func (t *Tree) Ephemerals(id int64, prefix string) []string {
	s, ok := t.sessions[id]
	if !ok {
		return nil
	}
	var out []string
	for path := range s.ephemerals {
		if strings.HasPrefix(path, prefix) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Reapable returns, in order, the containers that lost their last child and the
// TTL nodes without children that nobody changed for longer than they may live.
func (t *Tree) Reapable(nowMs int64) []string {
	var out []string
	for path := range t.fleeting {
		if t.reapable(path, nowMs) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

func (t *Tree) reapable(path string, nowMs int64) bool {
	if _, ok := t.fleeting[path]; !ok {
		return false
	}
	n := t.nodes[path]
	if len(n.children) > 0 {
		return false
	}
	if ttl, ok := ttlOf(n.owner); ok {
		return nowMs-n.mtime > ttl
	}
	return n.created > 0
}

func (n *node) addChild(name string) {
	if n.children == nil {
		n.children = map[string]struct{}{}
	}
	n.children[name] = struct{}{}
}

func sortedKeys[K int64 | string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
