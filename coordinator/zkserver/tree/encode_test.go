package tree

import (
	"bytes"
	"testing"

	"tidemark/coordinator/zkserver/jute"
)

func seedTree() (*Tree, []Txn) {
	t := New()
	txns := []Txn{t.OpenSession(Session{ID: 7, TimeoutMs: 4000, Password: [16]byte{1}}, 1)}
	for _, op := range []Op{
		{Kind: OpCreate, Path: "/a", Data: []byte("x"), ACL: []ACL{{1, "ip", "10.0.0.0/8"}, {31, "world", "anyone"}}},
		{Kind: OpCreate, Path: "/a/e", Mode: Mode{Ephemeral: true}, ACL: openACL},
		{Kind: OpCreate, Path: "/c", Mode: Mode{Container: true}, ACL: openACL},
		{Kind: OpCreate, Path: "/t", Mode: Mode{TTL: true, TTLMs: 9}, ACL: openACL},
		{Kind: OpSetData, Path: "/a", Version: -1},
		{Kind: OpSetACL, Path: "/a", ACL: openACL, Version: -1},
	} {
		out := t.Write(Request{Session: 7, TimeMs: 2, Ops: []Op{op}})
		txns = append(txns, out.Txn)
	}
	txn, _, _ := t.CloseSession(7, 3)
	return t, append(txns, txn)
}

// FuzzTxn: what can be read can be written back to the same bytes or fewer, and
// replaying it neither panics nor leaves a tree that a snapshot cannot carry.
func FuzzTxn(f *testing.F) {
	_, txns := seedTree()
	for _, txn := range txns {
		var w jute.Writer
		AppendTxn(&w, txn)
		f.Add(w.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		txn, err := ReadTxn(jute.NewReader(data))
		if err != nil {
			return
		}
		tr := New()
		tr.zxid = txn.Zxid - 1
		if tr.Replay(txn) != nil {
			return
		}
		again, err := ReadSnapshot(jute.NewReader(snapshot(tr)))
		if err != nil {
			t.Fatalf("the tree after %+v cannot be read back: %v", txn, err)
		}
		if !bytes.Equal(snapshot(again), snapshot(tr)) {
			t.Fatal("the tree that was read back differs")
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	t, _ := seedTree()
	f.Add(snapshot(t))
	f.Add(snapshot(New()))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := ReadSnapshot(jute.NewReader(data))
		if err != nil {
			return
		}
		again, err := ReadSnapshot(jute.NewReader(snapshot(tr)))
		if err != nil || !bytes.Equal(snapshot(again), snapshot(tr)) {
			t.Fatalf("a tree that was read cannot be written and read again: %v", err)
		}
		// It must also bear being used.
		for _, path := range tr.Reapable(1 << 50) {
			tr.Write(Request{TimeMs: 1 << 50, Ops: []Op{{Kind: OpReap, Path: path}}})
		}
		for _, s := range tr.Sessions() {
			tr.CloseSession(s.ID, 1)
		}
	})
}
