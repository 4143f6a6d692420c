package tree

import (
	"fmt"

	"tidemark/coordinator/zkserver/jute"
)

// AppendTxn writes a transaction as it stands in the log.
func AppendTxn(w *jute.Writer, txn Txn) {
	w.Int64(txn.Zxid)
	w.Int64(txn.TimeMs)
	w.Int32(int32(len(txn.Changes)))
	for _, c := range txn.Changes {
		w.Int32(int32(c.Kind))
		switch c.Kind {
		case SessionOpened:
			appendSession(w, c.Session)
		case SessionClosed:
			w.Int64(c.Session.ID)
		default:
			w.String(c.Path)
		}
		switch c.Kind {
		case NodeCreated:
			w.Buffer(c.Data)
			AppendACL(w, c.ACL)
			w.Int64(c.Owner)
		case DataSet:
			w.Buffer(c.Data)
		case ACLSet:
			AppendACL(w, c.ACL)
		}
	}
}

// ReadTxn reads what AppendTxn wrote; data is copied.
func ReadTxn(r *jute.Reader) (Txn, error) {
	txn := Txn{Zxid: r.Int64(), TimeMs: r.Int64()}
	for range r.Count(8) {
		c := Change{Kind: ChangeKind(r.Int32())}
		switch c.Kind {
		case SessionOpened:
			c.Session = readSession(r)
		case SessionClosed:
			c.Session.ID = r.Int64()
		case NodeCreated:
			c.Path, c.Data, c.ACL, c.Owner = r.String(), clone(r.Buffer()), ReadACL(r), r.Int64()
		case DataSet:
			c.Path, c.Data = r.String(), clone(r.Buffer())
		case ACLSet:
			c.Path, c.ACL = r.String(), ReadACL(r)
		case NodeDeleted:
			c.Path = r.String()
		default:
			r.Fail("change of unknown kind %d", c.Kind)
		}
		txn.Changes = append(txn.Changes, c)
	}
	return txn, r.Err()
}

// clone keeps nil and empty apart, as clients see the difference.
func clone(b []byte) []byte {
	if b == nil {
		return nil
	}
	return append([]byte{}, b...)
}

// AppendACL writes a list as it goes over the wire.
func AppendACL(w *jute.Writer, acl []ACL) {
	w.Int32(int32(len(acl)))
	for _, a := range acl {
		w.Int32(a.Perms)
		w.String(a.Scheme)
		w.String(a.ID)
	}
}

// ReadACL reads what AppendACL wrote.
func ReadACL(r *jute.Reader) []ACL {
	var acl []ACL
	for range r.Count(12) {
		acl = append(acl, ACL{r.Int32(), r.String(), r.String()})
	}
	if len(acl) == 1 && acl[0] == openACL[0] {
		return openACL
	}
	return acl
}

// AppendStat writes a Stat as it goes over the wire.
func AppendStat(w *jute.Writer, s Stat) {
	w.Int64(s.Czxid)
	w.Int64(s.Mzxid)
	w.Int64(s.Ctime)
	w.Int64(s.Mtime)
	w.Int32(s.Version)
	w.Int32(s.Cversion)
	w.Int32(s.Aversion)
	w.Int64(s.EphemeralOwner)
	w.Int32(s.DataLength)
	w.Int32(s.NumChildren)
	w.Int64(s.Pzxid)
}

func appendSession(w *jute.Writer, s Session) {
	w.Int64(s.ID)
	w.Int32(s.TimeoutMs)
	w.Buffer(s.Password[:])
}

func readSession(r *jute.Reader) Session {
	s := Session{ID: r.Int64(), TimeoutMs: r.Int32()}
	password := r.Buffer()
	if len(password) != len(s.Password) {
		r.Fail("password of %d bytes", len(password))
	}
	copy(s.Password[:], password)
	return s
}

// AppendSnapshot writes the whole state except the watches, which end with
// their connections.
func (t *Tree) AppendSnapshot(w *jute.Writer) {
	w.Int64(t.zxid)
	w.Int64(t.lastID)
	w.Int32(int32(len(t.sessions)))
	for _, s := range t.Sessions() {
		appendSession(w, s)
	}
	w.Int32(int32(len(t.nodes)))
	// In order of path a parent always comes before its children.
	for _, path := range sortedKeys(t.nodes) {
		n := t.nodes[path]
		w.String(path)
		w.Buffer(n.data)
		AppendACL(w, n.acl)
		w.Int64(n.czxid)
		w.Int64(n.mzxid)
		w.Int64(n.pzxid)
		w.Int64(n.ctime)
		w.Int64(n.mtime)
		w.Int32(n.version)
		w.Int32(n.aversion)
		w.Int32(n.created)
		w.Int64(n.owner)
	}
}

// ReadSnapshot rebuilds a tree from what AppendSnapshot wrote.
func ReadSnapshot(r *jute.Reader) (*Tree, error) {
	t := New()
	t.zxid, t.lastID = r.Int64(), r.Int64()
	for range r.Count(32) {
		s := readSession(r)
		if r.Err() == nil {
			if err := t.fits(Change{Kind: SessionOpened, Session: s}); err != nil {
				return nil, err
			}
		}
		t.sessions[s.ID] = &session{s, map[string]struct{}{}}
	}
	for range r.Count(72) {
		path := r.String()
		n := &node{
			data: clone(r.Buffer()), acl: ReadACL(r),
			czxid: r.Int64(), mzxid: r.Int64(), pzxid: r.Int64(), ctime: r.Int64(), mtime: r.Int64(),
			version: r.Int32(), aversion: r.Int32(), created: r.Int32(), owner: r.Int64(),
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
		if err := t.restore(path, n); err != nil {
			return nil, err
		}
	}
	if r.Err() == nil && r.Len() > 0 {
		r.Fail("%d bytes after the last node", r.Len())
	}
	return t, r.Err()
}

// restore puts a node of a snapshot in its place; the special ones exist.
func (t *Tree) restore(path string, n *node) error {
	if old, ok := t.nodes[path]; ok {
		if old.czxid != 0 || ephemeral(n.owner) || n.owner != 0 {
			return fmt.Errorf("snapshot holds %q twice", path)
		}
		n.children = old.children
		t.nodes[path] = n
		return nil
	}
	if err := t.fits(Change{Kind: NodeCreated, Path: path, Owner: n.owner}); err != nil {
		return err
	}
	t.insert(path, n)
	return nil
}
