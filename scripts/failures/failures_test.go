package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stream is what `go test -json` writes of a sequence of events, given as action, test
// and output.
func stream(events ...[3]string) string {
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, `{"Action":%q,"Package":"tidemark/e2e","Test":%q,"Output":%q}`+"\n", e[0], e[1], e[2])
	}
	return out.String()
}

func reported(t *testing.T, text string) string {
	t.Helper()
	found, err := read("clients", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return report(found)
}

func TestWhatFailedIsTold(t *testing.T) {
	for _, c := range []struct{ name, events, want string }{
		{"nothing", stream([3]string{"run", "TestA", ""}, [3]string{"output", "TestA", "    a_test.go:1: fine\n"}, [3]string{"pass", "TestA", ""}, [3]string{"pass", "", ""}), ""},
		{"a subtest, beside one that passes", stream(
			[3]string{"run", "TestA", ""}, [3]string{"output", "TestA", "=== RUN   TestA\n"},
			[3]string{"run", "TestA/one", ""}, [3]string{"run", "TestA/two", ""},
			[3]string{"output", "TestA/two", "    a_test.go:3: fine\n"},
			[3]string{"output", "TestA/one", "    a_test.go:2: got 1,"}, [3]string{"output", "TestA/one", " want 2\n        and why\n"},
			[3]string{"output", "TestA/one", "    a_test.go:9: broker 1 said:\n"}, [3]string{"output", "TestA/one", "        much\n"},
			[3]string{"output", "TestA/one", "    --- FAIL: TestA/one (0.00s)\n"},
			[3]string{"pass", "TestA/two", ""}, [3]string{"fail", "TestA/one", ""},
			[3]string{"output", "TestA", "--- FAIL: TestA (0.00s)\n"}, [3]string{"fail", "TestA", ""},
			[3]string{"output", "", "FAIL\n"}, [3]string{"fail", "", ""}),
			`=== failed: clients: e2e TestA/one
    a_test.go:2: got 1, want 2
        and why
    a_test.go:9: broker 1 said:
        much
=== failures in short
clients: e2e TestA/one
    a_test.go:2: got 1, want 2
`},
		{"a crash, which ends no test", stream(
			[3]string{"run", "TestA", ""}, [3]string{"output", "TestA", "=== RUN   TestA\n"}, [3]string{"output", "TestA", "panic: too much\n"},
			[3]string{"output", "", "FAIL\ttidemark/e2e\t0.1s\n"}, [3]string{"fail", "", ""}),
			`=== failed: clients: e2e TestA (had not ended)
panic: too much
=== failures in short
clients: e2e TestA (had not ended)
    panic: too much
`},
		{"a package that does not build", `{"ImportPath":"tidemark/e2e","Action":"build-output","Output":"# tidemark/e2e\ne2e/a.go:1:2: undefined: x\n"}
not an event
{"Action":"start","Package":"tidemark/e2e"}
{"Action":"output","Package":"tidemark/e2e","Output":"FAIL\ttidemark/e2e [build failed]\n"}
{"Action":"fail","Package":"tidemark/e2e","FailedBuild":"tidemark/e2e"}`,
			`=== failed: clients: e2e
# tidemark/e2e
e2e/a.go:1:2: undefined: x
=== failures in short
clients: e2e
    e2e/a.go:1:2: undefined: x
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, reported(t, c.events)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTheEndIsShort: however much failed, and however much was said of it.
func TestTheEndIsShort(t *testing.T) {
	var events [][3]string
	for i := range 100 {
		name := fmt.Sprintf("Test%d", i)
		events = append(events, [3]string{"run", name, ""})
		for line := range 100 {
			events = append(events, [3]string{"output", name, fmt.Sprintf("    a_test.go:%d: %s\n", line, strings.Repeat("é", 1000))})
		}
		events = append(events, [3]string{"fail", name, ""})
	}
	full, short, _ := strings.Cut(reported(t, stream(events...)), "=== failures in short\n")
	if lines := strings.Count(full, "\n"); lines > fullTests*(firstLines+lastLines+2)+1 {
		t.Errorf("the failures take %d lines", lines)
	}
	if len(short) > 32<<10 {
		t.Errorf("in short they take %d bytes", len(short))
	}
	for _, want := range []string{"a_test.go:0:", "a_test.go:14:", "[60 lines]", "a_test.go:75:", "a_test.go:99:", "and 90 more"} {
		if !strings.Contains(full, want) {
			t.Errorf("the failures do not tell %q", want)
		}
	}
	for _, want := range []string{"Test0\n    a_test.go:0:", "a_test.go:99:", "and 70 more\n"} {
		if !strings.Contains(short, want) {
			t.Errorf("in short there is no %q", want)
		}
	}
}

// TestOnlyLeavesAreCounted: a test with subtests is counted through them.
func TestOnlyLeavesAreCounted(t *testing.T) {
	build := `{"Action":"start","Package":"tidemark/e2e"}
{"Action":"fail","Package":"tidemark/e2e","FailedBuild":"tidemark/e2e"}`
	for _, c := range []struct {
		name, events string
		want         tally
	}{
		{"nothing", "", tally{}},
		{"one subtest of three fails, one is skipped", stream(
			[3]string{"run", "TestA", ""}, [3]string{"run", "TestA/one", ""}, [3]string{"pass", "TestA/one", ""},
			[3]string{"run", "TestA/two", ""}, [3]string{"run", "TestA/two/deep", ""}, [3]string{"fail", "TestA/two/deep", ""}, [3]string{"fail", "TestA/two", ""},
			[3]string{"run", "TestA/three", ""}, [3]string{"skip", "TestA/three", ""}, [3]string{"fail", "TestA", ""},
			[3]string{"run", "TestB", ""}, [3]string{"pass", "TestB", ""}, [3]string{"fail", "", ""}), tally{passed: 2, failed: 1, skipped: 1}},
		{"all subtests pass", stream(
			[3]string{"run", "TestA", ""}, [3]string{"run", "TestA/a/b", ""}, [3]string{"pass", "TestA/a/b", ""}, [3]string{"pass", "TestA", ""},
			[3]string{"pass", "", ""}), tally{passed: 1}},
		{"a test that fails beside its subtests", stream(
			[3]string{"run", "TestA", ""}, [3]string{"run", "TestA/one", ""}, [3]string{"pass", "TestA/one", ""}, [3]string{"fail", "TestA", ""},
			[3]string{"fail", "", ""}), tally{passed: 1, failed: 1}},
		{"a crash in a subtest", stream(
			[3]string{"run", "TestA", ""}, [3]string{"run", "TestA/one", ""}, [3]string{"fail", "", ""}), tally{failed: 1}},
		{"a package that does not build", build, tally{failed: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := count(strings.NewReader(c.events))
			if err != nil || got != c.want {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}
