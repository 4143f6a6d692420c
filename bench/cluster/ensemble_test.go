package cluster

import (
	"net"
	"strings"
	"testing"
)

// TestEnsemble: one server of a list that listens is enough, brokers are told the
// whole list, and a mesh, which stands before one server, takes none.
func TestEnsemble(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	dead, err := freePorts(1)
	must(t, err)
	list := loopback(dead[0]) + "," + l.Addr().String()
	c := start(t, Options{Dir: t.TempDir(), Brokers: 1, Zookeeper: list + "/lab/one"})
	s := stateOf(t, c)
	if s.Connect != list || s.Chroot != "/lab/one" {
		t.Errorf("brokers connect to %q below %q", s.Connect, s.Chroot)
	}
	if args := strings.Join(c.brokerArgs(s, &s.Brokers[0]), " "); !strings.Contains(args, "zookeeper.connect="+list+"/lab/one") {
		t.Errorf("the broker's arguments are %s", args)
	}
	for _, o := range []Options{{Zookeeper: list, Proxy: true}, {Zookeeper: loopback(dead[0]) + ",nobody/lab"}} {
		o.Dir, o.Brokers = t.TempDir(), 1
		if other, err := Start(t.Context(), o); err == nil {
			must(t, other.Down(false))
			t.Errorf("a cluster started with %+v", o)
		}
	}
}
