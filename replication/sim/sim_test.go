package sim

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tidemark/internal/trace"
	"tidemark/replication/catalog"
)

var (
	seedFlag     = flag.Uint64("seed", 0, "play this seed of -strategy and print its last events (TestReplay)")
	strategyFlag = flag.String("strategy", "isr", "the strategy of -seed")
	tailFlag     = flag.Int("tail", 200, "how many events of -seed are printed")
)

// simTime is how long TestMany plays, all strategies together: SIMTIME, as
// scripts/test.sh sets it.
func simTime(t *testing.T) time.Duration {
	text := os.Getenv("SIMTIME")
	if text == "" {
		return 2 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SIMTIME: %v", err)
	}
	return d
}

// floor is how many seeds a run with SIMTIME has to reach.
const floor = 20000

// TestCorpus plays every seed that ever failed.
func TestCorpus(t *testing.T) {
	for _, line := range lines(t, "testdata/corpus.txt") {
		name, _, _ := strings.Cut(line, " ")
		strategy, seed := parse(t, name)
		if r := Run(context.Background(), seed, Scenario{Spec: find(t, strategy)}); r.Violation != nil {
			t.Errorf("%s: %v", line, r.Violation)
		}
	}
}

// TestMany plays seeds of every strategy in equal parts of the time. What no
// seed reaches is not tested: the generator has to reach all of it.
func TestMany(t *testing.T) {
	budget := simTime(t)
	seeds, first := 0, uint64(1)
	if text := os.Getenv("SIMFROM"); text != "" {
		from, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("SIMFROM: %v", err)
		}
		first = from
	}
	var (
		all   Total
		names []string
	)
	specs := catalog.Builtin().Specs()
	for _, spec := range specs {
		ctx, stop := context.WithTimeout(t.Context(), budget/time.Duration(len(specs)))
		s := Scenario{Spec: spec}
		total := Many{Scenario: s, From: first, Seeds: 1 << 30, StopAfter: 5}.Run(ctx)
		stop()
		seeds += total.Seeds
		all.Merge(total)
		t.Logf("%s: %d seeds, %d events, %d violations, %d beyond the promise", spec.Name, total.Seeds, total.Events, len(total.Violations), total.Exceeded)
		reached(t, spec.Name, total)
		for _, v := range total.Violations {
			names = append(names, fmt.Sprintf("%s:%d", spec.Name, v.Seed))
			report(t, s, v)
		}
		if spec.Promise != 0 || total.Seeds < 1000 {
			continue
		}
		if total.Exceeded*20 > total.Seeds {
			t.Errorf("%s: faults of %d of %d seeds exceeded the promise: what they would find is excused", spec.Name, total.Exceeded, total.Seeds)
		}
	}
	fmt.Printf("simulation: %d seeds, %d events, %d violations\n", seeds, all.Events, len(all.Violations))
	if len(names) > 0 {
		fmt.Printf("simulation: violated by %s\n", strings.Join(names, " "))
	}
	enough(t, all)
	if os.Getenv("SIMTIME") != "" && seeds < floor {
		t.Errorf("%d seeds in %s on %d cores, want at least %d", seeds, budget, runtime.GOMAXPROCS(0), floor)
	}
}

// enough looks at the generator: runs are long and mixed.
func enough(t *testing.T, all Total) {
	t.Helper()
	if all.ThreeKinds*2 < all.Seeds {
		t.Errorf("%d of %d seeds had three kinds of fault, want half", all.ThreeKinds, all.Seeds)
	}
	if all.Thin > 0 {
		t.Errorf("%d seeds had fewer than 2,000 events", all.Thin)
	}
}

// beyondReach are the states that a strategy does not come to, or hardly: it has
// no such set, never refuses, or needs no such order.
var beyondReach = map[string][]Reach{
	"async": {
		ReachELRElection, ReachFenceForgotten, ReachHWBelowTrue, ReachPreferredMove, ReachNotEnoughReplicas, ReachNotEnoughAfterAppend,
		ReachOffsetNotAvailable,
	},
	"sync": {ReachNotEnoughAfterAppend},
	"quorum": {
		ReachTruncatedBelowHW, ReachISROne, ReachUncleanElection, ReachELRElection, ReachFetchUnknownEpoch, ReachFenceForgotten,
		ReachStaleVersionRefused, ReachIneligibleRefused, ReachPreferredMove, ReachNotEnoughReplicas, ReachNotEnoughAfterAppend,
	},
}

