package zkserver

import (
	"testing"
	"time"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
	"tidemark/internal/clock"
)

// executeFuzzed runs a request on a server without network or disk, and replays
// the transactions it made on a second tree, which must come out the same.
func executeFuzzed(t *testing.T, req request) {
	s := &Server{
		tree: tree.New(), expiry: tree.NewExpiry(1000),
		owners: map[int64]*conn{}, watchers: map[int64]*conn{},
	}
	s.o.Clock = clock.NewManual(time.Unix(1, 0))
	c := &conn{id: 1, session: 5, who: []tree.Identity{{Scheme: "ip", ID: "127.0.0.1"}}}
	s.watchers[1] = c
	s.record(s.tree.OpenSession(tree.Session{ID: 5, TimeoutMs: 1000}, 1))
	var w jute.Writer
	s.execute(c, req, &w)
	twin := tree.New()
	for _, txn := range s.txns {
		var log jute.Writer
		tree.AppendTxn(&log, txn)
		again, err := tree.ReadTxn(jute.NewReader(log.Bytes()))
		if err != nil {
			t.Fatalf("a transaction cannot be read back: %v", err)
		}
		if err := twin.Replay(again); err != nil {
			t.Fatalf("a transaction cannot be replayed: %v", err)
		}
	}
	if image(twin) != image(s.tree) {
		t.Fatal("the replayed tree differs")
	}
}
