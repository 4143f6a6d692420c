package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"tidemark/bench/cluster"
	"tidemark/engines/catalog"
)

// runLine executes one command line to its end.
func runLine(t *testing.T, args ...string) (code int, out, errout string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(t.Context(), Options{Engines: catalog.Builtin()}, args, &o, &e)
	return code, o.String(), e.String()
}

func TestWrongLinesNameTheRightOnes(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"brokr", `did you mean "broker"?`},
		{"topics crate x", `did you mean "create"?`},
		{"topics zzz", "there are: "},
		{"broker --lisen x", "did you mean --listen?"},
		{"broker --jsn", "did you mean --json?"},
		{"broker extra", "unknown command"},
		{"topics create", "accepts 1 arg"},
		{"topics create x --partitions many", "many"},
		{"topics create x --config novalue", "want name=value"},
		{"topics create x --config a=1 --config a=2", "given twice"},
		{"topics alter x", "nothing to change"},
		{"topics alter x --unset retention.mss", `did you mean "retention.ms"?`},
		{"topics alter x --unset log.dirs", "no setting of topics"},
		{"groups reset-offsets g --topic t", "to-earliest"},
		{"groups reset-offsets g --topic t --to-latest --to-current", "to-latest"},
		{"groups describe", "requires at least 1 arg"},
		{"broker --set log.dris=x", `did you mean "log.dirs"?`},
		{"broker --listen 0.0.0.0:9092", "--allow-open-listener"},
		{"broker --config testdata/wrong.properties", `testdata/wrong.properties:2:1: unknown configuration name "num.partition"; did you mean "num.partitions"?`},
		{"broker --set storage.read.engine=papyrus", "pread"},
		{"broker --log-level loud", "want debug, info, warn or error"},
		{"broker --set listeners=PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:1", "want one PLAINTEXT://host:port"},
		{"zk --listen 0.0.0.0:2181", "--allow-open-listener"},
		{"zk --listen 127.0.0.1", "--listen 127.0.0.1: want host:port"},
		{"groups list --state Stabel", `did you mean "Stable"?`},
		{"cluster up --brokers three", `for "--brokers" flag: want a whole number (`},
		{"zk --listen 127.0.0.1:0 --tick -1s", "--tick -1s: want more than nothing"},
		{"log trace testdata --only ledaer", `did you mean "leader"?`},
		{"log trace testdata --only gossip", "there are: append, "},
		{"sim replay isr:1 --plain --only isr,trunctae", `did you mean "truncate"?`},
		{"cluster link 1 2 --delay -20ms", "delay -20ms"},
		{"sim ply", `sim has no command "ply" (there are: replay)`},
		{"sim repaly", `did you mean "replay"?`},
		{"sim --strategy qourum", `did you mean "quorum"?`},
		{"bench plan replicaton", `did you mean "replication"?`},
		{"broker --set storage.append.engine=mmap", `did you mean "mapped"?`},
	} {
		code, out, errout := runLine(t, strings.Fields(c.line)...)
		if code != ExitUsage || !strings.Contains(errout, c.want) || out != "" {
			t.Errorf("tidemark %s: exit %d, printed %q, said %q; want exit %d and %q", c.line, code, out, errout, ExitUsage, c.want)
		}
	}
}

