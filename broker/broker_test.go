package broker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/broker/config"
	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
)

// The test binary is a broker process too, for what only a process shows: in that
// directory, with those settings as JSON.
const (
	asProcess         = "TIDEMARK_TEST_BROKER_DIR"
	asProcessSettings = "TIDEMARK_TEST_BROKER_SETTINGS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(asProcess); dir != "" {
		runProcess(dir)
		return
	}
	os.Exit(m.Run())
}

func runProcess(dir string) {
	var more []string
	if given := os.Getenv(asProcessSettings); given != "" {
		if err := json.Unmarshal([]byte(given), &more); err != nil {
			panic(err)
		}
	}
	b, err := New(Options{Config: settings(dir, more...), Engines: catalog.Builtin(), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err == nil {
		err = b.Start(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(b.Addr().String()); err != nil {
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it or kills us
	if err := b.Shutdown(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func settings(dir string, more ...string) *config.Broker {
	props := map[string]string{"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": dir}
	for i := 0; i < len(more); i += 2 {
		props[more[i]] = more[i+1]
	}
	cfg, err := config.Parse(props)
	if err != nil {
		panic(err)
	}
	return cfg
}

// start runs a broker in this process until the test ends.
func start(t *testing.T, cfg *config.Broker) *Broker {
	t.Helper()
	return startWith(t, Options{Config: cfg})
}

// startWith is start with the shipped engines and a logger.
func startWith(t *testing.T, o Options) *Broker {
	t.Helper()
	o.Engines, o.Logger = catalog.Builtin(), testLogger(t)
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, b) })
	return b
}

func stop(t *testing.T, b *Broker) {
	t.Helper()
	if err := b.Shutdown(context.Background()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// testLogger shows what a broker logged if its test fails.
func testLogger(t *testing.T) *slog.Logger {
	var mu sync.Mutex
	var log bytes.Buffer
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		if t.Failed() {
			t.Logf("the broker logged:\n%s", log.String())
		}
	})
	return slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type lockedWriter struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// produce writes records from to to-1 and waits for every acknowledgement.
func produce(t *testing.T, address string, from, to int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("t"), kgo.AllowAutoTopicCreation(), kgo.MetadataMinAge(100*time.Millisecond), kgo.UnknownTopicRetries(100))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records, kgo.StringRecord(fmt.Sprint("record ", i)))
	}
	if err := client.ProduceSync(ctx, records...).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
}

// consume reads the topic from its start and expects the records 0 to n-1.
func consume(t *testing.T, address string, n int) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for next := 0; next < n; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("fetch after %d of %d records: %v", next, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if want := fmt.Sprint("record ", next); string(r.Value) != want || r.Offset != int64(next) {
				t.Fatalf("got %q at offset %d, want %q at %d", r.Value, r.Offset, want, next)
			}
			next++
		})
	}
}

func TestProduceConsumeRestart(t *testing.T) {
	for _, engine := range []string{"buffered", "mapped", "direct"} {
		t.Run(engine, func(t *testing.T) {
			dir := t.TempDir()
			cfg := settings(dir, "storage.append.engine", engine, "storage.read.engine", "sendfile")
			b := start(t, cfg)
			id := b.ClusterID()
			produce(t, b.Addr().String(), 0, 1000)
			consume(t, b.Addr().String(), 1000)
			stop(t, b)
			if _, err := os.Stat(filepath.Join(dir, ".kafka_cleanshutdown")); err != nil {
				t.Errorf("no marker of the clean shutdown: %v", err)
			}

			b = start(t, cfg)
			if b.ClusterID() != id {
				t.Errorf("cluster id is %s after the restart, was %s", b.ClusterID(), id)
			}
			consume(t, b.Addr().String(), 1000)
			produce(t, b.Addr().String(), 1000, 1100)
			consume(t, b.Addr().String(), 1100)
		})
	}
}

// brokerProcess is a broker in a process of its own.
type brokerProcess struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address string
}

func startProcess(t *testing.T, dir string, env ...string) *brokerProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), asProcess+"="+dir), env...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &brokerProcess{cmd: cmd, stdin: stdin}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // gone already, unless the test failed
		_ = cmd.Wait()
	})
	if err := json.NewDecoder(stdout).Decode(&p.address); err != nil {
		t.Fatalf("the broker process did not start: %v", err)
	}
	return p
}

func TestKillKeepsWhatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	for round := range 3 {
		p := startProcess(t, dir)
		if round > 0 {
			consume(t, p.address, 1000*round)
		}
		produce(t, p.address, 1000*round, 1000*(round+1))
		if err := p.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait() // its error is the signal
	}
	b := start(t, settings(dir))
	consume(t, b.Addr().String(), 3000)
}

func TestIdleBrokerHoldsWhatItHeldBefore(t *testing.T) {
	b := start(t, settings(t.TempDir()))
	produce(t, b.Addr().String(), 0, 100) // opens the log
	base := held(t, b)
	for range 3 {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() { consume(t, b.Addr().String(), 100) })
		}
		wait.Wait()
	}
	// What ends late, ends.
	for end := time.Now().Add(patience); ; {
		after := held(t, b)
		if after.goroutines <= base.goroutines && after.descriptors <= base.descriptors {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("after the load the process holds %+v, want %+v", after, base)
		}
	}
}

