package tree

import (
	"fmt"

	"tidemark/internal/invariant"
)

// ChangeKind is a kind of change; the numbers are those of the log.
type ChangeKind uint8

// The changes of which transactions consist.
const (
	NodeCreated ChangeKind = iota + 1
	NodeDeleted
	DataSet
	ACLSet
	SessionOpened
	SessionClosed
)

// Change is one elementary change with everything resolved: names of sequential
// nodes, ACLs, owners. A flat struct, of which each kind uses a part.
type Change struct {
	Kind  ChangeKind
	Path  string
	Data  []byte
	ACL   []ACL
	Owner int64
	// Session is the one opened or, by its ID alone, closed.
	Session Session
}

// Txn is what one write changed. Zxids follow each other without a gap.
type Txn struct {
	Zxid   int64
	TimeMs int64
	// Changes is empty for a write that changed nothing; it is not logged.
	Changes []Change
}

// OpenSession adds a session.
func (t *Tree) OpenSession(s Session, timeMs int64) Txn {
	_, taken := t.sessions[s.ID]
	invariant.Check(!taken && ephemeral(s.ID), "session id %#x is taken or reserved", s.ID)
	txn := Txn{t.zxid + 1, timeMs, []Change{{Kind: SessionOpened, Session: s}}}
	t.apply(txn.Changes[0], txn)
	t.zxid = txn.Zxid
	return txn
}

// CloseSession ends a session, whether its client closed it or it expired, and
// deletes its ephemeral nodes, all in one transaction. ok is false for a session
// that is not open.
func (t *Tree) CloseSession(id int64, timeMs int64) (txn Txn, events []Event, ok bool) {
	if _, ok := t.sessions[id]; !ok {
		return Txn{}, nil, false
	}
	txn = Txn{Zxid: t.zxid + 1, TimeMs: timeMs}
	for _, path := range t.Ephemerals(id, "") {
		txn.Changes = append(txn.Changes, Change{Kind: NodeDeleted, Path: path})
	}
	txn.Changes = append(txn.Changes, Change{Kind: SessionClosed, Session: Session{ID: id}})
	for _, c := range txn.Changes {
		t.apply(c, txn)
	}
	t.zxid = txn.Zxid
	for _, c := range txn.Changes {
		events = t.trigger(events, c)
	}
	return txn, events, true
}

// Replay repeats a logged transaction. An error means that the log does not
// belong to this tree; the tree is then of no further use.
func (t *Tree) Replay(txn Txn) error {
	if txn.Zxid != t.zxid+1 {
		return fmt.Errorf("transaction %#x after %#x", txn.Zxid, t.zxid)
	}
	for _, c := range txn.Changes {
		if err := t.fits(c); err != nil {
			return fmt.Errorf("transaction %#x: %w", txn.Zxid, err)
		}
		t.apply(c, txn)
	}
	t.zxid = txn.Zxid
	return nil
}

// fits reports what keeps a logged change from being applied.
func (t *Tree) fits(c Change) error {
	_, exists := t.nodes[c.Path]
	switch c.Kind {
	case NodeCreated:
		if !validPath(c.Path) || exists {
			return fmt.Errorf("create %q: invalid or present", c.Path)
		}
		if _, ok := t.nodes[parentOf(c.Path)]; !ok {
			return fmt.Errorf("create %q: no parent", c.Path)
		}
		if _, ok := t.sessions[c.Owner]; !ok && ephemeral(c.Owner) {
			return fmt.Errorf("create %q: no session %#x", c.Path, c.Owner)
		}
	case NodeDeleted, DataSet, ACLSet:
		if !exists {
			return fmt.Errorf("change %d of %q: no such node", c.Kind, c.Path)
		}
		if c.Kind == NodeDeleted && (len(t.nodes[c.Path].children) > 0 || c.Path == "/") {
			return fmt.Errorf("delete %q: has children", c.Path)
		}
	case SessionOpened:
		if _, ok := t.sessions[c.Session.ID]; ok || !ephemeral(c.Session.ID) {
			return fmt.Errorf("open session %#x: present or reserved", c.Session.ID)
		}
	case SessionClosed:
		if s, ok := t.sessions[c.Session.ID]; !ok || len(s.ephemerals) > 0 {
			return fmt.Errorf("close session %#x: absent or owns nodes", c.Session.ID)
		}
	default:
		return fmt.Errorf("change of unknown kind %d", c.Kind)
	}
	return nil
}

// apply makes a change that fits and returns what takes it back.
func (t *Tree) apply(c Change, txn Txn) (undo func()) {
	switch c.Kind {
	case NodeCreated:
		return t.applyCreate(c, txn)
	case NodeDeleted:
		return t.applyDelete(c, txn)
	case DataSet:
		n := t.nodes[c.Path]
		before := *n
		n.data, n.mzxid, n.mtime = c.Data, txn.Zxid, txn.TimeMs
		n.version++
		return func() { *n = before }
	case ACLSet:
		n := t.nodes[c.Path]
		before := *n
		n.acl = c.ACL
		n.aversion++
		return func() { *n = before }
	case SessionOpened:
		t.sessions[c.Session.ID] = &session{c.Session, map[string]struct{}{}}
		t.lastID = max(t.lastID, c.Session.ID)
	case SessionClosed:
		delete(t.sessions, c.Session.ID)
	}
	return nil // sessions are never part of a request that can fail
}

func (t *Tree) applyCreate(c Change, txn Txn) (undo func()) {
	parent := t.nodes[parentOf(c.Path)]
	created, pzxid := parent.created, parent.pzxid
	t.insert(c.Path, &node{
		data: c.Data, acl: c.ACL, owner: c.Owner,
		czxid: txn.Zxid, mzxid: txn.Zxid, pzxid: txn.Zxid, ctime: txn.TimeMs, mtime: txn.TimeMs,
	})
	parent.created++
	parent.pzxid = txn.Zxid
	return func() {
		t.remove(c.Path)
		parent.created, parent.pzxid = created, pzxid
	}
}

func (t *Tree) applyDelete(c Change, txn Txn) (undo func()) {
	n, parent := t.nodes[c.Path], t.nodes[parentOf(c.Path)]
	pzxid := parent.pzxid
	t.remove(c.Path)
	parent.pzxid = txn.Zxid
	return func() {
		t.insert(c.Path, n)
		parent.pzxid = pzxid
	}
}

// insert and remove keep nodes, children, sessions and fleeting in step.
func (t *Tree) insert(path string, n *node) {
	t.nodes[path] = n
	t.nodes[parentOf(path)].addChild(nameOf(path))
	switch {
	case ephemeral(n.owner):
		t.sessions[n.owner].ephemerals[path] = struct{}{}
	case n.owner != 0:
		t.fleeting[path] = struct{}{}
	}
}

func (t *Tree) remove(path string) {
	n := t.nodes[path]
	delete(t.nodes, path)
	delete(t.nodes[parentOf(path)].children, nameOf(path))
	delete(t.fleeting, path)
	if s, ok := t.sessions[n.owner]; ok {
		delete(s.ephemerals, path)
	}
}
