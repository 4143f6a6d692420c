package workload

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tidemark/bench/result"
)

const head = "apiVersion: bench/v1\nname: t\nexperiments:\n  - name: e\n"

func parse(t *testing.T, text string) *Spec {
	t.Helper()
	s, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// labels lists the cells of the first experiment.
func labels(s *Spec) (out []string) {
	for _, c := range s.Experiments[0].Cells() {
		out = append(out, c.Label)
	}
	return out
}

func TestDesigns(t *testing.T) {
	axes := "      axes: {acks: ['1', all], batch.size: [16KiB, 64KiB, 1MiB], topic.storage.append.engine: [buffered, mapped]}\n"
	cases := []struct {
		name, matrix string
		want         []string
	}{
		{"oneway is the default", axes, []string{"base", "acks=all", "batch.size=64KiB", "batch.size=1MiB", "storage.append.engine=mapped"}},
		{"list", "      design: list\n" + axes + "      include: [{acks: '0', linger.ms: 5}]\n", []string{"base", "acks=0 linger.ms=5"}},
		{"exclude keeps the base", "      exclude: [{acks: all}, {acks: '1', batch.size: 16KiB}]\n" + axes, []string{"base", "batch.size=64KiB", "batch.size=1MiB"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, labels(parse(t, head+"    matrix:\n"+c.matrix))); diff != "" {
				t.Errorf("cells differ (-want +got):\n%s", diff)
			}
		})
	}
	if got := len(labels(parse(t, head+"    matrix:\n      design: full\n"+axes))); got != 12 {
		t.Errorf("full design has %d cells, want 2·3·2", got)
	}
}

// TestPairwiseCoversEveryPair compares with the definition.
func TestPairwiseCoversEveryPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(1, 4), 2, 5).Draw(t, "values per axis")
		var axes []result.Axis
		full := 1
		for i, n := range counts {
			a := result.Axis{Name: string(rune('a' + i))}
			for v := range n {
				a.Values = append(a.Values, string(rune('0'+v)))
			}
			axes = append(axes, a)
			full *= n
		}
		base := map[string]string{}
		for _, a := range axes {
			base[a.Name] = a.Values[0]
		}
		rows := pairwise(base, axes)
		for i, a := range axes {
			for _, b := range axes[i+1:] {
				for _, av := range a.Values {
					for _, bv := range b.Values {
						found := false
						for _, r := range rows {
							found = found || r[a.Name] == av && r[b.Name] == bv
						}
						if !found {
							t.Fatalf("no row has %s=%s and %s=%s", a.Name, av, b.Name, bv)
						}
					}
				}
			}
		}
		if len(rows) > full {
			t.Fatalf("%d rows, the full design has %d", len(rows), full)
		}
	})
}

