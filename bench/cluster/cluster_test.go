package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tidemark/bench/fault/proxy"
	"tidemark/bench/process"
)

// TestMain lets this test program be the processes of a cluster: a store, a mesh,
// which is the real one, and brokers that say who they are to whoever connects.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		err := act(ctx, os.Args[1:])
		stop()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// act is one process of a cluster; args are those of the tidemark command.
func act(ctx context.Context, args []string) error {
	of := func(flag string) (all []string) {
		for i, a := range args {
			if a == flag {
				all = append(all, args[i+1])
			}
		}
		return all
	}
	switch strings.Join(args[:min(2, len(args))], " ") {
	case "zk --json":
		return serveBanner(ctx, of("--listen")[0], "store", map[string]string{})
	case "cluster mesh":
		o := MeshOptions{Timeline: of("--timeline")[0], Seed: 1, Store: of("--store")[0], Brokers: of("--broker")}
		return ServeMesh(ctx, o, func(r MeshReady) error { return json.NewEncoder(os.Stdout).Encode(r) })
	}
	set := map[string]string{}
	for _, s := range of("--set") {
		name, value, _ := strings.Cut(s, "=")
		set[name] = value
	}
	if set["fail"] == "broker "+set["broker.id"] {
		return errors.New("cannot bind, said the broker")
	}
	if set["hang"] == "broker "+set["broker.id"] {
		<-ctx.Done()
		return nil
	}
	if set["listeners"] == "" || set["log.dirs"] == "" || set["zookeeper.connect"] == "" {
		return fmt.Errorf("a broker without its settings: %v", set)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /partitions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"broker":%s,"controller":2,"partitions":[{"topic":"t","role":"leader","leader":%[1]s,"leader_epoch":%[1]s,"replicas":[%[1]s],"isr":[%[1]s]}]}`, set["broker.id"])
	})
	go http.Serve(l, mux)
	return serveBanner(ctx, strings.TrimPrefix(set["listeners"], "PLAINTEXT://"), "broker "+set["broker.id"], map[string]string{"metrics": l.Addr().String()})
}

func serveBanner(ctx context.Context, address, banner string, ready map[string]string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(s, banner)
			s.Close()
		}
	}()
	ready["listener"] = l.Addr().String()
	if err := json.NewEncoder(os.Stdout).Encode(ready); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// start starts a cluster that is gone when the test ends.
func start(t *testing.T, o Options) *Cluster {
	t.Helper()
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(false); err != nil && !errors.Is(err, ErrNone) {
			t.Error(err)
		}
	})
	return c
}

func stateOf(t *testing.T, c *Cluster) *State {
	t.Helper()
	s, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// banner is what is read at an address within a while.
func banner(address string, within time.Duration) string {
	s, err := net.DialTimeout("tcp", address, within)
	if err != nil {
		return err.Error()
	}
	defer s.Close()
	s.SetReadDeadline(time.Now().Add(within))
	text, err := io.ReadAll(s)
	if err != nil && len(text) == 0 {
		return err.Error()
	}
	return string(text)
}

const patience = 2 * time.Minute

// awaitState polls: a signal takes effect when the kernel comes to it.
func awaitState(t *testing.T, c *Cluster, id int32, want process.State) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(pause) {
		b, err := stateOf(t, c).broker(id)
		must(t, err)
		if b.State() == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("broker %d is %s, want %s", id, b.State(), want)
		}
	}
}

func TestLifeOfACluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	c := start(t, Options{Dir: dir, Brokers: 3})
	s := stateOf(t, c)
	for i, b := range s.Brokers {
		if got, want := banner(b.Address, patience), fmt.Sprintf("broker %d", i+1); got != want {
			t.Errorf("at the address of broker %d there is %q", i+1, got)
		}
	}
	if got := strings.Count(s.Bootstrap(), ":"); got != 3 {
		t.Errorf("bootstrap %s", s.Bootstrap())
	}

	other, err := Open(dir) // as another process does
	must(t, err)
	must(t, other.Kill(2))
	awaitState(t, c, 2, process.Gone)
	if err := other.Pause(2); err == nil || !strings.Contains(err.Error(), "restart it first") {
		t.Errorf("a dead broker is paused: %v", err)
	}
	must(t, c.Restart(t.Context(), 2))
	if got := banner(s.Brokers[1].Address, patience); got != "broker 2" {
		t.Errorf("after the restart %q", got)
	}
	must(t, c.Pause(3))
	awaitState(t, other, 3, process.Paused)
	must(t, other.Resume(3))
	awaitState(t, c, 3, process.Running)
	must(t, c.Pause(3))
	must(t, c.Stop(3)) // hears it although it was paused
	awaitState(t, c, 3, process.Gone)
	if err := c.Stop(3); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Errorf("a broker that has shut down is shut down: %v", err)
	}
	if err := c.Kill(4); err == nil || !strings.Contains(err.Error(), "1 to 3") {
		t.Errorf("broker 4 is killed: %v", err)
	}
	if _, err := Start(t.Context(), Options{Dir: dir, Brokers: 3}); !errors.Is(err, ErrRuns) {
		t.Errorf("a second start: %v", err)
	}
	if err := c.Cut(t.Context(), "1", "2", false, 0); !errors.Is(err, ErrNoMesh) {
		t.Errorf("a cut without a mesh: %v", err)
	}

	must(t, c.Down(true))
	for id := range int32(3) {
		awaitState(t, c, id+1, process.Gone)
	}
	var done []string
	text, err := os.ReadFile(filepath.Join(dir, faultsFile))
	must(t, err)
	for line := range strings.Lines(string(text)) {
		var a Action
		must(t, json.Unmarshal([]byte(line), &a))
		done = append(done, a.Do)
	}
	if got, want := strings.Join(done, " "), "up kill restart pause resume pause stop down"; got != want {
		t.Errorf("%s says %q, want %q", faultsFile, got, want)
	}

	again := start(t, Options{Dir: dir, Brokers: 3})
	must(t, again.Down(false))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after down the directory is there: %v", err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNone) {
		t.Errorf("after down there is a cluster: %v", err)
	}
}

// TestRestartWithoutItsStore: a broker that could not come back is not shut down either.
func TestRestartWithoutItsStore(t *testing.T) {
	c := start(t, Options{Dir: t.TempDir(), Brokers: 2})
	_, err := stateOf(t, c).Store.ID.Signal(syscall.SIGKILL)
	must(t, err)
	for stateOf(t, c).Store.State() != process.Gone {
		time.Sleep(pause)
	}
	if err := c.Restart(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "the metadata store is gone") {
		t.Errorf("without a metadata store: %v", err)
	}
	if got := stateOf(t, c).Brokers[0].State(); got != process.Running {
		t.Errorf("the broker that was to restart is %s", got)
	}
	must(t, c.Down(true))
	for what, err := range map[string]error{"restart": c.Restart(t.Context(), 1), "kill": c.Kill(1), "pause": c.Pause(1), "stop": c.Stop(1)} {
		if !errors.Is(err, ErrDown) {
			t.Errorf("%s of a cluster that is down: %v", what, err)
		}
	}
}

func TestStatusOfACluster(t *testing.T) {
	c := start(t, Options{Dir: t.TempDir(), Brokers: 2})
	must(t, c.Kill(1))
	s, err := c.Status(t.Context())
	must(t, err)
	if s.Controller != 2 || s.Brokers[0].State != process.Gone || s.Brokers[1].State != process.Running || s.Store != process.Running {
		t.Errorf("status %+v", s)
	}
	if len(s.Partitions) != 1 || s.Partitions[0].Leader != 2 || s.Brokers[1].Leads != 1 {
		t.Errorf("partitions %+v, brokers %+v", s.Partitions, s.Brokers)
	}
	if s.Whole() == nil {
		t.Error("with a dead broker all is well")
	}
}

func TestLinksAreCut(t *testing.T) {
	dir := t.TempDir()
	c := start(t, Options{Dir: dir, Brokers: 2, Proxy: true})
	s := stateOf(t, c)
	first, second := s.Brokers[0], s.Brokers[1]
	if first.Address == first.Listener {
		t.Fatalf("broker 1 is reached past the mesh: %+v", first)
	}
	if got := banner(first.Address, patience); got != "broker 1" {
		t.Fatalf("through the mesh %q", got)
	}
	must(t, c.Cut(t.Context(), proxy.Client, "1", false, 0))
	must(t, c.Cut(t.Context(), "2", proxy.Store, false, 0))
	if got := banner(first.Address, 100*time.Millisecond); !strings.Contains(got, "timeout") {
		t.Errorf("clients reach broker 1: %q", got)
	}
	if got := banner(second.Address, patience); got != "broker 2" {
		t.Errorf("at broker 2 clients read %q", got)
	}
	if one, two := banner(s.StoreLinks[1], patience), banner(s.StoreLinks[2], 100*time.Millisecond); one != "store" || !strings.Contains(two, "timeout") {
		t.Errorf("broker 1 reads %q from the store, broker 2, which is cut, %q", one, two)
	}
	links, err := c.Links(t.Context())
	must(t, err)
	if len(links.Faults) != 4 {
		t.Errorf("faults %+v", links.Faults)
	}
	must(t, c.Heal(t.Context()))
	if got := banner(first.Address, patience); got != "broker 1" {
		t.Errorf("after the heal %q", got)
	}
	must(t, c.Down(true))
	if err := c.Heal(t.Context()); !errors.Is(err, ErrDown) {
		t.Errorf("heal of a cluster that is down: %v", err)
	}
	text, err := os.ReadFile(filepath.Join(dir, meshDir, timelineFile))
	must(t, err)
	if got := strings.Count(string(text), `"end"`); got != 4 {
		t.Errorf("the timeline has %d ended faults:\n%s", got, text)
	}
}

func TestFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{Dir: dir, Brokers: 2, Set: []string{"fail=broker 2"}})
	if err == nil || !strings.Contains(err.Error(), "cannot bind, said the broker") || !strings.Contains(err.Error(), "start broker-2") {
		t.Fatalf("got %v, want what the broker said", err)
	}
	c, err := Open(dir)
	must(t, err)
	s := stateOf(t, c)
	for _, p := range append(s.Brokers, s.Store) {
		if p.State() != process.Gone {
			t.Errorf("%s still runs", p.Dir)
		}
	}
	start(t, Options{Dir: dir, Brokers: 2}) // what is left is no hindrance
}

// TestLeftoversAreEnded: the processes of a cluster whose starter has died are ended
// by the next start, and a stranger who has one of their numbers is not.
func TestLeftoversAreEnded(t *testing.T) {
	dir := t.TempDir()
	c := start(t, Options{Dir: dir, Brokers: 2, Outlive: true})
	s := stateOf(t, c)
	left := s.Brokers[0]
	s.Owner = process.ID{Pid: left.ID.Pid, Ticks: left.ID.Ticks + 1, Boot: left.ID.Boot} // gone
	stranger, err := process.Identify(os.Getpid(), "test")
	must(t, err)
	stranger.Ticks-- // an earlier process with this one's number
	s.Brokers[1].ID, stranger = stranger, s.Brokers[1].ID
	must(t, c.save(s))
	_, err = stranger.Signal(syscall.SIGKILL)
	must(t, err)
	start(t, Options{Dir: dir, Brokers: 2})
	if left.State() != process.Gone {
		t.Error("the leftover still runs")
	}
}

func TestStateThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema":"cluster`:      "is damaged: unexpected end of JSON input; end what still runs",
		`{"schema":"cluster/v9"}`: "use the one that made it",
	} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, stateFile), []byte(text), 0o666))
		_, opened := Open(dir)
		_, started := Start(t.Context(), Options{Dir: dir, Brokers: 1})
		for _, err := range []error{opened, started} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", text, err, want)
			}
		}
	}
}

