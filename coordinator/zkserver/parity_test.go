package zkserver

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tidemark/bench/cluster"
	"tidemark/internal/vfs"
)

// The golden files under testdata/parity are recorded from the real ZooKeeper
// (-rewrite, where it is installed). Both servers must give exactly that.
var rewrite = flag.Bool("rewrite", false, "record the golden files anew from the real ZooKeeper")

const installHint = "ZooKeeper is not installed; to install it: scripts/install-zookeeper.sh"

// startEmbedded runs our server with the tick of the parity tests.
func startEmbedded(t testing.TB, o Options) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.FS == nil {
		o.FS, o.Dir = vfs.NewMem(), "/zk"
	}
	s, err := Start(l, o)
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

// eachServer runs a test against both servers.
func eachServer(t *testing.T, test func(t *testing.T, addr string)) {
	t.Run("embedded", func(t *testing.T) {
		test(t, startEmbedded(t, Options{TickTime: 2 * time.Second, ReapInterval: 200 * time.Millisecond}).Addr().String())
	})
	t.Run("zookeeper", func(t *testing.T) { test(t, sharedZooKeeper(t)) })
}

func TestParity(t *testing.T) {
	files, err := filepath.Glob("testdata/parity/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("golden files: %v, error %v", files, err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			golden, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if *rewrite {
				got := newScript(t, sharedZooKeeper(t)).run(string(golden))
				clearNodes(t, sharedZooKeeper(t))
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				golden = []byte(got)
			}
			eachServer(t, func(t *testing.T, addr string) {
				got := newScript(t, addr).run(string(golden))
				if diff := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(got, "\n")); diff != "" {
					t.Errorf("answers differ from ZooKeeper's (-want +got):\n%s", diff)
				}
				clearNodes(t, addr)
			})
		})
	}
}

// clearNodes deletes all that a test left, since the real server is shared.
func clearNodes(t *testing.T, addr string) {
	t.Helper()
	c := newRawClient(t, addr)
	c.connect(6000)
	defer c.do(opClose, nil)
	deleteBelow(c, "/")
}

func deleteBelow(c *rawClient, path string) {
	_, r := c.do(opGetChildren, func(w *juteWriter) { w.String(path); w.Bool(false) })
	for _, name := range r.Strings() {
		child := strings.TrimSuffix(path, "/") + "/" + name
		if child == "/zookeeper" {
			continue
		}
		c.do(opSetACL, func(w *juteWriter) { w.String(child); fillACL(w, "open"); w.Int32(-1) })
		deleteBelow(c, child)
		c.do(opDelete, func(w *juteWriter) { w.String(child); w.Int32(-1) })
	}
}

// zooKeeper is the one real server of a test run.
var zooKeeper struct {
	once sync.Once
	addr string
	err  error
	stop func()
}

// sharedZooKeeper starts the real server once, or skips.
func sharedZooKeeper(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat(cluster.ZooKeeperScript); err != nil {
		t.Skip(installHint)
	}
	if testing.Short() {
		t.Skip("the real ZooKeeper needs a Java machine; not with -short")
	}
	zooKeeper.once.Do(func() {
		for range 3 { // somebody may take the port before it does
			if zooKeeper.addr, zooKeeper.stop, zooKeeper.err = launchZooKeeper(); zooKeeper.err == nil {
				return
			}
		}
	})
	if zooKeeper.err != nil {
		t.Fatalf("start ZooKeeper: %v", zooKeeper.err)
	}
	return zooKeeper.addr
}

// stopZooKeeper ends what sharedZooKeeper started.
func stopZooKeeper() {
	if zooKeeper.stop != nil {
		zooKeeper.stop()
	}
}

func launchZooKeeper() (addr string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "zookeeper")
	if err != nil {
		return "", nil, err
	}
	ports, err := cluster.FreePorts(1)
	if err != nil {
		return "", nil, err
	}
	addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	env, args, err := cluster.ZooKeeperCommand(dir, ports[0], 2*time.Second)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command(cluster.ZooKeeperScript, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return "", nil, err
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // killed, or its output says why
		close(ended)
	}()
	stop = func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		<-ended
		out.Close()
		os.RemoveAll(dir)
	}
	if err := awaitServer(addr, ended); err != nil {
		text, _ := os.ReadFile(out.Name())
		stop()
		return "", nil, fmt.Errorf("%w; it said:\n%s", err, text)
	}
	return addr, stop, nil
}

// awaitServer asks until the server says that it serves; it says imok earlier. While it
// starts it may take a word and never answer: it is asked anew.
func awaitServer(addr string, ended <-chan struct{}) error {
	var last error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		answer, err := fourLetterWord(addr, "srvr", time.Second)
		if err == nil && strings.Contains(answer, "Mode: standalone") {
			return nil
		}
		last = err
		select {
		case <-ended:
			return errors.Join(errors.New("it ended"), last)
		case <-time.After(50 * time.Millisecond): // another process: nothing to wait on
		}
	}
	return errors.Join(errors.New("it does not serve"), last)
}
