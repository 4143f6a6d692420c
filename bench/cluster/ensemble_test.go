package cluster

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnsemble: one server of a list that listens is enough, and brokers are told the
// whole list, but through a mesh.
func TestEnsemble(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	dead, err := FreePorts(1)
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
	o := Options{Dir: t.TempDir(), Brokers: 1, Zookeeper: loopback(dead[0]) + ",nobody/lab"}
	if other, err := Start(t.Context(), o); err == nil {
		must(t, other.Down(false))
		t.Errorf("a cluster started with %+v", o)
	}
}

// TestMeshGivesEachBrokerAServer: of a list of servers each broker reaches one, in turn.
func TestMeshGivesEachBrokerAServer(t *testing.T) {
	var servers []string
	for i := range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close()
		servers = append(servers, l.Addr().String())
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte{byte('a' + i)}) // whoever connects reads who it is
				_ = conn.Close()
			}
		}()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	links := make(chan map[int32]string, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- ServeMesh(ctx, MeshOptions{Timeline: filepath.Join(t.TempDir(), timelineFile), Store: strings.Join(servers, ","),
			Brokers: []string{"1=127.0.0.1:0=127.0.0.1:1", "2=127.0.0.1:0=127.0.0.1:1", "3=127.0.0.1:0=127.0.0.1:1"}},
			func(r MeshReady) error { links <- r.Links; return nil })
	}()
	reached := <-links
	for id, want := range map[int32]string{1: "a", 2: "b", 3: "a"} {
		conn, err := net.Dial("tcp", reached[id])
		must(t, err)
		got, err := io.ReadAll(conn)
		if must(t, err); string(got) != want {
			t.Errorf("broker %d reached server %q, want %q", id, got, want)
		}
		_ = conn.Close()
	}
	cancel()
	must(t, <-ended)
}
