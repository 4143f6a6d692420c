package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// binary is the tidemark command under test, built once by TestMain.
var binary string

func TestMain(m *testing.M) {
	if library := os.Getenv(memberEnv); library != "" {
		os.Exit(runMember(library, os.Args[1:]))
	}
	dir, err := os.MkdirTemp("", "tidemark-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "tidemark")
	build := exec.Command("go", "build", "-o", binary, "tidemark/cmd/tidemark")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the command: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// patience bounds every wait for something that is to happen; no wait needs a tenth of it
// on an idle machine.
const patience = 2 * time.Minute

// brokerProcess is one running `tidemark broker`.
type brokerProcess struct {
	Bootstrap string
	Dir       string // its log directory
	// client lives as long as the test that started the broker: whoever asks the broker
	// something again and again asks over its connections.
	client *kgo.Client
	cmd    *exec.Cmd
	output *lockedBuffer
}

// startBroker runs a broker with its own data directory until the test ends.
// settings are name=value pairs of its configuration.
func startBroker(t *testing.T, settings ...string) *brokerProcess {
	t.Helper()
	return startBrokerWith(t, nil, t.TempDir(), settings...)
}

// startBrokerWith is startBroker under a wrapper command (strace) and on a
// given directory.
func startBrokerWith(t *testing.T, wrapper []string, dir string, settings ...string) *brokerProcess {
	t.Helper()
	return startBrokerAt(t, freeAddress(t), wrapper, dir, settings...)
}

// startBrokerAt is startBrokerWith at an address where clients look for it.
func startBrokerAt(t *testing.T, address string, wrapper []string, dir string, settings ...string) *brokerProcess {
	t.Helper()
	b := &brokerProcess{Bootstrap: address, Dir: dir, output: &lockedBuffer{}}
	args := append(append([]string(nil), wrapper...), binary, "broker",
		"--set", "listeners=PLAINTEXT://"+b.Bootstrap, "--set", "log.dirs="+dir, "--set", "metrics.listener=127.0.0.1:0")
	for _, s := range settings {
		args = append(args, "--set", s)
	}
	b.cmd = exec.Command(args[0], args[1:]...)
	b.cmd.Stdout, b.cmd.Stderr = b.output, b.output
	b.cmd.WaitDelay = 5 * time.Second
	b.cmd.SysProcAttr = endsWithTests
	if err := b.cmd.Start(); err != nil {
		t.Fatalf("start the broker: %v", err)
	}
	t.Cleanup(func() {
		b.Stop(t)
		if t.Failed() {
			t.Logf("the broker said:\n%s", b.output.String())
		}
	})
	b.client = newKgo(t, b)
	b.awaitReady(t)
	return b
}

// awaitReady returns once the broker answers its client.
func (b *brokerProcess) awaitReady(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := b.client.Ping(ctx)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the broker does not answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// admin asks over the connections of the broker's client.
func (b *brokerProcess) admin() *kadm.Client { return kadm.NewClient(b.client) }

// pid is the broker's own process, below the wrapper if there is one.
func (b *brokerProcess) pid(t *testing.T) int {
	t.Helper()
	outer := b.cmd.Process.Pid
	if b.cmd.Args[0] == binary {
		return outer
	}
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", outer, outer))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(children), &pid); err != nil {
		t.Fatalf("%s runs no broker: %v", b.cmd.Args[0], err)
	}
	return pid
}

// Stop asks the broker to shut down and waits until it has.
func (b *brokerProcess) Stop(t *testing.T) {
	t.Helper()
	if b.cmd.ProcessState != nil {
		return
	}
	if err := syscall.Kill(b.pid(t), syscall.SIGTERM); err != nil {
		t.Errorf("signal the broker: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- b.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the broker ended with %v", err)
		}
	case <-time.After(patience):
		_ = b.cmd.Process.Kill() // reported below either way
		<-done
		t.Errorf("the broker did not shut down within %v of SIGTERM", patience)
	}
}

// Kill ends the broker at once.
func (b *brokerProcess) Kill(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(b.pid(t), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = b.cmd.Wait() // a killed process has no good end
}

func newKgo(t *testing.T, b *brokerProcess, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Bootstrap)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

// run executes a command that must succeed and returns what it printed.
func run(t *testing.T, stdin string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// need skips the test, naming the remedy, unless the file or command is there.
func need(t *testing.T, thing, remedy string) {
	t.Helper()
	if _, err := os.Stat(thing); err == nil {
		return
	}
	if _, err := exec.LookPath(thing); err == nil {
		return
	}
	t.Skipf("%s is not here; run %s", filepath.Base(thing), remedy)
}

// freeAddress is one that stays free, as quietPort says.
func freeAddress(t *testing.T) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(quietPort(t)))
}

// endsWithTests is of a process that ends when the tests do, also where they panic or are
// killed.
var endsWithTests = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

// lockedBuffer collects a process's output.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// eventually returns once what is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%v have passed, and not yet: %s", patience, what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
