package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newEnsemble starts three servers of Apache ZooKeeper that know each other.
func newEnsemble(t *testing.T) (servers []*zooKeeper) {
	t.Helper()
	var members strings.Builder
	members.WriteString("initLimit=20\nsyncLimit=10\n")
	for id := 1; id <= 3; id++ {
		fmt.Fprintf(&members, "server.%d=127.0.0.1:%d:%d\n", id, quietPort(t), quietPort(t))
	}
	for id := 1; id <= 3; id++ {
		z := newZooKeeper(t, quietPort(t), members.String())
		data := filepath.Join(z.dir, "data")
		if err := os.MkdirAll(data, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, "myid"), fmt.Append(nil, id), 0o666); err != nil {
			t.Fatal(err)
		}
		servers = append(servers, z)
	}
	for _, z := range servers {
		z.start(t)
	}
	awaitEnsemble(t, servers...)
	return servers
}

// awaitEnsemble waits until each of the servers follows or leads.
func awaitEnsemble(t *testing.T, servers ...*zooKeeper) {
	t.Helper()
	eventually(t, "the ensemble serves", func() bool {
		return !slices.ContainsFunc(servers, func(z *zooKeeper) bool { return z.mode() != "leader" && z.mode() != "follower" })
	})
}

// TestClusterOnAnEnsemble kills each server of a real ensemble of three in turn, its
// leader last, while a producer writes: no session ends, nobody loses office, and not
// a record or an answer is lost (fault C18).
func TestClusterOnAnEnsemble(t *testing.T) {
	if os.Getenv("TIDEMARK_FULL") != "1" {
		t.Skip("three Java machines; TIDEMARK_FULL=1 runs it")
	}
	servers := newEnsemble(t)
	var addresses []string
	for _, z := range servers {
		addresses = append(addresses, z.Address)
	}
	r := startRig(t, strings.Join(addresses, ",")+"/ensemble", "zookeeper.session.timeout.ms=10000")
	r.create(t, "steady", 3, 3)
	epochs := func() (all []string) {
		t.Helper()
		conn, path := dialStore(t, r)
		defer conn.Close()
		for _, p := range []string{"/controller_epoch", "/controller"} {
			data, _, err := conn.Get(path(p))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(data))
		}
		for p := range int32(3) {
			all = append(all, fmt.Sprint(r.partition(t, "steady", p).LeaderEpoch))
		}
		return all
	}
	before := epochs()
	s := startStream(t, r, "steady", 3)
	slices.SortFunc(servers, func(a, b *zooKeeper) int { return strings.Compare(a.mode(), b.mode()) }) // "follower" is before "leader"
	for _, z := range servers {
		z.kill(t)
		s.awaitMore(t, 200)
		z.start(t)
		awaitEnsemble(t, servers...)
		s.awaitMore(t, 200)
	}
	if after := epochs(); !slices.Equal(after, before) {
		t.Errorf("offices and leader epochs are %v, were %v: a session has ended", after, before)
	}
	s.end(t, r)
	r.create(t, "after", 3, 3)
	r.awaitInSync(t, "after", 3)
}
