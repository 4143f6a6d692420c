package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"tidemark/bench/chaos"
	"tidemark/bench/cluster"
	"tidemark/bench/fault/proxy"
)

// newEnsemble starts three servers of Apache ZooKeeper that know each other. What the
// first one learns comes by links.
func newEnsemble(t *testing.T, link func(address string) string) (servers []*zooKeeper) {
	t.Helper()
	const limits = "initLimit=20\nsyncLimit=10\n"
	members, ofFirst := limits, limits
	for id := 1; id <= 3; id++ {
		peers, elections := quietPort(t), quietPort(t)
		address := fmt.Sprintf("127.0.0.1:%d", peers)
		members += fmt.Sprintf("server.%d=%s:%d\n", id, address, elections)
		if id > 1 {
			address = link(address)
		}
		ofFirst += fmt.Sprintf("server.%d=%s:%d\n", id, address, elections)
	}
	for id := 1; id <= 3; id++ {
		config := members
		if id == 1 {
			config = ofFirst
		}
		z := newZooKeeper(t, quietPort(t), config)
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

// straight is a link that nothing is in the way of.
func straight(address string) string { return address }

func addressesOf(servers []*zooKeeper) string {
	var addresses []string
	for _, z := range servers {
		addresses = append(addresses, z.Address)
	}
	return strings.Join(addresses, ",")
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
		t.Skip("three Java machines: make test-full runs it")
	}
	servers := newEnsemble(t, straight)
	r := startRig(t, addressesOf(servers)+"/ensemble", "zookeeper.session.timeout.ms=10000")
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

// behind is how far the first server of a lagging ensemble is behind the others.
const behind = 600 * time.Millisecond

// newLaggingEnsemble is newEnsemble with a first server that hears everything late.
func newLaggingEnsemble(t *testing.T) []*zooKeeper {
	t.Helper()
	mesh := proxy.New(1)
	t.Cleanup(func() {
		if err := mesh.Close(); err != nil {
			t.Error(err)
		}
	})
	const follower = proxy.Name("follower")
	var leaders []proxy.Name
	servers := newEnsemble(t, func(address string) string {
		name := proxy.Name(address)
		leaders = append(leaders, name)
		mesh.Target(name, address)
		l, err := mesh.Listen("127.0.0.1:0", name, func(netip.Addr) proxy.Name { return follower })
		if err != nil {
			t.Fatal(err)
		}
		return l.String()
	})
	for _, name := range leaders {
		must(t, mesh.Set(proxy.Rule{Delay: behind}, 0, proxy.Flow{From: name, To: follower}))
	}
	if mode := servers[0].mode(); mode != "follower" {
		t.Fatalf("the server that is to lag is %s", mode)
	}
	return servers
}

// lag is how much later the first server shows what was written through the last.
func lag(t *testing.T, servers []*zooKeeper) time.Duration {
	t.Helper()
	writer, reader := dialServers(t, servers[2].Address), dialServers(t, servers[0].Address)
	if _, err := writer.Create("/lag", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	written := time.Now()
	eventually(t, "the server that lags has it", func() bool {
		found, _, err := reader.Exists("/lag")
		return err == nil && found
	})
	return time.Since(written)
}

// TestChaosClusterLaggingStore does rounds of faults where one broker, which begins as
// the controller, talks to a server of the ensemble that is behind the others, and
// leaders write the in-sync sets themselves (C10): what it reads is old, and decides
// nothing that is not so any more.
func TestChaosClusterLaggingStore(t *testing.T) {
	if os.Getenv("TIDEMARK_FULL") != "1" {
		t.Skip("three Java machines: make test-full runs it")
	}
	servers := newLaggingEnsemble(t)
	if late := lag(t, servers); late < behind/2 {
		t.Fatalf("the server that is to lag is %v behind, want %v: the run is invalid", late, behind)
	}
	r := openChaos(t, cluster.Options{Zookeeper: addressesOf(servers) + "/lagging"}, "isr.update=zookeeper", "zookeeper.connection.timeout.ms=60000")
	const lagging = 1
	for _, other := range r.Others(lagging) { // else they are faster
		must(t, r.Stop(other))
	}
	eventually(t, "the broker whose server lags is the controller", func() bool {
		office, err := r.ControllerOf(t.Context(), lagging)
		return err == nil && office == lagging
	})
	for _, other := range r.Others(lagging) {
		must(t, r.Restart(t.Context(), other))
	}
	random := rand.New(rand.NewPCG(10, 10))
	var kinds []chaos.Kind
	for _, name := range []string{"kill -9 the leader", "kill -9 the follower", "cut from the other brokers the leader", "pause the leader",
		"cut from ZooKeeper the controller", "kill -9 the controller", "cut from brokers and ZooKeeper the leader", "kill -9 and restart at once the leader"} {
		kinds = append(kinds, kindOf(t, name))
	}
	rounds(t, r, random, kinds)
}
