package zkserver

import (
	"slices"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
)

// execute carries out a request and writes the body of a successful reply.
func (s *Server) execute(c *conn, req request, w *jute.Writer) tree.Code {
	switch req.op {
	case opPing:
		return tree.OK
	case opClose:
		s.endSession(c.session)
		return tree.OK
	case opAuth:
		return s.authenticate(c, req)
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opSetData, opSetACL, opCheck:
		return s.executeWrite(c, req, w)
	case opMulti:
		return s.executeMulti(c, req, w)
	case opMultiRead:
		s.executeMultiRead(c, req, w)
		return tree.OK
	case opSetWatches, opSetWatches2:
		s.notify(s.tree.Rearm(req.rearm, c.id))
		return tree.OK
	case opAddWatch:
		return s.addWatch(c, req, w)
	case opCheckWatches:
		return s.tree.HasWatch(req.path, c.id, tree.WatcherType(req.mode))
	case opRemoveWatches:
		return s.tree.RemoveWatch(req.path, c.id, tree.WatcherType(req.mode))
	case opReconfig:
		return tree.ReconfigDisabled
	}
	return s.executeRead(c, req, w)
}

func (s *Server) executeRead(c *conn, req request, w *jute.Writer) tree.Code {
	switch req.op {
	case opExists:
		stat, code := s.tree.Exists(req.path)
		if req.watch && (code == tree.OK || code == tree.NoNode) {
			s.tree.WatchData(req.path, c.id)
		}
		tree.AppendStat(w, stat)
		return code
	case opGetData:
		data, stat, code := s.tree.GetData(req.path, c.who)
		if req.watch && code == tree.OK {
			s.tree.WatchData(req.path, c.id)
		}
		w.Buffer(data)
		tree.AppendStat(w, stat)
		return code
	case opGetChildren, opGetChildren2:
		names, stat, code := s.tree.Children(req.path, c.who)
		if req.watch && code == tree.OK {
			s.tree.WatchChildren(req.path, c.id)
		}
		w.Strings(names)
		if req.op == opGetChildren2 {
			tree.AppendStat(w, stat)
		}
		return code
	case opGetACL:
		acl, stat, code := s.tree.ACLOf(req.path, c.who)
		tree.AppendACL(w, acl)
		tree.AppendStat(w, stat)
		return code
	case opSync:
		// All that was asked for before is done by now; there is nobody to wait for.
		w.String(req.path)
		return tree.OK
	case opGetEphemerals:
		w.Strings(s.tree.Ephemerals(c.session, req.path))
		return tree.OK
	case opCountBelow:
		n, code := s.tree.CountBelow(req.path, c.who)
		w.Int32(int32(n))
		return code
	case opWhoAmI:
		w.Int32(int32(len(c.who)))
		for _, id := range c.who {
			w.String(id.Scheme)
			w.String(tree.PublicID(id))
		}
		return tree.OK
	}
	return tree.Unimplemented
}

// maxIdentities bounds what one connection may authenticate as.
const maxIdentities = 32

func (s *Server) authenticate(c *conn, req request) tree.Code {
	switch req.scheme {
	case "digest":
		id := tree.DigestIdentity(string(req.auth))
		if slices.Contains(c.who, id) {
			return tree.OK
		}
		if len(c.who) >= maxIdentities {
			return tree.AuthFailed
		}
		c.who = append(c.who, id)
		return tree.OK
	case "ip":
		return tree.OK // known from the start
	}
	return tree.AuthFailed
}

func (s *Server) executeWrite(c *conn, req request, w *jute.Writer) tree.Code {
	out := s.writeOps(c, req.ops)
	if out.Code == tree.OK {
		appendResult(w, req.op, out.Results[0])
	}
	return out.Code
}

func (s *Server) writeOps(c *conn, ops []multiOp) tree.Outcome {
	r := tree.Request{Session: c.session, Who: c.who, TimeMs: s.nowMs()}
	for _, op := range ops {
		r.Ops = append(r.Ops, op.write)
	}
	return s.write(r)
}

func appendResult(w *jute.Writer, op opcode, r tree.Result) {
	switch op {
	case opCreate:
		w.String(r.Path)
	case opCreate2, opCreateContainer, opCreateTTL:
		w.String(r.Path)
		tree.AppendStat(w, r.Stat)
	case opSetData, opSetACL:
		tree.AppendStat(w, r.Stat)
	}
}

// executeMulti answers OK even where an operation failed: the results say so.
func (s *Server) executeMulti(c *conn, req request, w *jute.Writer) tree.Code {
	out := s.writeOps(c, req.ops)
	if out.Code == tree.SessionExpired {
		return out.Code
	}
	for i, r := range out.Results {
		if out.Code != tree.OK {
			appendMultiError(w, r.Code)
			continue
		}
		op := req.ops[i].op
		switch op {
		case opCreate2:
			op = opCreate // so ZooKeeper answers inside a multi
		case opCreateContainer, opCreateTTL:
			op = opCreate2
		}
		appendMultiHeader(w, op, false, 0)
		appendResult(w, op, r)
	}
	appendMultiHeader(w, opError, true, -1)
	return tree.OK
}

// executeMultiRead answers each read by itself.
func (s *Server) executeMultiRead(c *conn, req request, w *jute.Writer) {
	for _, op := range req.ops {
		if op.op == opGetData {
			data, stat, code := s.tree.GetData(op.path, c.who)
			if code != tree.OK {
				appendMultiError(w, code)
				continue
			}
			appendMultiHeader(w, op.op, false, 0)
			w.Buffer(data)
			tree.AppendStat(w, stat)
			continue
		}
		names, _, code := s.tree.Children(op.path, c.who)
		if code != tree.OK {
			appendMultiError(w, code)
			continue
		}
		appendMultiHeader(w, op.op, false, 0)
		w.Strings(names)
	}
	appendMultiHeader(w, opError, true, -1)
}

func (s *Server) addWatch(c *conn, req request, w *jute.Writer) tree.Code {
	modes := [...]tree.WatchMode{tree.Persistent, tree.Recursive}
	if req.mode < 0 || int(req.mode) >= len(modes) {
		return tree.MarshallingError
	}
	w.Int32(0) // the reply is an ErrorResponse
	return s.tree.AddWatch(req.path, c.id, modes[req.mode])
}
