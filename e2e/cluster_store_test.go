package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"tidemark/bench/cluster"
	"tidemark/bench/process"
)

// zooKeeper is one server of Apache ZooKeeper.
type zooKeeper struct {
	Address string
	dir     string
	env     []string
	args    []string
	id      process.ID
}

// newZooKeeper makes a server's files; more is added to its configuration.
func newZooKeeper(t *testing.T, port int, more string) *zooKeeper {
	t.Helper()
	need(t, cluster.ZooKeeperScript, "scripts/install-zookeeper.sh")
	z := &zooKeeper{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), dir: t.TempDir()}
	var err error
	if z.env, z.args, err = cluster.ZooKeeperCommand(z.dir, port, 500*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(filepath.Join(z.dir, "zoo.cfg"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(more); err != nil {
		t.Fatal(err)
	}
	return z
}

// start runs the server; it may not serve yet.
func (z *zooKeeper) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(z.dir, "process.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Start(process.Options{Program: cluster.ZooKeeperScript, Args: z.args, Env: z.env, Stderr: log})
	if err != nil {
		t.Fatal(err)
	}
	if z.id, err = process.Identify(child.Pid, z.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.kill(t) })
}

func (z *zooKeeper) kill(t *testing.T) {
	t.Helper()
	if _, err := z.id.Signal(9); err != nil {
		t.Error(err)
	}
	eventually(t, "ZooKeeper is gone", func() bool { return z.id.State() == process.Gone })
}

// mode is what the server says it is: standalone, leader, follower, or nothing.
func (z *zooKeeper) mode() string {
	for _, s := range serverStats(z.Address) {
		if mode, ok := strings.CutPrefix(s, "Mode: "); ok {
			return mode
		}
	}
	return ""
}

func serverStats(address string) []string {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return nil
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Second)) // an answer that does not come is none
	if _, err := c.Write([]byte("srvr")); err != nil {
		return nil
	}
	answer := make([]byte, 4096)
	n := 0
	for {
		read, err := c.Read(answer[n:])
		n += read
		if err != nil || n == len(answer) {
			return strings.Split(string(answer[:n]), "\n")
		}
	}
}

// ensembleWithDeadServer is a store of which one server of three is never there, and
// a path below which everything is kept.
func ensembleWithDeadServer(t *testing.T) string {
	t.Helper()
	z := newZooKeeper(t, quietPort(t), "")
	z.start(t)
	eventually(t, "ZooKeeper serves", func() bool { return z.mode() == "standalone" })
	nobody := net.JoinHostPort("127.0.0.1", strconv.Itoa(quietPort(t)))
	return fmt.Sprintf("%s,%s,%[2]s/lab/one", nobody, z.Address)
}

// dialStore connects go-zookeeper to a rig's store; path puts the chroot in front.
func dialStore(t *testing.T, r *rig) (conn *zk.Conn, path func(string) string) {
	t.Helper()
	servers, chroot := r.Store, ""
	if i := strings.IndexByte(servers, '/'); i >= 0 {
		servers, chroot = servers[:i], servers[i:]
	}
	return dialServers(t, strings.Split(servers, ",")...), func(p string) string { return chroot + p }
}

// dialServers connects to one of some servers; closed when the test ends, or before.
func dialServers(t *testing.T, servers ...string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(servers, 10*time.Second, zk.WithLogger(mute{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// mute is a logger of go-zookeeper.
type mute struct{}

func (mute) Printf(string, ...any) {}
