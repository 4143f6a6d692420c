package zkserver

import (
	"bytes"
	"errors"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
)

// opcode is the type of a request (ZooDefs.OpCode).
type opcode int32

const (
	opClose           opcode = -11
	opError           opcode = -1 // in the results of a multi
	opCreate          opcode = 1
	opDelete          opcode = 2
	opExists          opcode = 3
	opGetData         opcode = 4
	opSetData         opcode = 5
	opGetACL          opcode = 6
	opSetACL          opcode = 7
	opGetChildren     opcode = 8
	opSync            opcode = 9
	opPing            opcode = 11
	opGetChildren2    opcode = 12
	opCheck           opcode = 13
	opMulti           opcode = 14
	opCreate2         opcode = 15
	opReconfig        opcode = 16
	opCheckWatches    opcode = 17
	opRemoveWatches   opcode = 18
	opCreateContainer opcode = 19
	opCreateTTL       opcode = 21
	opMultiRead       opcode = 22
	opAuth            opcode = 100
	opSetWatches      opcode = 101
	opGetEphemerals   opcode = 103
	opCountBelow      opcode = 104
	opSetWatches2     opcode = 105
	opAddWatch        opcode = 106
	opWhoAmI          opcode = 107
)

// connectRequest is the first frame of a connection.
type connectRequest struct {
	seen        int64 // last zxid the client saw
	timeoutMs   int32
	session     int64
	password    []byte
	hasReadOnly bool // clients since 3.4 send a flag, and expect one back
}

func decodeConnect(body []byte) (connectRequest, error) {
	r := jute.NewReader(body)
	r.Int32() // protocol version, 0 ever since
	req := connectRequest{seen: r.Int64(), timeoutMs: r.Int32(), session: r.Int64(), password: r.Buffer()}
	if r.Len() > 0 {
		req.hasReadOnly = true
		r.Bool() // whether a server that lost its quorum would do; we never have one
	}
	if r.Err() == nil && req.session != 0 && len(req.password) != 16 {
		r.Fail("password of %d bytes", len(req.password))
	}
	return req, r.Err()
}

// encodeConnected answers a connectRequest; a zero session says that the
// session asked for has expired.
func encodeConnected(s tree.Session, hasReadOnly bool) []byte {
	w := jute.NewWriter(make([]byte, 0, 48))
	w.Int32(0)
	w.Int32(0)
	if s.ID == 0 {
		s.TimeoutMs = 0
	}
	w.Int32(s.TimeoutMs)
	w.Int64(s.ID)
	w.Buffer(s.Password[:])
	if hasReadOnly {
		w.Bool(false)
	}
	return frame(w)
}

func frame(w *jute.Writer) []byte {
	w.PutInt32(0, int32(w.Len()-4))
	return w.Bytes()
}

// encodeReply is length, xid, zxid, error and the body.
func encodeReply(xid int32, zxid int64, code tree.Code, body []byte) []byte {
	w := jute.NewWriter(make([]byte, 0, 20+len(body)))
	w.Int32(int32(16 + len(body)))
	w.Int32(xid)
	w.Int64(zxid)
	w.Int32(int32(code))
	return append(w.Bytes(), body...)
}

// encodeEvent is a reply that nobody asked for: xid −1.
func encodeEvent(e tree.Event) []byte {
	const syncConnected = 3
	w := jute.NewWriter(make([]byte, 0, 64))
	w.Int32(0)
	w.Int32(-1)
	w.Int64(-1)
	w.Int32(0)
	w.Int32(int32(e.Type))
	w.Int32(syncConnected)
	w.String(e.Path)
	return frame(w)
}

// request is any later frame; each opcode uses a part of it.
type request struct {
	xid    int32
	op     opcode
	path   string
	watch  bool
	ops    []multiOp // one for a plain write
	rearm  tree.Rearm
	mode   int32 // of addWatch; type of checkWatches and removeWatches
	scheme string
	auth   []byte
}

// multiOp is one operation of a multi or multiRead.
type multiOp struct {
	op opcode
	// write is set for writes, path for reads.
	write tree.Op
	path  string
}

