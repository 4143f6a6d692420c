package znode

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"tidemark/coordinator/zkserver"
	"tidemark/internal/vfs"
)

// startServer runs an embedded server whose sessions last from 0.6 to 6 s.
func startServer(t testing.TB) *zkserver.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := zkserver.Start(l, zkserver.Options{FS: vfs.NewMem(), Dir: "/zk", TickTime: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return s
}

// patience bounds what a test waits for; only what is broken takes so long.
const patience = 2 * time.Minute

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func connect(t testing.TB, s *zkserver.Server, o Options) *Client {
	t.Helper()
	o.Servers = []string{s.Addr().String()}
	if o.SessionTimeout == 0 {
		o.SessionTimeout = 6 * time.Second
	}
	c, err := Connect(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if err := c.EnsureLayout(testContext(t)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClusterIDIsMadeOnce(t *testing.T) {
	s := startServer(t)
	ctx := testContext(t)
	first, err := connect(t, s, Options{}).ClusterID(ctx)
	if err != nil || len(first) != 22 {
		t.Fatalf("cluster id %q, error %v; want 22 characters", first, err)
	}
	second, err := connect(t, s, Options{}).ClusterID(ctx)
	if err != nil || second != first {
		t.Errorf("second client reads %q, error %v; want %q", second, err, first)
	}
	other, err := connect(t, s, Options{Chroot: "/kafka/test"}).ClusterID(ctx)
	if err != nil || other == first {
		t.Errorf("below a chroot: id %q, error %v; want another cluster's", other, err)
	}
}

func TestBadChroot(t *testing.T) {
	for _, chroot := range []string{"kafka", "/kafka/", "/a//b", "/a/../b", "/a\x00"} {
		if _, err := Connect(testContext(t), Options{Servers: []string{"127.0.0.1:1"}, Chroot: chroot}); !errors.Is(err, ErrChroot) {
			t.Errorf("chroot %q: error %v, want ErrChroot", chroot, err)
		}
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Connect(ctx, Options{Servers: []string{"127.0.0.1:1"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("no server and no time: error %v, want the context's", err)
	}
}
