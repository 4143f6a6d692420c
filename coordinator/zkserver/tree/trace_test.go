package tree

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"tidemark/internal/golden"
)

// TestTrace runs the commands of testdata/trace.txt; what is indented below one
// is what it did: results, the transaction, events for others.
func TestTrace(t *testing.T) {
	const path = "testdata/trace.txt"
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tr := New()
	var out strings.Builder
	clock := int64(0)
	for _, line := range strings.Split(strings.TrimSuffix(string(script), "\n"), "\n") {
		if strings.HasPrefix(line, "  ") {
			continue
		}
		fmt.Fprintln(&out, line)
		if line != "" && line[0] != '#' {
			clock++
			for _, l := range traceCommand(t, tr, strings.Fields(line), clock) {
				fmt.Fprintln(&out, "  "+l)
			}
		}
	}
	golden.Check(t, path, out.String())
}

func traceCommand(t *testing.T, tr *Tree, words []string, now int64) []string {
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch words[0] {
	case "open":
		return traceTxn(tr.OpenSession(Session{ID: number(words[1]), TimeoutMs: int32(number(words[2]))}, now), nil)
	case "close":
		txn, events, _ := tr.CloseSession(number(words[1]), now)
		return traceTxn(txn, events)
	case "watch":
		watcher := number(words[3])
		switch words[1] {
		case "data":
			tr.WatchData(words[2], watcher)
		case "children":
			tr.WatchChildren(words[2], watcher)
		case "persistent":
			tr.AddWatch(words[2], watcher, Persistent)
		case "recursive":
			tr.AddWatch(words[2], watcher, Recursive)
		}
		return nil
	case "unwatch":
		return []string{tr.RemoveWatch(words[1], number(words[2]), AnyWatcher).String()}
	case "forget":
		tr.Forget(number(words[1]))
		return []string{fmt.Sprintf("%d watches are left", tr.WatchCount())}
	case "reap":
		return []string{fmt.Sprintf("due: %v", tr.Reapable(number(words[1])))}
	case "stat":
		stat, code := tr.Exists(words[1])
		return []string{fmt.Sprintf("%v %+v", code, stat)}
	}
	r := Request{Session: number(words[1]), TimeMs: now}
	for _, part := range strings.Split(strings.Join(words[2:], " "), " ; ") {
		r.Ops = append(r.Ops, traceOp(strings.Fields(part)))
	}
	if r.Ops[0].Kind == OpReap {
		r.TimeMs = 100
	}
	o := tr.Write(r)
	var results []string
	for _, res := range o.Results {
		results = append(results, strings.TrimSpace(res.Code.String()+" "+res.Path))
	}
	return append([]string{strings.Join(results, ", ")}, traceTxn(o.Txn, o.Events)...)
}

func traceOp(words []string) Op {
	last := words[len(words)-1]
	version, _ := strconv.ParseInt(last, 10, 32)
	op := Op{Path: words[1], Version: int32(version), ACL: openACL}
	switch words[0] {
	case "create":
		op.Kind, op.Data = OpCreate, []byte(words[2])
		op.Mode = Mode{Ephemeral: last == "ephemeral", Sequential: last == "sequential", Container: last == "container"}
		if ttl, ok := strings.CutPrefix(last, "ttl="); ok {
			op.Mode.TTL = true
			op.Mode.TTLMs, _ = strconv.ParseInt(ttl, 10, 64)
		}
	case "set":
		op.Kind, op.Data = OpSetData, []byte(words[2])
	case "delete":
		op.Kind = OpDelete
	case "check":
		op.Kind = OpCheck
	case "reap":
		op.Kind = OpReap
	}
	return op
}

func traceTxn(txn Txn, events []Event) []string {
	var out []string
	for _, c := range txn.Changes {
		kind := map[ChangeKind]string{NodeCreated: "created", NodeDeleted: "deleted", DataSet: "set", SessionOpened: "opened", SessionClosed: "closed"}[c.Kind]
		subject := c.Path
		if subject == "" {
			subject = strconv.FormatInt(c.Session.ID, 10)
		}
		out = append(out, fmt.Sprintf("zxid %d: %s %s", txn.Zxid, kind, subject))
	}
	for _, e := range events {
		kind := map[EventType]string{EventCreated: "created", EventDeleted: "deleted", EventDataChanged: "changed", EventChildrenChanged: "children"}[e.Type]
		out = append(out, fmt.Sprintf("tell %d: %s %s", e.Watcher, kind, e.Path))
	}
	return out
}