// TestCheck: what cannot be started leaves no directory behind.
func TestCheck(t *testing.T) {
	for want, o := range map[string]Options{
		"cluster of 0 brokers":      {},
		"want 1 to 100":             {Brokers: 101},
		"port 65535":                {Brokers: 2, Port: 65535},
		"port -1":                   {Brokers: 1, Port: -1},
		"setting broker.id":         {Brokers: 1, Set: []string{"num.partitions=3", "broker.id=7"}},
		"setting trace.dir":         {Brokers: 1, Trace: true, Set: []string{"trace.dir=there"}},
		"setting advertised.listen": {Brokers: 1, Proxy: true, Set: []string{"advertised.listeners=PLAINTEXT://127.0.0.1:1"}},
		`metadata store "lab/one"`:  {Brokers: 1, Zookeeper: "lab/one"},
	} {
		o.Dir = filepath.Join(t.TempDir(), "none")
		if _, err := Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
		if _, err := os.Stat(o.Dir); err == nil {
			t.Errorf("%s: there is a directory", want)
		}
	}
	fits := Options{Brokers: 1, Port: 65535, Set: []string{"advertised.listeners=PLAINTEXT://127.0.0.1:1", "trace.dir=there"}, Zookeeper: "a:1,b:2/lab"}
	must(t, fits.Check())
}

func TestPortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	dir := filepath.Join(t.TempDir(), "c")
	_, err = Start(t.Context(), Options{Dir: dir, Brokers: 1, Port: l.Addr().(*net.TCPAddr).Port})
	if err == nil || !strings.Contains(err.Error(), "choose another first port") {
		t.Errorf("got %v", err)
	}
	wantNothingAt(t, dir)
}

func wantNothingAt(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a start that failed before anything ran has left %s: %v", dir, err)
	}
}

func TestStoreThatIsNotThere(t *testing.T) {
	for zookeeper, want := range map[string]string{"127.0.0.1:1": "start it first", "elsewhere": "host:port"} {
		dir := filepath.Join(t.TempDir(), "c")
		_, err := Start(t.Context(), Options{Dir: dir, Brokers: 1, Zookeeper: zookeeper})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with the store %s: %v", zookeeper, err)
		}
		wantNothingAt(t, dir)
	}
}

func TestRealZooKeeper(t *testing.T) {
	if _, err := os.Stat(ZooKeeperScript); err != nil {
		t.Skip("ZooKeeper is not installed; to install it: scripts/install-zookeeper.sh")
	}
	if testing.Short() {
		t.Skip("the real ZooKeeper needs a Java machine; not with -short")
	}
	c := start(t, Options{Dir: t.TempDir(), Brokers: 1, Zookeeper: Real})
	s := stateOf(t, c)
	answer, err := ask(s.Connect, "srvr")
	for deadline := time.Now().Add(patience); err != nil && time.Now().Before(deadline); {
		answer, err = ask(s.Connect, "srvr") // a Java machine may stand still for a second
	}
	if err != nil || !strings.Contains(answer, "standalone") {
		t.Errorf("it says %q, %v", answer, err)
	}
	if s.Store.State() != process.Running {
		t.Errorf("the store is %s", s.Store.State())
	}
}

// TestInterrupted: whoever stops a start knows why a broker was not ready.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() { // once the broker that never serves has started
		for ctx.Err() == nil {
			if _, err := os.Stat(filepath.Join(dir, "broker-2", pidFile)); err == nil {
				interrupt()
			}
			time.Sleep(pause)
		}
	}()
	_, err := Start(ctx, Options{Dir: dir, Brokers: 2, Set: []string{"hang=broker 2"}})
	if !errors.Is(err, ErrInterrupted) || strings.Contains(err.Error(), "not ready") {
		t.Errorf("interrupted: %v", err)
	}
	c, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(s.Brokers, s.Store) {
		if state := p.State(); state != process.Gone {
			t.Errorf("%s is %s after the interrupt", p.Dir, state)
		}
	}
	if err := c.Down(false); err != nil {
		t.Error(err)
	}
}