func TestLayersAndSections(t *testing.T) {
	s := parse(t, `apiVersion: bench/v1
name: t
defaults:
  blocks: 3
  workload: {record.size: 1KiB, rate: 10k/s}
  client: {compression.type: lz4, acks: -1}
experiments:
  - name: e
    workload: {record.size: 200B}
    topic: {compression.type: zstd, segment.bytes: 1048576, x.of.a.stranger: 1}
    broker: {num.io.threads: 3}
`)
	l := s.Experiments[0].Cells()[0].Load
	if l.RecordBytes != 200 || l.Rate.PerSecond != 10_000 || l.Compression != "lz4" || l.Acks != -1 || l.Target != "process" || s.Experiments[0].Blocks != 3 {
		t.Errorf("load %+v", l)
	}
	if diff := cmp.Diff(map[string]string{"compression.type": "zstd", "segment.bytes": "1048576", "x.of.a.stranger": "1"}, l.Topic); diff != "" {
		t.Errorf("topic properties (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"num.io.threads": "3"}, l.Broker); diff != "" {
		t.Errorf("broker properties (-want +got):\n%s", diff)
	}
	if s.Experiments[0].Kind() != result.Paced {
		t.Errorf("kind %s, want paced", s.Experiments[0].Kind())
	}
}

// TestIdentityFollowsTheConfig: equal settings written differently are the same
// cell, and a cell keeps its identity when its neighbours change.
func TestIdentityFollowsTheConfig(t *testing.T) {
	a := parse(t, head+"    client: {batch.size: 65536}\n    workload: {window: 2000ms}\n").Experiments[0].Cells()[0]
	b := parse(t, head+"    client: {batch.size: 64KiB}\n    matrix: {axes: {acks: ['1', '0']}}\n").Experiments[0].Cells()[0]
	if a.ID != b.ID {
		t.Errorf("cells %s and %s, want one: %v", a.ID, b.ID, cmp.Diff(a.Config, b.Config))
	}
	c := parse(t, head+"    client: {batch.size: 32KiB}\n").Experiments[0].Cells()[0]
	if a.ID == c.ID {
		t.Error("another batch size is the same cell")
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"unknown field", "apiVersion: bench/v1\nname: t\nexperimnts: []\n", `3:1: unknown field "experimnts"; did you mean "experiments"?`},
		{"unknown property", head + "    client: {ack: 1}\n", `5:14: unknown client property "ack"; did you mean "acks"?`},
		{"wrong section", head + "    workload: {acks: 1}\n", "5:16: acks is a client property, not a workload property"},
		{"topic typo", head + "    topic: {storage.apend.engine: mapped}\n", `5:13: unknown topic property "storage.apend.engine"; did you mean "storage.append.engine"?`},
		{"axis typo", head + "    matrix: {axes: {stroage.read.engine: [pread]}}\n", `5:21: unknown property "stroage.read.engine"; did you mean "storage.read.engine"?`},
		{"bad value", head + "    client: {compression.type: zip}\n", `5:32: compression.type: "zip" is not one of none, gzip, snappy, lz4, zstd`},
		{"value twice", head + "    matrix: {axes: {batch.size: [64KiB, 65536]}}\n", `axis batch.size has "64KiB" twice`},
		{"axis without list", head + "    matrix: {axes: {acks: 1}}\n", "axis acks: want a list of values"},
		{"design", head + "    matrix: {design: fulll}\n", `unknown design "fulll"; did you mean "full"?`},
		{"version", "apiVersion: bench/v9\nname: t\n", `apiVersion "bench/v9"`},
		{"no experiments", "apiVersion: bench/v1\nname: t\n", "no experiments"},
		{"relative to nothing", head + "    workload: {rate: 50% of f}\n", `unknown experiment "f"`},
		{"external without address", head + "    workload: {target: external}\n", "needs bootstrap"},
		{"not YAML", "apiVersion: [\n", ":"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			var placed *Error
			if !errors.As(err, &placed) {
				t.Errorf("%v has no place", err)
			}
		})
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]int64{"100B": 100, "64KiB": 65536, "2GiB": 2 << 30, "1MB": 1e6, "7": 7, " 3 MiB": 3 << 20} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("size %q: got %d, %v, want %d", text, got, err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<50).Draw(t, "n")
		if got, err := ParseSize(FormatSize(n)); err != nil || got != n {
			t.Fatalf("%d is written %s and read %d, %v", n, FormatSize(n), got, err)
		}
	})
	for text, want := range map[string]Rate{"max": {}, "10k/s": {PerSecond: 1e4}, "1.5M/s": {PerSecond: 1.5e6}, "50% of burst": {Percent: 50, Of: "burst"}} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("rate %q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10", "-1/s", "NaN/s", "0/s", "% of x", "50% of "} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("rate %q gave %+v, want an error", text, got)
		}
	}
	if l := parse(t, head).Experiments[0].Cells()[0].Load; l.Window != 2*time.Second {
		t.Errorf("default window %v", l.Window)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "    matrix: {design: pairwise, axes: {acks: ['1', all], batch.size: [1KiB]}, exclude: [{acks: all}], include: [{linger.ms: 5}]}\n"))
	f.Add([]byte("apiVersion: bench/v1\nname: t\ndefaults: {blocks: 2, workload: {rate: max}}\nexperiments: [{name: a, workload: {driver: null}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte(head + "    matrix: {axes: {? [a] : [b]}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Parse(data)
		if err != nil {
			return
		}
		for i := range s.Experiments {
			cells := s.Experiments[i].Cells()
			if len(cells) == 0 || !cells[0].Base {
				t.Fatalf("experiment %d of an accepted suite has no base cell", i)
			}
		}
	})
}

func TestTrials(t *testing.T) {
	const suite = "apiVersion: bench/v1\nname: t\nexperiments:\n  - name: one\n  - name: log\n    workload: {driver: log}\ntrials: {of: one"
	s, err := Parse([]byte(suite + "}"))
	if err != nil {
		t.Fatal(err)
	}
	r := s.Trials.Resolved()
	if r.Experiment != &s.Experiments[0] || r.Count != 60 || r.Fault != "power_cut" || r.PerSecond != 2000 || r.Least != 200*time.Millisecond || r.Most != time.Second || r.RecordBytes != 500 {
		t.Errorf("defaults: %+v", r)
	}
	for line, want := range map[string]string{
		", fault: flood}":    "\"flood\" is not one of power_cut, process_kill",
		", count: 0}":        "count \"0\"",
		", rate: max}":       "rate \"max\"",
		", most: 100ms}":     "most \"100ms\"",
		", least: soon}":     "least \"soon\"",
		", record.size: 8B}": "record.size \"8B\"",
		", conut: 3}":        "did you mean \"count\"",
		"x}":                 "of names no experiment: \"onex\"; did you mean \"one\"",
	} {
		_, err := Parse([]byte(suite + line))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	if _, err := Parse([]byte(strings.Replace(suite, "of: one", "of: log", 1) + "}")); err == nil || !strings.Contains(err.Error(), "target inproc") {
		t.Errorf("trials of an experiment without a broker: %v", err)
	}
	varied := strings.Replace(suite, "- name: one", "- name: one\n    matrix: {axes: {broker.message.max.bytes: [1000, 2000]}}", 1)
	if _, err := Parse([]byte(varied + "}")); err == nil || !strings.Contains(err.Error(), "differ in a broker property") {
		t.Errorf("trials of cells with brokers of their own: %v", err)
	}
}
