package zkserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
)

// script runs the commands of a golden file against a server. A command is
//
//	CLIENT OPERATION ARGUMENT …
//
// and what is printed below it is what came back. Zxids, times and session ids
// differ from run to run, so a Stat shows only how they relate.
type script struct {
	t       testing.TB
	addr    string
	clients map[string]*rawClient
}

func newScript(t testing.TB, addr string) *script {
	return &script{t: t, addr: addr, clients: map[string]*rawClient{}}
}

// run returns the golden file anew: every command followed by its output.
func (s *script) run(text string) string {
	var out strings.Builder
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue // output of the run before
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, result := range s.command(strings.Fields(line)) {
			out.WriteString("  " + result + "\n")
		}
	}
	return out.String()
}

func (s *script) command(words []string) []string {
	c := s.clients[words[0]]
	if c == nil {
		c = newRawClient(s.t, s.addr)
		s.clients[words[0]] = c
	}
	arg := func(i int) string {
		if i+1 < len(words) {
			return words[i+1]
		}
		return ""
	}
	switch words[1] {
	case "connect": // milliseconds
		if !c.connect(number(arg(1))) {
			return []string{"expired"}
		}
		return []string{fmt.Sprintf("timeout %d", c.timeout)}
	case "forge": // take the session up with a wrong password
		password := c.password
		c.password = make([]byte, 16)
		ok := c.connect(number(arg(1)))
		c.password = password
		return []string{fmt.Sprintf("accepted %v", ok)}
	case "drop":
		c.drop()
		return nil
	case "events":
		// A round trip brings what was sent before it.
		c.do(opPing, nil)
		events := c.events
		c.events = nil
		if len(events) == 0 {
			return []string{"none"}
		}
		return events
	}
	return s.request(c, words[1], words[2:])
}

func number(s string) int32 {
	n, err := strconv.ParseInt(s, 0, 32)
	if err != nil {
		return -1
	}
	return int32(n)
}

// value turns an argument into data: "-" is null, "”" is empty.
func value(s string) []byte {
	switch s {
	case "-", "":
		return nil
	case "''":
		return []byte{}
	}
	return []byte(s)
}

func text(b []byte) string {
	if b == nil {
		return "null"
	}
	return strconv.Quote(string(b))
}

// fillACL reads "world:anyone:31,digest:u:hash:1"; "open" is everybody's.
func fillACL(w *jute.Writer, s string) {
	if s == "open" || s == "" {
		s = "world:anyone:31"
	}
	var acl []tree.ACL
	if s != "none" {
		for _, part := range strings.Split(s, ",") {
			scheme, rest, _ := strings.Cut(part, ":")
			i := strings.LastIndexByte(rest, ':')
			acl = append(acl, tree.ACL{Perms: number(rest[i+1:]), Scheme: scheme, ID: rest[:i]})
		}
	}
	tree.AppendACL(w, acl)
}

func fillWrite(w *jute.Writer, op opcode, args []string) {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	w.String(arg(0))
	switch op {
	case opCreate, opCreate2, opCreateContainer, opCreateTTL: // path data flags acl ttl
		w.Buffer(value(arg(1)))
		fillACL(w, arg(3))
		w.Int32(number(arg(2)))
		if op == opCreateTTL {
			ttl, _ := strconv.ParseInt(arg(4), 10, 64)
			w.Int64(ttl)
		}
	case opDelete, opCheck: // path version
		w.Int32(number(arg(1)))
	case opSetData: // path data version
		w.Buffer(value(arg(1)))
		w.Int32(number(arg(2)))
	case opSetACL: // path acl version
		fillACL(w, arg(1))
		w.Int32(number(arg(2)))
	}
}

var writeOps = map[string]opcode{
	"create": opCreate, "create2": opCreate2, "container": opCreateContainer, "ttl": opCreateTTL,
	"delete": opDelete, "set": opSetData, "setacl": opSetACL, "check": opCheck,
}

var readOps = map[string]opcode{
	"exists": opExists, "get": opGetData, "children": opGetChildren, "children2": opGetChildren2,
	"getacl": opGetACL, "sync": opSync, "ephemerals": opGetEphemerals, "count": opCountBelow,
}