// holding is what a process holds once its clients have gone.
type holding struct{ goroutines, descriptors int }

// held waits until every connection is gone and the counts stand still.
func held(t *testing.T, b *Broker) holding {
	t.Helper()
	deadline := time.Now().Add(patience)
	var last holding
	for same := 0; same < 20; same++ {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("no /proc here")
		}
		now := holding{runtime.NumGoroutine(), len(fds)}
		if now != last || b.server.Stats().Connections.Load() > 0 {
			same = 0
		}
		if last = now; time.Now().After(deadline) {
			t.Fatalf("connections %d and %+v do not settle", b.server.Stats().Connections.Load(), now)
		}
		time.Sleep(5 * time.Millisecond) // nobody tells when the runtime has let go
	}
	return last
}

func TestTelemetry(t *testing.T) {
	b := start(t, settings(t.TempDir()))
	produce(t, b.Addr().String(), 0, 10)
	for path, want := range map[string][]string{
		"/healthz":               {"ok"},
		"/readyz":                {"ok"},
		"/debug/pprof/":          {"goroutine"},
		"/debug/pprof/goroutine": {""},
		"/metrics": {"tidemark_connections ", "tidemark_parked_requests ", "tidemark_request_seconds_count{", "go_goroutines ",
			"tidemark_received_bytes_total ", `tidemark_connections_closed_total{reason="frame"} 0`,
			// Acknowledged and, under flush=os, in nobody's way to the disk.
			"tidemark_leaders 1\n", "tidemark_under_replicated_partitions 0\n", "tidemark_active_controller 1\n", "tidemark_isr_shrinks_total 0\n",
			"tidemark_durability_debt_records 10\n", `,topic="`, "tidemark_partition_durability_debt_records{"},
		"/debt":       {"10\n"},
		"/partitions": {`"topic":"t"`, `"role":"leader"`, `"high_watermark":10,`, `"isr":[1]`},
	} {
		status, body := get(t, "http://"+b.MetricsAddr()+path)
		if status != http.StatusOK {
			t.Errorf("GET %s: status %d", path, status)
		}
		for _, w := range want {
			if !strings.Contains(body, w) {
				t.Errorf("GET %s: %q is not in the answer", path, w)
			}
		}
	}
	b.ready.Store(false)
	if status, _ := get(t, "http://"+b.MetricsAddr()+"/readyz"); status != http.StatusServiceUnavailable {
		t.Errorf("GET /readyz of a stopping broker: status %d", status)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestStartThatFailsSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	first := start(t, settings(dir))
	for name, c := range map[string]struct {
		cfg  *config.Broker
		want []string
	}{
		"port": {settings(t.TempDir(), "listeners", "PLAINTEXT://"+first.Addr().String()),
			[]string{"in use by this process", "--set listeners=PLAINTEXT://127.0.0.1:0"}},
		"metrics port": {settings(t.TempDir(), "metrics.listener", first.MetricsAddr()),
			[]string{"in use by this process", "--set metrics.listener=127.0.0.1:0"}},
		"directory": {settings(dir), []string{fmt.Sprintf("locked by pid %d", os.Getpid()), "--set log.dirs=DIR"}},
		"other metadata store": {settings(dir, "zookeeper.connect", "127.0.0.1:1", "zookeeper.connection.timeout.ms", "200"),
			[]string{"127.0.0.1:1", "zookeeper.connect"}},
		"metadata store of another": {settings(dir, "zookeeper.connect", first.ZookeeperAddr(), "broker.id", "2"),
			[]string{"locked by pid"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			b, err := New(Options{Config: c.cfg, Engines: catalog.Builtin()})
			if err != nil {
				t.Fatal(err)
			}
			err = b.Start(t.Context())
			if err == nil {
				stop(t, b)
				t.Fatal("it started")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q: want %q in it", err, w)
				}
			}
			deadline := time.Now().Add(patience)
			for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
				time.Sleep(5 * time.Millisecond) // closed connections' goroutines end on their own
			}
			if now := runtime.NumGoroutine(); now > before {
				t.Errorf("%d goroutines are left of the failed start", now-before)
			}
		})
	}
	produce(t, first.Addr().String(), 0, 1) // the first broker is none the worse
}

func TestUnknownDefaultEngine(t *testing.T) {
	_, err := New(Options{Config: settings(t.TempDir(), "storage.append.engine", "papyrus"), Engines: catalog.Builtin()})
	if err == nil || !strings.Contains(err.Error(), "buffered") {
		t.Errorf("got %v, want the known engines named", err)
	}
}

func TestLockedIsExplained(t *testing.T) {
	err := explainLock(fmt.Errorf("x: %w", &vfs.LockedError{Path: "p", Owner: "pid 1 (init)"}))
	if !strings.Contains(err.Error(), "pid 1 (init)") || !strings.Contains(err.Error(), "log.dirs") {
		t.Errorf("got %v", err)
	}
	plain := errors.New("plain")
	if explainLock(plain) != plain {
		t.Error("another error was touched")
	}
}
