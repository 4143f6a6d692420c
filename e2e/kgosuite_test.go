package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/bench/cluster"
)

// TestFranzGoOwnSuite runs the library's own tests against our broker, but for those
// of share groups.
func TestFranzGoOwnSuite(t *testing.T) {
	t.Parallel()
	b := startBroker(t, "group.initial.rebalance.delay.ms=0", "group.consumer.heartbeat.interval.ms=300")
	runFranzSuite(t, b.Bootstrap, "1", "5000")
}

// TestFranzGoOwnSuiteOnThree runs them against three brokers, with three replicas of
// every topic.
func TestFranzGoOwnSuiteOnThree(t *testing.T) {
	t.Parallel()
	r := startRig(t, cluster.Embedded, "zookeeper.session.timeout.ms=10000", "replica.lag.time.max.ms=30000", // a busy machine is no fault here
		"group.consumer.heartbeat.interval.ms=300", "group.min.session.timeout.ms=6000")
	runFranzSuite(t, strings.Join(r.seeds, ","), "3", "1000")
}

func runFranzSuite(t *testing.T, bootstrap, replicas, records string) {
	t.Helper()
	suite := filepath.Join(t.TempDir(), "kgo.test")
	run(t, "", "go", "test", "-c", "-o", suite, "github.com/twmb/franz-go/pkg/kgo")
	cmd := exec.Command(suite, "-test.v", "-test.run", "TestClient_Produce|TestIssue|TestGroup|TestUnknownGroup|TestTxn", "-test.count=1", "-test.timeout", "500s")
	cmd.Env = append(os.Environ(), "KGO_SEEDS="+bootstrap, "KGO_TEST_RF="+replicas, "KGO_TEST_RECORDS="+records, "KGO_LOG_LEVEL=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("franz-go's own suite: %v\n%s\nall it printed:\n%s", err, whatFailed(string(out)), out)
	}
}

// whatFailed are the tests that failed in the output of a test binary under
// -test.v, each with the last lines that it printed, and the beginning of a panic:
// what a reader of a long log wants first.
func whatFailed(output string) string {
	const lastLines, panicLines = 20, 40
	printed := map[string][]string{}
	var failed, crash []string
	current := ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\n")
		words := strings.Fields(line)
		switch {
		case crash != nil || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: "):
			if len(crash) < panicLines {
				crash = append(crash, line)
			}
		case len(words) == 3 && words[0] == "===":
			current = words[2]
		case len(words) > 2 && words[0] == "---":
			if words[1] == "FAIL:" {
				failed = append(failed, words[2])
			}
		default:
			printed[current] = append(printed[current], line)
		}
	}
	var out strings.Builder
	fmt.Fprintf(&out, "failed: %s\n", strings.Join(failed, ", "))
	for _, name := range failed {
		last := printed[name]
		fmt.Fprintf(&out, "%s:\n%s\n", name, strings.Join(last[max(0, len(last)-lastLines):], "\n"))
	}
	if crash != nil {
		fmt.Fprintf(&out, "crashed in %s or beside it:\n%s\n", current, strings.Join(crash, "\n"))
	}
	return out.String()
}

func TestWhatFailed(t *testing.T) {
	got := whatFailed(`=== RUN   TestA
=== PAUSE TestA
=== RUN   TestB
    b_test.go:1: fine
--- PASS: TestB (0.00s)
=== RUN   TestA/one
    a_test.go:2: first
=== NAME  TestC
    c_test.go:3: beside it
=== NAME  TestA/one
    a_test.go:4: second
--- FAIL: TestA (0.01s)
    --- FAIL: TestA/one (0.01s)
=== CONT  TestC
panic: too much

goroutine 1 [running]:
`)
	want := `failed: TestA, TestA/one
TestA:

TestA/one:
    a_test.go:2: first
    a_test.go:4: second
crashed in TestC or beside it:
panic: too much

goroutine 1 [running]:
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
