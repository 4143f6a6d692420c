package tree

import (
	"fmt"
	"slices"
	"strings"
)

// OpKind is a kind of write.
type OpKind uint8

// The writes that a client may ask for.
const (
	OpCreate OpKind = iota + 1
	OpDelete
	OpSetData
	OpSetACL
	OpCheck
	// OpReap deletes a container or TTL node if it is still due.
	OpReap
)

// Op is one write as a client asks for it; a flat struct, of which each kind
// uses a part.
type Op struct {
	Kind    OpKind
	Path    string
	Data    []byte
	ACL     []ACL
	Version int32 // −1 for any
	Mode    Mode  // of a create
}

// Mode says how a node is created.
type Mode struct {
	Ephemeral, Sequential, Container bool
	// TTL marks a TTL node, TTLMs is its time to live.
	TTL   bool
	TTLMs int64
}

// ParseMode reads the flags of a create request (CreateMode.fromFlag).
func ParseMode(flags int32) (Mode, bool) {
	if flags < 0 || flags > 6 {
		return Mode{}, false
	}
	return Mode{
		Ephemeral:  flags == 1 || flags == 3,
		Sequential: flags == 2 || flags == 3 || flags == 6,
		Container:  flags == 4,
		TTL:        flags >= 5,
	}, true
}

// Request is a list of writes that happen together or not at all.
type Request struct {
	Session int64
	Who     []Identity
	TimeMs  int64
	Ops     []Op
}

// Result answers one Op.
type Result struct {
	Code Code
	Path string // of a create
	Stat Stat   // of a create, setData or setACL
}

// Outcome is what a write did. Txn.Changes is empty when nothing changed.
type Outcome struct {
	// Code is the first error.
	Code    Code
	Results []Result
	Txn     Txn
	Events  []Event
}

// Write carries out a request. On an error nothing has changed, and the results
// are as those of ZooKeeper's multi: OK before the failed one,
// RuntimeInconsistency after it.
func (t *Tree) Write(r Request) Outcome {
	out := Outcome{Results: make([]Result, len(r.Ops))}
	txn := Txn{Zxid: t.zxid + 1, TimeMs: r.TimeMs}
	if _, ok := t.sessions[r.Session]; !ok && r.Session != 0 {
		out.Code = SessionExpired
		out.Results = failAt(out.Results, 0, SessionExpired)
		return out
	}
	var undo []func()
	for i, op := range r.Ops {
		change, code := t.prepare(op, r)
		if code != OK {
			for _, f := range slices.Backward(undo) {
				f()
			}
			out.Code = code
			out.Results = failAt(out.Results, i, code)
			return out
		}
		if change.Kind != 0 {
			undo = append(undo, t.apply(change, txn))
			txn.Changes = append(txn.Changes, change)
		}
		out.Results[i] = t.result(op, change)
	}
	if len(txn.Changes) > 0 {
		t.zxid = txn.Zxid
		out.Txn = txn
		for _, c := range txn.Changes {
			out.Events = t.trigger(out.Events, c)
		}
	}
	return out
}

func failAt(results []Result, failed int, code Code) []Result {
	for i := range results {
		switch {
		case i < failed:
			results[i] = Result{}
		case i == failed:
			results[i] = Result{Code: code}
		default:
			results[i] = Result{Code: RuntimeInconsistency}
		}
	}
	return results
}

func (t *Tree) result(op Op, c Change) Result {
	switch op.Kind {
	case OpCreate:
		return Result{Path: c.Path, Stat: t.nodes[c.Path].stat()}
	case OpSetData, OpSetACL:
		return Result{Stat: t.nodes[c.Path].stat()}
	}
	return Result{}
}

// prepare checks a write against the present state and returns the change to
// make; a check changes nothing.
func (t *Tree) prepare(op Op, r Request) (Change, Code) {
	if op.Kind == OpCreate {
		return t.prepareCreate(op, r)
	}
	if strings.ContainsRune(op.Path, 0) || !validPath(op.Path) {
		return Change{}, BadArguments
	}
	switch op.Kind {
	case OpDelete:
		return t.prepareDelete(op, r)
	case OpReap:
		if !t.reapable(op.Path, r.TimeMs) {
			return Change{}, NoNode
		}
		return Change{Kind: NodeDeleted, Path: op.Path}, OK
	case OpSetACL:
		acl, ok := resolveACL(op.ACL, r.Who)
		if !ok {
			return Change{}, InvalidACL
		}
		n, code := t.lookup(op.Path, PermAdmin, r.Who)
		if code == OK && op.Version != -1 && op.Version != n.aversion {
			code = BadVersion
		}
		return Change{Kind: ACLSet, Path: op.Path, ACL: acl}, code
	case OpSetData, OpCheck:
		perm := PermWrite
		if op.Kind == OpCheck {
			perm = PermRead
		}
		n, code := t.lookup(op.Path, perm, r.Who)
		if code == OK && op.Version != -1 && op.Version != n.version {
			code = BadVersion
		}
		if op.Kind == OpCheck {
			return Change{}, code
		}
		return Change{Kind: DataSet, Path: op.Path, Data: op.Data}, code
	}
	return Change{}, Unimplemented
}

func (t *Tree) prepareCreate(op Op, r Request) (Change, Code) {
	m := op.Mode
	if m.TTL && (m.TTLMs <= 0 || m.TTLMs > MaxTTL) || m.Ephemeral && r.Session == 0 {
		return Change{}, BadArguments
	}
	slash := strings.LastIndexByte(op.Path, '/')
	if slash < 0 || strings.ContainsRune(op.Path, 0) {
		return Change{}, BadArguments
	}
	acl, ok := resolveACL(op.ACL, r.Who)
	if !ok {
		return Change{}, InvalidACL
	}
	parent, ok := t.nodes[parentOf(op.Path)]
	if !ok {
		return Change{}, NoNode
	}
	if !permitted(parent.acl, PermCreate, r.Who) {
		return Change{}, NoAuth
	}
	path := op.Path
	if m.Sequential {
		path += fmt.Sprintf("%010d", parent.created)
	}
	if !validPath(path) {
		return Change{}, BadArguments
	}
	if _, exists := t.nodes[path]; exists {
		return Change{}, NodeExists
	}
	if ephemeral(parent.owner) {
		return Change{}, NoChildrenForEphemerals
	}
	c := Change{Kind: NodeCreated, Path: path, Data: op.Data, ACL: acl}
	switch {
	case m.Ephemeral:
		c.Owner = r.Session
	case m.Container:
		c.Owner = ContainerOwner
	case m.TTL:
		c.Owner = ttlMark | m.TTLMs
	}
	return c, OK
}

func (t *Tree) prepareDelete(op Op, r Request) (Change, Code) {
	if slices.Contains(special, op.Path) {
		return Change{}, BadArguments
	}
	parent, ok := t.nodes[parentOf(op.Path)]
	if !ok {
		return Change{}, NoNode
	}
	if !permitted(parent.acl, PermDelete, r.Who) {
		return Change{}, NoAuth
	}
	n, ok := t.nodes[op.Path]
	switch {
	case !ok:
		return Change{}, NoNode
	case op.Version != -1 && op.Version != n.version:
		return Change{}, BadVersion
	case len(n.children) > 0:
		return Change{}, NotEmpty
	}
	return Change{Kind: NodeDeleted, Path: op.Path}, OK
}

func (t *Tree) lookup(path string, perms int32, who []Identity) (*node, Code) {
	n, ok := t.nodes[path]
	if !ok {
		return nil, NoNode
	}
	if !permitted(n.acl, perms, who) {
		return nil, NoAuth
	}
	return n, OK
}