// request sends one request and prints its reply.
func (s *script) request(c *rawClient, name string, args []string) []string {
	if op, ok := writeOps[name]; ok {
		code, r := c.do(op, func(w *jute.Writer) { fillWrite(w, op, args) })
		return reply(code, r, op)
	}
	if op, ok := readOps[name]; ok { // path [watch]
		code, r := c.do(op, func(w *jute.Writer) {
			w.String(args[0])
			if op == opExists || op == opGetData || op == opGetChildren || op == opGetChildren2 {
				w.Bool(len(args) > 1)
			}
		})
		return reply(code, r, op)
	}
	switch name {
	case "multi":
		code, r := c.do(opMulti, func(w *jute.Writer) { fillMulti(w, args) })
		return replyMulti(code, r)
	case "multiread":
		code, r := c.do(opMultiRead, func(w *jute.Writer) { fillMulti(w, args) })
		return replyMulti(code, r)
	case "addwatch", "checkwatches", "removewatches": // path mode-or-type
		op := map[string]opcode{"addwatch": opAddWatch, "checkwatches": opCheckWatches, "removewatches": opRemoveWatches}[name]
		code, r := c.do(op, func(w *jute.Writer) {
			w.String(args[0])
			w.Int32(number(args[1]))
		})
		return reply(code, r, op)
	case "auth": // scheme credentials; a refusal ends the connection
		code, r := c.do(opAuth, func(w *jute.Writer) {
			w.Int32(0)
			w.String(args[0])
			w.Buffer(value(args[1]))
		})
		return reply(code, r, opAuth)
	case "whoami", "ping", "close":
		op := map[string]opcode{"whoami": opWhoAmI, "ping": opPing, "close": opClose}[name]
		code, r := c.do(op, nil)
		return reply(code, r, op)
	case "rearm": // seen|all data exist child persistent recursive, each path or -
		code, r := c.do(opSetWatches2, func(w *jute.Writer) {
			seen := c.zxid
			if args[0] == "all" {
				seen = 0
			}
			w.Int64(seen)
			for i := 1; i <= 5; i++ {
				var paths []string
				if i < len(args) && args[i] != "-" {
					paths = strings.Split(args[i], ",")
				}
				w.Strings(paths)
			}
		})
		return reply(code, r, opSetWatches2)
	}
	s.t.Fatalf("unknown operation %q", name)
	return nil
}

// fillMulti reads operations separated by ";".
func fillMulti(w *jute.Writer, args []string) {
	for len(args) > 0 {
		end := slices.Index(args, ";")
		if end < 0 {
			end = len(args)
		}
		part := args[:end]
		args = args[min(end+1, len(args)):]
		op, ok := writeOps[part[0]]
		if !ok {
			op = readOps[part[0]]
		}
		appendMultiHeader(w, op, false, -1)
		if ok {
			fillWrite(w, op, part[1:])
			continue
		}
		w.String(part[1])
		w.Bool(false)
	}
	appendMultiHeader(w, opError, true, -1)
}

func reply(code tree.Code, r *jute.Reader, op opcode) []string {
	if code != tree.OK {
		return []string{code.String()}
	}
	out := body(r, op)
	if r.Err() != nil || r.Len() > 0 {
		out = append(out, fmt.Sprintf("reply: error %v, %d bytes left", r.Err(), r.Len()))
	}
	if len(out) == 0 {
		return []string{"OK"}
	}
	return out
}

func body(r *jute.Reader, op opcode) []string {
	switch op {
	case opCreate, opSync:
		return []string{r.String()}
	case opCreate2, opCreateContainer, opCreateTTL:
		return []string{r.String(), stat(readStat(r))}
	case opSetData, opSetACL, opExists:
		return []string{stat(readStat(r))}
	case opGetData:
		return []string{text(r.Buffer()), stat(readStat(r))}
	case opGetChildren:
		return []string{names(r)}
	case opGetChildren2:
		return []string{names(r), stat(readStat(r))}
	case opGetACL:
		return []string{fmt.Sprint(tree.ReadACL(r)), stat(readStat(r))}
	case opGetEphemerals:
		return []string{names(r)}
	case opCountBelow:
		return []string{fmt.Sprint(r.Int32())}
	case opAddWatch:
		return []string{fmt.Sprintf("error %d", r.Int32())}
	case opWhoAmI:
		var who []string
		for range r.Count(8) {
			scheme, id := r.String(), r.String()
			if scheme == "ip" {
				id = "127.0.0.1"
			}
			who = append(who, scheme+":"+id)
		}
		return []string{strings.Join(who, " ")}
	}
	return nil
}

func replyMulti(code tree.Code, r *jute.Reader) []string {
	if code != tree.OK {
		return []string{code.String()}
	}
	var out []string
	for r.Err() == nil {
		op, done, err := opcode(r.Int32()), r.Bool(), r.Int32()
		if done {
			break
		}
		if op == opError {
			if again := r.Int32(); again != err {
				out = append(out, fmt.Sprintf("header says %d, body %d", err, again))
			}
			out = append(out, fmt.Sprintf("error %v", tree.Code(err)))
			continue
		}
		out = append(out, fmt.Sprintf("op %d %s", op, strings.Join(body(r, op), " ")))
	}
	if r.Err() != nil || r.Len() > 0 {
		out = append(out, fmt.Sprintf("reply: error %v, %d bytes left", r.Err(), r.Len()))
	}
	return out
}

// names prints a list in order: ZooKeeper's own order is that of a hash set.
func names(r *jute.Reader) string {
	list := r.Strings()
	slices.Sort(list)
	return "[" + strings.Join(list, " ") + "]"
}

func stat(s tree.Stat) string {
	owner := "none"
	if s.EphemeralOwner != 0 {
		owner = "session"
	}
	relation := func(a, b int64) string {
		switch {
		case a < b:
			return "<"
		case a > b:
			return ">"
		}
		return "="
	}
	return fmt.Sprintf("version %d cversion %d aversion %d length %d children %d owner %s, czxid %s mzxid, czxid %s pzxid",
		s.Version, s.Cversion, s.Aversion, s.DataLength, s.NumChildren, owner,
		relation(s.Czxid, s.Mzxid), relation(s.Czxid, s.Pzxid))
}