// reached looks at one strategy: every state within its reach is there once in
// 2,000 seeds or more often.
func reached(t *testing.T, strategy string, total Total) {
	t.Helper()
	if total.Seeds < 4000 {
		return
	}
	for _, r := range Reaches() {
		if total.ReachedIn[r]*2000 < total.Seeds && !slices.Contains(beyondReach[strategy], r) {
			t.Errorf("%s: %q is reached by %d of %d seeds: the generator hardly gets there", strategy, r, total.ReachedIn[r], total.Seeds)
		}
	}
}

// report prints a violation with a smaller run that shows it too.
func report(t *testing.T, s Scenario, v Result) {
	t.Helper()
	small, result := Shrink(context.Background(), v.Seed, s, v)
	tail := NewTail(*tailFlag)
	Record(context.Background(), v.Seed, small, tail)
	t.Errorf("seed %d: %v\nreplay: tidemark sim replay %s:%d\n        go test ./replication/sim -run TestReplay -strategy %s -seed %d\nsettings: %s\nshrunk to: %s\nits last events:\n  %s",
		v.Seed, v.Violation, s.Spec.Name, v.Seed, s.Spec.Name, v.Seed, v.Options, result.Options, strings.Join(tail.Lines(), "\n  "))
}

// TestReplay prints the last events of -seed.
func TestReplay(t *testing.T) {
	tail := NewTail(*tailFlag)
	r := Record(context.Background(), *seedFlag, Scenario{Spec: find(t, *strategyFlag)}, tail)
	if *seedFlag != 0 {
		t.Logf("%s\n  %s", r.Options, strings.Join(tail.Lines(), "\n  "))
	}
	if r.Violation != nil {
		t.Error(r.Violation)
	}
}

// counter counts events and hashes them.
type counter struct {
	n    int
	hash uint64
}

func (c *counter) Write(e *trace.Event) {
	c.n++
	for _, b := range trace.AppendJSON(nil, e) {
		c.hash = c.hash*1099511628211 ^ uint64(b)
	}
}

// TestReplaysExactly: a seed is a run, whether somebody watches it or not.
func TestReplaysExactly(t *testing.T) {
	for _, spec := range catalog.Builtin().Specs() {
		for seed := uint64(1); seed <= 10; seed++ {
			var first, second counter
			a := Record(context.Background(), seed, Scenario{Spec: spec}, &first)
			b := Record(context.Background(), seed, Scenario{Spec: spec}, &second)
			c := Run(context.Background(), seed, Scenario{Spec: spec})
			if first != second || a.Events != b.Events {
				t.Errorf("%s:%d: two runs differ: %d and %d events", spec.Name, seed, a.Events, b.Events)
			}
			if a.Events != c.Events || a.Reach != c.Reach {
				t.Errorf("%s:%d: watching changes the run: %d and %d events", spec.Name, seed, a.Events, c.Events)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if r := Run(ctx, 1, Scenario{Spec: find(t, "isr")}); !r.Interrupted || r.Violation != nil {
		t.Errorf("an ended context: %+v", r)
	}
}

func lines(t testing.TB, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read
	var out []string
	for s := bufio.NewScanner(file); s.Scan(); {
		if line := strings.TrimSpace(s.Text()); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

func parse(t testing.TB, name string) (strategy string, seed uint64) {
	t.Helper()
	strategy, number, _ := strings.Cut(name, ":")
	seed, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		t.Fatalf("%q: %v", name, err)
	}
	return strategy, seed
}

func BenchmarkRun(b *testing.B) {
	spec := find(b, "isr")
	b.ReportAllocs()
	events := 0
	for seed := uint64(1); b.Loop(); seed++ {
		events += Run(context.Background(), seed, Scenario{Spec: spec}).Events
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// checked validates every event it gets.
type checked struct {
	t      *testing.T
	schema *jsonschema.Schema
	kinds  map[trace.Kind]int
}

func (c *checked) Write(e *trace.Event) {
	c.kinds[e.Kind]++
	line := trace.AppendJSON(nil, e)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
	if err == nil {
		err = c.schema.Validate(v)
	}
	if err != nil {
		c.t.Fatalf("%s\n%v", line, err)
	}
}

// TestTraceKeepsItsSchema validates whole traces, in which every kind of event
// is to appear.
func TestTraceKeepsItsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../schema/trace-v1.json")
	if err != nil {
		t.Fatal(err)
	}
	sink := &checked{t: t, schema: schema, kinds: map[trace.Kind]int{}}
	for seed := uint64(1); seed <= uint64(scaled(10)); seed++ {
		Record(t.Context(), seed, Scenario{Spec: find(t, "isr"), Flush: "batch"}, sink)
	}
	for k := trace.Append; k <= trace.Probe; k++ {
		if sink.kinds[k] == 0 && scaled(10) == 10 {
			t.Errorf("no event %s in ten traces", k)
		}
	}
}