func TestHelpNamesEveryCommand(t *testing.T) {
	code, out, _ := runLine(t)
	for _, name := range []string{"broker", "zk", "cluster", "topics", "groups", "log", "engines", "version", "bench", "report", "sim", "doctor", "completion"} {
		if code != ExitOK || !strings.Contains(out, "\n  "+name+" ") {
			t.Errorf("the help text does not name %s (exit %d)", name, code)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, errout := runLine(t, "completion", shell)
		if code != ExitOK || !strings.Contains(out, "tidemark") {
			t.Errorf("completion %s: exit %d, %d bytes, %s", shell, code, len(out), errout)
		}
	}
}

func TestVersionAndEngines(t *testing.T) {
	code, out, _ := runLine(t, "version", "--json")
	var v buildVersion
	if err := json.Unmarshal([]byte(out), &v); code != ExitOK || err != nil || v.Go == "" {
		t.Errorf("version: exit %d, %q, %v", code, out, err)
	}
	code, out, _ = runLine(t, "engines")
	if code != ExitOK || !strings.Contains(out, "buffered") || !strings.Contains(out, "sendfile") {
		t.Errorf("engines: exit %d, %q", code, out)
	}
}

func TestPrintConfig(t *testing.T) {
	code, out, errout := runLine(t, "broker", "--print-config", "--config", "testdata/good.properties", "--set", "num.partitions=7", "--json")
	if code != ExitOK {
		t.Fatalf("exit %d: %s", code, errout)
	}
	var rows []configRow
	if err := json.Unmarshal([]byte(out), &rows); err != nil {
		t.Fatal(err)
	}
	got := map[string]configRow{}
	for _, r := range rows {
		got[r.Name] = r
	}
	for _, want := range []configRow{
		{"num.partitions", "7", "--set"},
		{"log.retention.ms", "7200000", "testdata/good.properties:2:1"},
		{"storage.append.engine", "buffered", "default"},
	} {
		if got[want.Name] != want {
			t.Errorf("got %+v, want %+v", got[want.Name], want)
		}
	}
	_, out, _ = runLine(t, "broker", "--print-config", "--config", "testdata/good.properties")
	if !strings.Contains(out, "num.io.threads has no effect here") {
		t.Errorf("the ignored setting is not mentioned:\n%s", out)
	}
}

func TestBugsExitWithTheirOwnCode(t *testing.T) {
	commands = append(commands, func(*App) *cobra.Command {
		return &cobra.Command{Use: "oops", RunE: func(*cobra.Command, []string) error { panic("boom") }}
	})
	defer func() { commands = commands[:len(commands)-1] }()
	code, _, errout := runLine(t, "oops")
	if code != ExitBug || !strings.Contains(errout, "boom") || !strings.Contains(errout, "cli_test.go") {
		t.Errorf("exit %d, said %q; want exit %d and the stack", code, errout, ExitBug)
	}
}

// service is a command that runs until it is told to stop.
type service struct {
	stop   context.CancelFunc
	code   chan int
	errout *bytes.Buffer
}

// startService runs a command and decodes its first line into v.
func startService(t *testing.T, v any, args ...string) *service {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	s := &service{stop: cancel, code: make(chan int, 1), errout: &bytes.Buffer{}}
	go func() {
		code := Run(ctx, Options{Engines: catalog.Builtin()}, args, w, s.errout)
		_ = w.Close() // a pipe's Close cannot fail
		s.code <- code
	}()
	if err := json.NewDecoder(r).Decode(v); err != nil {
		t.Fatalf("tidemark %v: %v, exit %d: %s", args, err, <-s.code, s.errout)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return s
}

func (s *service) end(t *testing.T) {
	t.Helper()
	s.stop()
	select {
	case code := <-s.code:
		if code != ExitOK {
			t.Errorf("the command ended with exit %d: %s", code, s.errout)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the command does not end")
	}
}

func TestTopicsAgainstABroker(t *testing.T) {
	dir := t.TempDir()
	var at started
	s := startService(t, &at, "broker", "--json", "--listen", "127.0.0.1:0", "--set", "log.dirs="+dir)
	defer s.end(t)
	if at.NonDefault["log.dirs"] != dir || at.Metrics == "" || at.Zookeeper == "" || at.ClusterID == "" {
		t.Errorf("the start line lacks something: %+v", at)
	}
	topics := func(wantCode int, want string, args ...string) string {
		t.Helper()
		code, out, errout := runLine(t, append(append([]string{"topics"}, args...), "--bootstrap", at.Listener)...)
		if code != wantCode || !strings.Contains(out+errout, want) {
			t.Errorf("topics %v: exit %d, printed %q, said %q; want exit %d and %q", args, code, out, errout, wantCode, want)
		}
		return out
	}
	topics(ExitOK, "created orders: partitions 3, replication factor 1", "create", "orders", "--partitions", "3",
		"--config", "retention.ms=60000", "--config", "storage.append.engine=mapped")
	topics(ExitFailed, "TOPIC_ALREADY_EXISTS", "create", "orders")
	topics(ExitFailed, "INVALID_CONFIG", "create", "other", "--config", "retention.mss=1")
	topics(ExitFailed, "INVALID_CONFIG", "create", "other", "--config", "storage.append.engine=papyrus")
	topics(ExitFailed, "INVALID_TOPIC", "create", "no/such")
	topics(ExitFailed, ": create topic other: invalid number of partitions: 10001, want 1 to 10000: ", "create", "other", "--partitions", "10001")
	topics(ExitFailed, ": create topic other: invalid replication factor: 7, ", "create", "other", "--replication-factor", "7")
	topics(ExitOK, "orders  3", "list")
	topics(ExitOK, "altered orders", "alter", "orders", "--config", "retention.ms=70000", "--unset", "storage.append.engine", "--partitions", "5")
	topics(ExitFailed, "invalid number of partitions: 2, want 6 to 10000: INVALID_PARTITIONS\n", "alter", "orders", "--partitions", "2")
	topics(ExitFailed, "10001, want 1 to 10000: ", "alter", "orders", "--partitions", "10001")
	topics(ExitFailed, `Did you mean "orders"?`, "describe", "ordres")
	topics(ExitFailed, "`tidemark topics list` shows", "describe", "clicks")
	topics(ExitFailed, `Did you mean "orders"?`, "delete", "order")
	topics(ExitFailed, `Did you mean "orders"?`, "alter", "order", "--partitions", "7")
	topics(ExitFailed, `Did you mean "orders"?`, "alter", "order", "--config", "retention.ms=1")

	var described []describedTopic
	out := topics(ExitOK, "orders", "describe", "orders", "--json")
	if err := json.Unmarshal([]byte(out), &described); err != nil || len(described) != 1 || len(described[0].Partitions) != 5 {
		t.Fatalf("describe: %v, %q", err, out)
	}
	settings := map[string]configRow{}
	for _, row := range described[0].Config {
		settings[row.Name] = row
	}
	if got := settings["retention.ms"]; got.Value != "70000" || got.Source != "DYNAMIC_TOPIC_CONFIG" {
		t.Errorf("retention.ms is described as %+v", got)
	}
	if got := settings["storage.append.engine"]; got.Value != "buffered" || got.Source != "DEFAULT_CONFIG" {
		t.Errorf("storage.append.engine is described as %+v after it was unset", got)
	}
	topics(ExitOK, "  PARTITION  LEADER", "describe", "orders")
	topics(ExitFailed, "UNKNOWN_TOPIC_OR_PARTITION", "describe", "none")
	topics(ExitOK, "deleted orders", "delete", "orders")
	topics(ExitFailed, "UNKNOWN_TOPIC_OR_PARTITION", "delete", "orders")
}

func TestNobodyAnswers(t *testing.T) {
	ports, err := cluster.FreePorts(1) // and nobody listens there
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	code, _, errout := runLine(t, "topics", "list", "--bootstrap", address, "--timeout", "1s")
	if code != ExitFailed || !strings.Contains(errout, "`tidemark broker` starts one") {
		t.Errorf("exit %d, said %q", code, errout)
	}
}

func TestZk(t *testing.T) {
	var at map[string]string
	s := startService(t, &at, "zk", "--json", "--listen", "127.0.0.1:0", "--data", t.TempDir())
	defer s.end(t)
	conn, err := net.Dial("tcp", at["listener"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("ruok")); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(conn); err != nil || string(answer) != "imok" {
		t.Errorf("ruok was answered %q, %v", answer, err)
	}
}

// TestZkWithoutOutput: a store that cannot say where it is does not end as if all were well.
func TestZkWithoutOutput(t *testing.T) {
	var e bytes.Buffer
	r, w := io.Pipe()
	_ = r.Close() // a pipe's Close cannot fail
	args := []string{"zk", "--listen", "127.0.0.1:0", "--data", t.TempDir()}
	if code := Run(t.Context(), Options{Engines: catalog.Builtin()}, args, w, &e); code != ExitFailed {
		t.Errorf("exit %d, said %q", code, &e)
	}
}

func TestLogDump(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "t-0")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(dir, "00000000000000000000.log")
	if err := os.WriteFile(segment, []byte(strings.Repeat("not a batch ", 20)), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, errout := runLine(t, "log", "dump", segment); code != ExitInvalid || !strings.Contains(errout, "problems found") {
		t.Errorf("a damaged segment: exit %d, said %q; want exit %d", code, errout, ExitInvalid)
	}
	if code, _, _ := runLine(t, "log", "dump", filepath.Join(dir, "none")); code != ExitFailed {
		t.Errorf("a missing file: exit %d, want %d", code, ExitFailed)
	}
}
