package target

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"tidemark/bench/workload"
)

// TestMain lets this test program be the process that a target starts: it says
// that it serves and waits, or fails at once where the data directory's name
// asks for it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "broker" {
		args := strings.Join(os.Args, " ")
		if strings.Contains(args, "fail=true") {
			fmt.Fprintln(os.Stderr, "cannot bind")
			os.Exit(1)
		}
		if !strings.Contains(args, "--set log.dirs=") || !strings.Contains(args, "--set num.io.threads=3") {
			os.Exit(2)
		}
		fmt.Println(`{"listener":"127.0.0.1:1","metrics":""}`)
		select {}
	}
	goleak.VerifyTestMain(m)
}

func loadOf(t *testing.T, broker string) workload.Load {
	t.Helper()
	s, err := workload.Parse([]byte("apiVersion: bench/v1\nname: t\nexperiments:\n  - name: e\n    broker: {" + broker + "}\n"))
	if err != nil {
		t.Fatal(err)
	}
	return s.Experiments[0].Cells()[0].Load
}

// TestDebtIsAsked: what the broker tells is the debt; anything else is unknown,
// never 0.
func TestDebtIsAsked(t *testing.T) {
	status, answer := http.StatusOK, "42\n"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	p := newProbe()
	if got := p.Debt(); got != -1 {
		t.Errorf("without metrics the debt is %d, want -1", got)
	}
	p.debt = s.URL
	if got := p.Debt(); got != 42 {
		t.Errorf("the debt is %d, want 42", got)
	}
	if answer = "page not found"; p.Debt() != -1 {
		t.Error("no number passes for a debt")
	}
	if status, answer = http.StatusServiceUnavailable, "0"; p.Debt() != -1 {
		t.Error("an error passes for no debt")
	}
}

func TestProcessIsStartedMeasuredAndGone(t *testing.T) {
	target, err := Start(t.Context(), Options{Dir: t.TempDir(), Load: loadOf(t, "num.io.threads: 3")})
	if err != nil {
		t.Fatal(err)
	}
	if target.Bootstrap != "127.0.0.1:1" || target.Readiness <= 0 {
		t.Errorf("target %+v", target)
	}
	if u := target.Probe().Broker(); u.RSSAnonBytes == 0 {
		t.Errorf("usage of the process: %+v", u)
	}
	if u := target.Probe().Client(); u.RSSAnonBytes == 0 {
		t.Errorf("usage of this process: %+v", u)
	}
	if target.Probe().Machine().TotalNs == 0 || len(target.Probe().Threads()) == 0 {
		t.Error("no figures of the machine or the threads")
	}
	pid := target.child.Pid
	for range 2 {
		if err := target.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Kill(pid, 0); err == nil {
		t.Errorf("process %d still runs", pid)
	}
}

func TestFailedStartSaysWhy(t *testing.T) {
	_, err := Start(t.Context(), Options{Dir: t.TempDir(), Load: loadOf(t, "fail: true")})
	if err == nil || !strings.Contains(err.Error(), "cannot bind") {
		t.Errorf("got %v, want what the process said", err)
	}
}
