package tree

// Reads do not look whether a path could exist: what cannot is not there.

// GetData returns a node's data. Like every read it needs the permission.
func (t *Tree) GetData(path string, who []Identity) ([]byte, Stat, Code) {
	n, code := t.lookup(path, PermRead, who)
	if code != OK {
		return nil, Stat{}, code
	}
	return n.data, n.stat(), OK
}

// Exists returns a node's Stat; it needs no permission.
func (t *Tree) Exists(path string) (Stat, Code) {
	n, ok := t.nodes[path]
	if !ok {
		return Stat{}, NoNode
	}
	return n.stat(), OK
}

// Children returns the names of a node's children, in order.
func (t *Tree) Children(path string, who []Identity) ([]string, Stat, Code) {
	n, code := t.lookup(path, PermRead, who)
	if code != OK {
		return nil, Stat{}, code
	}
	return sortedKeys(n.children), n.stat(), OK
}

// CountBelow returns the number of all nodes below path.
func (t *Tree) CountBelow(path string, who []Identity) (int, Code) {
	n, code := t.lookup(path, PermRead, who)
	if code != OK {
		return 0, code
	}
	return t.countBelow(path, n), OK
}

func (t *Tree) countBelow(path string, n *node) int {
	total := len(n.children)
	for name := range n.children {
		child := childOf(path, name)
		total += t.countBelow(child, t.nodes[child])
	}
	return total
}

// ACLOf returns a node's ACL; who may only read it does not see the hashes of
// passwords.
func (t *Tree) ACLOf(path string, who []Identity) ([]ACL, Stat, Code) {
	n, code := t.lookup(path, PermRead|PermAdmin, who)
	if code != OK {
		return nil, Stat{}, code
	}
	if !permitted(n.acl, PermAdmin, who) {
		return masked(n.acl), n.stat(), OK
	}
	return n.acl, n.stat(), OK
}
