package process

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// awaitState polls: signals take effect when the kernel comes to it.
func awaitState(t *testing.T, id ID, want State) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); id.State() != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d is %s, want %s", id.Pid, id.State(), want)
		}
	}
}

func startSleep(t *testing.T, seconds string) (*Process, ID) {
	t.Helper()
	p, err := Start(Options{Program: "sleep", Args: []string{seconds}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := Identify(p.Pid, seconds)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 2 { // the second finds it gone
			if err := p.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
	return p, id
}

func TestLifeOfAProcess(t *testing.T) {
	p, id := startSleep(t, "61.5")
	awaitState(t, id, Running)
	for _, step := range []struct {
		signal syscall.Signal
		want   State
	}{{syscall.SIGSTOP, Paused}, {syscall.SIGCONT, Running}, {syscall.SIGSTOP, Paused}, {syscall.SIGKILL, Gone}} {
		if sent, err := id.Signal(step.signal); !sent || err != nil {
			t.Fatalf("%s: sent %t, %v", step.signal, sent, err)
		}
		awaitState(t, id, step.want)
	}
	<-p.Done()
	if sent, err := id.Signal(syscall.SIGKILL); sent || err != nil {
		t.Errorf("a signal to one that is gone: sent %t, %v", sent, err)
	}
}

// TestStrangersAreLeftAlone: the number alone is no proof.
func TestStrangersAreLeftAlone(t *testing.T) {
	_, id := startSleep(t, "62.5")
	other, another, foreign := id, id, id
	other.Ticks++
	another.Boot = "yesterday"
	foreign.Mark = "no such word"
	for _, stranger := range []ID{other, another, foreign, {}, {Pid: 1 << 22}} {
		if got := stranger.State(); got != Gone {
			t.Errorf("%+v is %s", stranger, got)
		}
		if sent, _ := stranger.Signal(syscall.SIGKILL); sent {
			t.Fatalf("a signal went to %+v", stranger)
		}
	}
	if id.State() == Gone {
		t.Error("the process was hit")
	}
}

// TestRunsAtOnce: a process that has just been started is not taken for gone while the
// kernel still gives it its command line.
func TestRunsAtOnce(t *testing.T) {
	for range 300 {
		p, err := Start(Options{Program: "sleep", Args: []string{"63.5"}})
		if err != nil {
			t.Fatal(err)
		}
		id, err := Identify(p.Pid, "63.5")
		if err != nil {
			t.Fatal(err)
		}
		state := id.State()
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if state == Gone {
			t.Fatal("it is taken for gone")
		}
	}
}

func TestStartFails(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Start(Options{Program: "/no/such/program", Stdout: out}); err == nil {
		t.Fatal("it started")
	}
	if out.Close() == nil {
		t.Error("the output was left open")
	}
}
