package zkserver

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// dialLibrary opens a session of the client library.
func dialLibrary(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect([]string{addr}, 6*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	go func() {
		for range events {
		}
	}()
	t.Cleanup(conn.Close)
	return conn
}

func awaitEvent(t *testing.T, events <-chan zk.Event, want zk.EventType) {
	t.Helper()
	select {
	case ev := <-events:
		if ev.Type != want {
			t.Errorf("event %v, want %v", ev.Type, want)
		}
	case <-time.After(patience):
		t.Errorf("no event, want %v", want)
	}
}

// TestClientLibrary runs every operation of go-zookeeper/zk against both servers.
func TestClientLibrary(t *testing.T) {
	eachServer(t, func(t *testing.T, addr string) {
		defer clearNodes(t, addr)
		for _, c := range libraryCases {
			t.Run(c.name, func(t *testing.T) { c.run(t, addr) })
		}
	})
}

var open31 = zk.WorldACL(zk.PermAll)

var libraryCases = []struct {
	name string
	run  func(t *testing.T, addr string)
}{
	{"create, get, set, exists, children, delete", func(t *testing.T, addr string) {
		c := dialLibrary(t, addr)
		if path, err := c.Create("/lib", []byte("a"), zk.FlagPersistent, open31); err != nil || path != "/lib" {
			t.Fatalf("create: %q, %v", path, err)
		}
		if _, err := c.Create("/lib", nil, 0, open31); !errors.Is(err, zk.ErrNodeExists) {
			t.Errorf("create again: %v", err)
		}
		data, stat, err := c.Get("/lib")
		if err != nil || string(data) != "a" || stat.Version != 0 {
			t.Errorf("get: %q %+v %v", data, stat, err)
		}
		if stat, err := c.Set("/lib", []byte("bb"), 0); err != nil || stat.Version != 1 || stat.DataLength != 2 {
			t.Errorf("set: %+v %v", stat, err)
		}
		if _, err := c.Set("/lib", nil, 0); !errors.Is(err, zk.ErrBadVersion) {
			t.Errorf("set at an old version: %v", err)
		}
		for _, name := range []string{"x", "y"} {
			if _, err := c.Create("/lib/"+name, nil, 0, open31); err != nil {
				t.Fatal(err)
			}
		}
		names, stat, err := c.Children("/lib")
		slices.Sort(names)
		if err != nil || !slices.Equal(names, []string{"x", "y"}) || stat.NumChildren != 2 {
			t.Errorf("children: %v %+v %v", names, stat, err)
		}
		if err := c.Delete("/lib", -1); !errors.Is(err, zk.ErrNotEmpty) {
			t.Errorf("delete with children: %v", err)
		}
		for _, path := range []string{"/lib/x", "/lib/y", "/lib"} {
			if err := c.Delete(path, -1); err != nil {
				t.Errorf("delete %s: %v", path, err)
			}
		}
		if found, _, err := c.Exists("/lib"); found || err != nil {
			t.Errorf("exists after delete: %v %v", found, err)
		}
		if path, err := c.Sync("/"); err != nil || path != "/" {
			t.Errorf("sync: %q %v", path, err)
		}
	}},
	{"watches", func(t *testing.T, addr string) {
		c, other := dialLibrary(t, addr), dialLibrary(t, addr)
		_, _, created, err := c.ExistsW("/watched")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Create("/watched", nil, 0, open31); err != nil {
			t.Fatal(err)
		}
		awaitEvent(t, created, zk.EventNodeCreated)
		_, _, changed, err := c.GetW("/watched")
		if err != nil {
			t.Fatal(err)
		}
		_, _, children, err := c.ChildrenW("/watched")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Set("/watched", []byte("x"), -1); err != nil {
			t.Fatal(err)
		}
		awaitEvent(t, changed, zk.EventNodeDataChanged)
		if _, err := other.Create("/watched/c", nil, 0, open31); err != nil {
			t.Fatal(err)
		}
		awaitEvent(t, children, zk.EventNodeChildrenChanged)
		_, _, gone, err := c.ExistsW("/watched/c")
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Delete("/watched/c", -1); err != nil {
			t.Fatal(err)
		}
		awaitEvent(t, gone, zk.EventNodeDeleted)
	}},
	{"modes", func(t *testing.T, addr string) {
		c := dialLibrary(t, addr)
		if _, err := c.Create("/modes", nil, 0, open31); err != nil {
			t.Fatal(err)
		}
		if path, err := c.Create("/modes/s", nil, zk.FlagSequence, open31); err != nil || path != "/modes/s0000000000" {
			t.Errorf("sequential: %q %v", path, err)
		}
		if _, err := c.Create("/modes/e", nil, zk.FlagEphemeral, open31); err != nil {
			t.Error(err)
		}
		if _, stat, _ := c.Get("/modes/e"); stat.EphemeralOwner != c.SessionID() {
			t.Errorf("owner %#x, want the session %#x", stat.EphemeralOwner, c.SessionID())
		}
		if path, err := c.CreateProtectedEphemeralSequential("/modes/p-", nil, open31); err != nil || !strings.HasSuffix(path, "p-0000000002") {
			t.Errorf("protected: %q %v", path, err)
		}
		if path, err := c.CreateContainer("/modes/c", nil, zk.FlagContainer, open31); err != nil || path != "/modes/c" {
			t.Errorf("container: %q %v", path, err)
		}
		if path, err := c.CreateTTL("/modes/t", nil, zk.FlagTTL, open31, time.Hour); err != nil || path != "/modes/t" {
			t.Errorf("TTL: %q %v", path, err)
		}
		if path, err := c.CreateTTL("/modes/ts", nil, zk.FlagPersistentSequentialWithTTL, open31, time.Hour); err != nil || path != "/modes/ts0000000005" {
			t.Errorf("sequential TTL: %q %v", path, err)
		}
	}},
	{"containers and TTL nodes are reaped", func(t *testing.T, addr string) {
		c := dialLibrary(t, addr)
		if _, err := c.CreateContainer("/box", nil, zk.FlagContainer, open31); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create("/box/x", nil, 0, open31); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CreateTTL("/short", nil, zk.FlagTTL, open31, 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		_, _, boxGone, err := c.ExistsW("/box")
		if err != nil {
			t.Fatal(err)
		}
		if found, _, shortGone, err := c.ExistsW("/short"); err != nil {
			t.Fatal(err)
		} else if found {
			awaitEvent(t, shortGone, zk.EventNodeDeleted)
		}
		if err := c.Delete("/box/x", -1); err != nil {
			t.Fatal(err)
		}
		awaitEvent(t, boxGone, zk.EventNodeDeleted)
	}},
	{"ACLs", func(t *testing.T, addr string) {
		c, other := dialLibrary(t, addr), dialLibrary(t, addr)
		if err := c.AddAuth("digest", []byte("u:p")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Create("/acl", []byte("x"), 0, zk.DigestACL(zk.PermAll, "u", "p")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := other.Get("/acl"); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("stranger reads: %v", err)
		}
		if _, err := other.SetACL("/acl", open31, -1); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("stranger changes the ACL: %v", err)
		}
		acl, _, err := c.GetACL("/acl")
		if diff := cmp.Diff(zk.DigestACL(zk.PermAll, "u", "p"), acl); diff != "" || err != nil {
			t.Errorf("ACL: error %v, (-want +got):\n%s", err, diff)
		}
		if _, err := c.Create("/acl2", nil, 0, nil); !errors.Is(err, zk.ErrInvalidACL) {
			t.Errorf("no ACL: %v", err)
		}
		if stat, err := c.SetACL("/acl", open31, 0); err != nil || stat.Aversion != 1 {
			t.Errorf("set ACL: %+v %v", stat, err)
		}
		if _, _, err := other.Get("/acl"); err != nil {
			t.Errorf("stranger reads what is open: %v", err)
		}
	}},
	{"multi", func(t *testing.T, addr string) {
		c := dialLibrary(t, addr)
		results, err := c.Multi(
			&zk.CreateRequest{Path: "/multi", Data: []byte("1"), Acl: open31},
			&zk.CreateRequest{Path: "/multi/a", Acl: open31, Flags: zk.FlagSequence},
			&zk.SetDataRequest{Path: "/multi", Data: []byte("2"), Version: 0},
			&zk.CheckVersionRequest{Path: "/multi", Version: 1},
			&zk.DeleteRequest{Path: "/multi/a0000000000", Version: -1},
		)
		if err != nil || len(results) != 5 || results[1].String != "/multi/a0000000000" || results[2].Stat.Version != 1 {
			t.Errorf("multi: %+v %v", results, err)
		}
		results, err = c.Multi(
			&zk.SetDataRequest{Path: "/multi", Data: []byte("3"), Version: -1},
			&zk.CheckVersionRequest{Path: "/multi", Version: 7},
			&zk.DeleteRequest{Path: "/multi", Version: -1},
		)
		if !errors.Is(err, zk.ErrBadVersion) || len(results) != 3 || results[0].Error != nil || !errors.Is(results[1].Error, zk.ErrBadVersion) || results[2].Error == nil {
			t.Errorf("failed multi: %+v %v", results, err)
		}
		if data, _, _ := c.Get("/multi"); string(data) != "2" {
			t.Errorf("after the failed multi: %q, want 2", data)
		}
	}},
	{"lock recipe", func(t *testing.T, addr string) {
		one, two := dialLibrary(t, addr), dialLibrary(t, addr)
		first, second := zk.NewLock(one, "/lock", open31), zk.NewLock(two, "/lock", open31)
		if err := first.Lock(); err != nil {
			t.Fatal(err)
		}
		got := make(chan error, 1)
		go func() { got <- second.Lock() }()
		if err := first.Unlock(); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Fatal(err)
		}
		if err := second.Unlock(); err != nil {
			t.Fatal(err)
		}
	}},
	{"reconfig is refused", func(t *testing.T, addr string) {
		c := dialLibrary(t, addr)
		if _, err := c.IncrementalReconfig([]string{"server.1=h:1:2"}, nil, -1); !errors.Is(err, zk.ErrReconfigDisabled) {
			t.Errorf("reconfig: %v", err)
		}
	}},
	{"large data", func(t *testing.T, addr string) {
		c := dialLibrary(t, addr)
		data := bytes.Repeat([]byte("x"), 1000<<10)
		if _, err := c.Create("/large", data, 0, open31); err != nil {
			t.Fatal(err)
		}
		if got, _, err := c.Get("/large"); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes back, error %v", len(got), err)
		}
		// The library meets the close while it reads or while it still writes.
		_, err := c.Create("/larger", bytes.Repeat([]byte("x"), 1<<20), 0, open31)
		if !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("above jute.maxbuffer: %v, want the connection closed", err)
		}
	}},
	{"four-letter words", func(t *testing.T, addr string) {
		if ok := zk.FLWRuok([]string{addr}, patience); !ok[0] {
			t.Error("ruok is not answered by imok")
		}
		for word, want := range map[string]string{
			"srvr": "Mode: standalone", "stat": "Zxid: 0x", "mntr": "zk_znode_count\t", "conf": "tickTime=2000", "envi": "zookeeper.version=",
		} {
			if answer, err := fourLetterWord(addr, word, patience); err != nil || !strings.Contains(answer, want) {
				t.Errorf("%s: %q, error %v; want %q in it", word, answer, err, want)
			}
		}
	}},
	{"many requests in flight", func(t *testing.T, addr string) {
		c := dialLibrary(t, addr)
		if _, err := c.Create("/many", nil, 0, open31); err != nil {
			t.Fatal(err)
		}
		errs := make(chan error)
		for i := range 100 {
			go func() {
				_, err := c.Create(fmt.Sprintf("/many/%d", i), nil, 0, open31)
				errs <- err
			}()
		}
		for range 100 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if names, _, err := c.Children("/many"); err != nil || len(names) != 100 {
			t.Errorf("%d children, error %v; want 100", len(names), err)
		}
	}},
}