var errNoHeader = errors.New("frame has no request header")

// decodeRequest takes a frame apart. Data of writes is copied, so that a small
// node does not keep a large frame. The xid is set whenever there is a header.
func decodeRequest(body []byte) (request, error) {
	r := jute.NewReader(body)
	req := request{xid: r.Int32(), op: opcode(r.Int32())}
	if r.Err() != nil {
		return req, errNoHeader
	}
	switch req.op {
	case opPing, opClose, opWhoAmI, opReconfig:
	case opCreate, opCreate2, opCreateContainer, opCreateTTL, opDelete, opSetData, opSetACL, opCheck:
		req.ops = []multiOp{{op: req.op, write: decodeWrite(r, req.op)}}
	case opMulti, opMultiRead:
		req.ops = decodeMulti(r, req.op == opMultiRead)
	case opExists, opGetData, opGetChildren, opGetChildren2:
		req.path, req.watch = r.String(), r.Bool()
	case opGetACL, opSync, opGetEphemerals, opCountBelow:
		req.path = r.String()
	case opSetWatches, opSetWatches2:
		req.rearm = tree.Rearm{Seen: r.Int64(), Data: r.Strings(), Exist: r.Strings(), Child: r.Strings()}
		if req.op == opSetWatches2 {
			req.rearm.PersistentOn, req.rearm.RecursiveOn = r.Strings(), r.Strings()
		}
	case opAddWatch, opCheckWatches, opRemoveWatches:
		req.path, req.mode = r.String(), r.Int32()
	case opAuth:
		r.Int32() // type, always 0
		req.scheme, req.auth = r.String(), r.Buffer()
	}
	return req, r.Err()
}

func decodeWrite(r *jute.Reader, op opcode) tree.Op {
	switch op {
	case opDelete:
		return tree.Op{Kind: tree.OpDelete, Path: r.String(), Version: r.Int32()}
	case opCheck:
		return tree.Op{Kind: tree.OpCheck, Path: r.String(), Version: r.Int32()}
	case opSetData:
		return tree.Op{Kind: tree.OpSetData, Path: r.String(), Data: bytes.Clone(r.Buffer()), Version: r.Int32()}
	case opSetACL:
		return tree.Op{Kind: tree.OpSetACL, Path: r.String(), ACL: tree.ReadACL(r), Version: r.Int32()}
	case opCreate, opCreate2, opCreateContainer, opCreateTTL:
		w := tree.Op{Kind: tree.OpCreate, Path: r.String(), Data: bytes.Clone(r.Buffer()), ACL: tree.ReadACL(r)}
		flags := r.Int32()
		mode, ok := tree.ParseMode(flags)
		if op == opCreateTTL {
			mode.TTLMs = r.Int64()
		}
		// A TTL mode without the TTL request has no time to live: the tree
		// refuses it as ZooKeeper does. Unknown flags go the same way.
		if !ok {
			mode = tree.Mode{TTL: true}
		}
		w.Mode = mode
		return w
	}
	r.Fail("operation %d is no write", op)
	return tree.Op{}
}

// decodeMulti reads operations up to the header that says done.
func decodeMulti(r *jute.Reader, reads bool) []multiOp {
	var ops []multiOp
	for r.Err() == nil {
		op := opcode(r.Int32())
		done := r.Bool()
		r.Int32() // error, −1
		if done || r.Err() != nil {
			break
		}
		switch {
		case !reads:
			ops = append(ops, multiOp{op: op, write: decodeWrite(r, op)})
		case op == opGetData || op == opGetChildren:
			m := multiOp{op: op, path: r.String()}
			r.Bool() // watch: multiRead sets none
			ops = append(ops, m)
		default:
			r.Fail("operation %d in a multiRead", op)
		}
	}
	return ops
}

func appendMultiHeader(w *jute.Writer, op opcode, done bool, err int32) {
	w.Int32(int32(op))
	w.Bool(done)
	w.Int32(err)
}

func appendMultiError(w *jute.Writer, code tree.Code) {
	appendMultiHeader(w, opError, false, int32(code))
	w.Int32(int32(code))
}
