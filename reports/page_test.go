package reports_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"tidemark/internal/golden"
	"tidemark/reports/page"
)

var keep = flag.String("keep", "", "write the sample report to this file, to look at it")

// panelIDs are all panels in reading order; other programs link to them.
var panelIDs = []string{"durability", "replication", "throughput", "fetch", "spectrum", "load", "time", "cpu", "batch", "compression", "ceiling", "cells", "lateness", "noise", "validity", "machine"}

func load(t *testing.T, folders ...string) *page.Report {
	t.Helper()
	r, err := page.Load(folders...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func render(t *testing.T, r *page.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func panel(t *testing.T, r *page.Report, id string) page.Panel {
	t.Helper()
	for _, s := range r.Sections {
		for _, p := range s.Panels {
			if p.ID == id {
				return p
			}
		}
	}
	t.Fatalf("no panel %q", id)
	return page.Panel{}
}

// TestWhole builds a report of a complete invocation and asks of it what every
// reader needs: all panels, no fault in any, and a page that is well formed and
// complete in itself.
func TestWhole(t *testing.T) {
	r := load(t, wholeFolder(t))
	if *keep != "" {
		path, err := filepath.Abs(*keep)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.WriteFiles(path); err != nil {
			t.Fatal(err)
		}
	}
	var ids []string
	for _, p := range r.Sections[0].Panels {
		ids = append(ids, p.ID)
		if p.ID == "replication" {
			continue // The sample is of one broker; TestReplicationPanel has another.
		}
		if p.Error != "" || p.Missing != "" {
			t.Errorf("panel %s: error %q, missing %q", p.ID, p.Error, p.Missing)
		}
		if len(p.Tables) == 0 {
			t.Errorf("panel %s has no numbers behind it", p.ID)
		}
		for _, f := range p.Figures {
			if f.Error != "" {
				t.Errorf("panel %s, picture %q: %s", p.ID, f.Heading, f.Error)
			}
		}
	}
	if d := cmp.Diff(panelIDs, ids); d != "" {
		t.Errorf("panels (-want +got):\n%s", d)
	}
	checkPage(t, render(t, r))
}

// checkPage checks that a page parses, that its pictures are well-formed XML, that
// its anchors are unique and its links land, and that it needs nothing from outside.
func checkPage(t *testing.T, text string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids, links := map[string]bool{}, map[string]bool{}
	walk(doc, func(n *html.Node) {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				if ids[a.Val] {
					t.Errorf("id %q appears twice", a.Val)
				}
				ids[a.Val] = true
			case "href", "src", "xlink:href", "action", "poster", "srcset":
				if rest, ok := strings.CutPrefix(a.Val, "#"); ok {
					links[rest] = true
				} else if a.Val != "data:," {
					t.Errorf("<%s %s=%q> reaches outside the page", n.Data, a.Key, a.Val)
				}
			}
		}
	})
	for l := range links {
		if !ids[l] {
			t.Errorf("link to #%s lands nowhere", l)
		}
	}
	if m := regexp.MustCompile(`url\(|@import|https?://[^"' ]*`).FindAllString(text, -1); m != nil {
		for _, s := range m {
			if s != "http://www.w3.org/2000/svg" {
				t.Errorf("the page refers to %q", s)
			}
		}
	}
	pictures := regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(text, -1)
	for _, svg := range pictures {
		wellFormed(t, svg)
	}
}

func walk(n *html.Node, visit func(*html.Node)) {
	if n.Type == html.ElementNode {
		visit(n)
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		_, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Errorf("picture is not well-formed XML: %v\n%.300s", err, svg)
			return
		}
	}
}

// TestGolden holds the whole text of a report against a file a reviewer can read.
func TestGolden(t *testing.T) {
	r := load(t, wholeFolder(t))
	var got bytes.Buffer
	if err := r.Markdown(&got); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join("testdata", "report.md"), got.String())
}

func conclusion(r *page.Report, kinds ...string) string {
	var out []string
	for _, s := range r.Sections[0].Conclusion {
		for _, k := range kinds {
			if s.Kind == k {
				out = append(out, s.Experiment+" "+s.Subject+": "+s.Text)
			}
		}
	}
	return strings.Join(out, "\n")
}

// TestConclusion: effects far beyond the noise are named with their direction, and
// nothing else is.
func TestConclusion(t *testing.T) {
	r := load(t, wholeFolder(t))
	for kind, names := range map[string][]string{
		"faster":     {"batch.size=1MiB ×2.", "storage.read.engine=mapped +8"},
		"slower":     {"batch.size=16KiB ×0.4", "compression.type=zstd −4"},
		"equivalent": {"acks=all"},
		"undecided":  {"5 with fewer than six blocks"},
		"measured":   {"Up to 1.5"},
		"limit":      {"1 run is invalid", "page cache"},
	} {
		said := conclusion(r, kind)
		for _, name := range names {
			if !strings.Contains(said, name) {
				t.Errorf("conclusions of kind %s do not name %q:\n%s", kind, name, said)
			}
		}
	}
	var open []string
	for _, line := range r.Sections[0].Undecided.Rows {
		open = append(open, line.Cells[1].Text)
	}
	if !slices.Contains(open, "storage.validation=header") || slices.Contains(open, "batch.size=1MiB") {
		t.Errorf("the table of what is open lists %v", open)
	}
	first := map[string]int{}
	for i, s := range r.Sections[0].Conclusion {
		if _, seen := first[s.Kind]; !seen {
			first[s.Kind] = i
		}
	}
	if first["undecided"] < first["faster"] || first["undecided"] < first["measured"] || len(conclusion(r, "undecided")) > 500 {
		t.Errorf("what was found stands first, and what is open in one sentence: %v\n%s", first, conclusion(r, "undecided"))
	}
	if said := conclusion(r, "faster", "slower"); strings.Contains(said, "acks=all") || strings.Contains(said, "validation") {
		t.Errorf("a difference is claimed that no verdict shows:\n%s", said)
	}
	if said := conclusion(r, "faster", "slower", "equivalent", "undecided"); strings.Contains(said, "rate=") {
		t.Errorf("cells of different offered rates are compared, which is no comparison:\n%s", said)
	}
}

// TestPercentilesAgree: a percentile reads the same in every panel that holds it.
func TestPercentilesAgree(t *testing.T) {
	r := load(t, wholeFolder(t))
	column := func(table page.Table, row, name string) string {
		for _, line := range table.Rows {
			for i, c := range table.Columns {
				if c.Name == name && strings.HasPrefix(line.Cells[0].Text, row) {
					return line.Cells[i].Text
				}
			}
		}
		t.Fatalf("table %s has no %s of %s", table.Name, name, row)
		return ""
	}
	spectrum, load := panel(t, r, "spectrum").Tables[0], panel(t, r, "load").Tables[0]
	for _, q := range []string{"p50", "p99"} {
		if a, b := column(spectrum, "1.5", q), column(load, "1.5", q); a != b || a == "–" {
			t.Errorf("%s at 1.5 M/s: %s in the spectrum's table, %s over the load", q, a, b)
		}
	}
}

// TestAgain: a base that ran under a second name is no finding, and where a verdict
// calls it different, that is said as a warning.
func TestAgain(t *testing.T) {
	for _, c := range []struct {
		rate float64
		want bool
	}{{1, false}, {1.3, true}} {
		s := newSample(t, 5, "aaaaaa", 6)
		s.burst("burst", 100, 5e6, []cellSpec{{}, {axis: "acks", value: "all"}, {again: true, produce: c.rate}})
		r := load(t, s.write())
		if said := conclusion(r, "faster", "slower", "equivalent", "undecided"); strings.Contains(said, "base again") {
			t.Errorf("the base itself is listed as a finding:\n%s", said)
		}
		if got := strings.Contains(conclusion(r, "limit"), "proves nothing here"); got != c.want {
			t.Errorf("true rate ×%v: warned of a false finding: %v, want %v\n%s", c.rate, got, c.want, conclusion(r, "limit"))
		}
	}
}

// TestFloor: a reader finds what the noise floor is, of which figures, and which cells
// have none, wherever verdicts are explained.
func TestFloor(t *testing.T) {
	r := load(t, wholeFolder(t))
	for what, text := range map[string]string{
		"the caption of all cells": panel(t, r, "cells").Caption,
		"the caption of the noise": panel(t, r, "noise").Caption,
	} {
		for _, want := range []string{"A/A", "burst cells: producing −", "fetching −", "broker CPU per record −", "Sustained cells and cells at a fixed rate have none"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", what, want, text)
			}
		}
	}
	if said := panel(t, r, "cells").Caption; !strings.Contains(said, "lies beyond the noise floor") {
		t.Errorf("the definition of a verdict leaves the floor out:\n%s", said)
	}
	for _, tile := range r.Sections[0].Tiles {
		if tile.Name == "noise floor" && !regexp.MustCompile(`^−.* to \+`).MatchString(tile.Value) {
			t.Errorf("the tile shows the floor as %q, want the two changes that it is", tile.Value)
		}
	}
	s := newSample(t, 7, "aaaaaa", 6)
	s.burst("burst", 100, 5e6, []cellSpec{{}, {axis: "acks", value: "all"}})
	if said := panel(t, load(t, s.write()), "cells").Caption; !strings.Contains(said, "no noise floor was taken") {
		t.Errorf("no A/A ran, and the caption does not say that there is no floor:\n%s", said)
	}
}

// TestFormerComparison: a comparison with one floor for all figures is made again, and
// the report says so.
func TestFormerComparison(t *testing.T) {
	s := newSample(t, 7, "aaaaaa", 6)
	s.burst("burst", 100, 5e6, []cellSpec{{}, {axis: "acks", value: "all", produce: 1.3}, {again: true}})
	dir := s.write()
	path := filepath.Join(dir, "compare.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var former map[string]any
	if err := json.Unmarshal(data, &former); err != nil {
		t.Fatal(err)
	}
	delete(former, "noise")
	former["pairs"] = []any{}
	if data, err = json.Marshal(former); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	r := load(t, dir)
	if said := conclusion(r, "faster"); !strings.Contains(said, "acks=all") {
		t.Errorf("the comparison was not made again: %q", said)
	}
	if notes := strings.Join(panel(t, r, "validity").Notes, " "); !strings.Contains(notes, "one noise floor for all figures") {
		t.Errorf("the report does not say that its verdicts are not the folder's: %s", notes)
	}
}

// TestOneBlock: a single block supports no claim, and the report makes none.
func TestOneBlock(t *testing.T) {
	s := whole(t, "aaaaaa", 1)
	r := load(t, s.write())
	if said := conclusion(r, "faster", "slower", "equivalent"); said != "" {
		t.Errorf("claims from one block:\n%s", said)
	}
	if !strings.Contains(r.Sections[0].Headline, "too few") {
		t.Errorf("headline %q does not say that the runs are too few", r.Sections[0].Headline)
	}
	text := render(t, r)
	checkPage(t, text)
	if regexp.MustCompile(`\d % (faster|slower|cheaper|dearer)`).MatchString(text) {
		t.Error("the page calls a cell of one run faster or slower")
	}
}

// TestMachines: folders of different machines share no picture; folders of one do.
func TestMachines(t *testing.T) {
	small := func(host string) string {
		s := newSample(t, 7, host, 6)
		s.burst("burst", 100, 5e6, []cellSpec{{}, {axis: "acks", value: "all"}})
		return s.write()
	}
	a, b, other := small("aaaaaa"), small("aaaaaa"), small("bbbbbb")
	apart := load(t, a, other)
	if len(apart.Across) != 1 || apart.Across[0].ID != "machines" {
		t.Fatalf("two machines: across panels %v, want only what differs", apart.Across)
	}
	if n := len(apart.Across[0].Figures); n != 0 {
		t.Errorf("two machines share %d pictures, want none", n)
	}
	table, err := apart.Across[0].Tables[0].CSV()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table, "6.1.0-bbbbbb") || strings.Contains(table, "processor: model") {
		t.Errorf("differences must list what differs and only that:\n%s", table)
	}
	checkPage(t, render(t, apart))

	unlike := newSample(t, 7, "aaaaaa", 6)
	unlike.paced("latency", []float64{10e3}, 2_000)
	if text := render(t, load(t, a, unlike.write())); !strings.Contains(text, "No cell has the same configuration in all of them") {
		t.Error("one machine, nothing in common: the page does not say why there is no picture")
	}

	together := load(t, a, b)
	if len(together.Across) != 1 || len(together.Across[0].Figures) != 1 || together.Across[0].Error != "" {
		t.Fatalf("one machine twice: across panels %+v, want one with a shared picture", together.Across)
	}
	checkPage(t, render(t, together))
}

// TestWrite: the files land where they are expected and hold the same report.
func TestWrite(t *testing.T) {
	dir := wholeFolder(t)
	path, err := page.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "report.html"); path != want {
		t.Errorf("path %s, want %s", path, want)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, string(text))
	if _, err := os.Stat(filepath.Join(dir, "report.md")); err != nil {
		t.Errorf("the text beside it: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".report*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files left: %v %v", left, err)
	}
	if err := load(t, dir).WriteFiles(filepath.Join(dir, "x.md")); err == nil {
		t.Error("an HTML report named .md would overwrite the text beside it; want an error")
	}
}

// TestJSON: the report as JSON carries titles, sentences and tables, and no markup.
func TestJSON(t *testing.T) {
	data, err := json.Marshal(load(t, wholeFolder(t)))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(data, []byte("svg")) {
		t.Error("JSON holds markup")
	}
	var back struct {
		Sections []struct{ Panels []struct{ ID string } }
	}
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if len(back.Sections) != 1 || len(back.Sections[0].Panels) != len(panelIDs) {
		t.Errorf("JSON has %d sections; want one with %d panels", len(back.Sections), len(panelIDs))
	}
}

// TestCompression: what was compressed before the window is called so wherever it
// appears, and a client that compresses while it is measured speaks for applications.
func TestCompression(t *testing.T) {
	codecs := func(gain float64) []cellSpec {
		return []cellSpec{{}, {axis: "compression.type", value: "zstd", produce: gain, fetch: gain, cost: 1 / gain, ratio: 1.8}}
	}
	s := newSample(t, 9, "aaaaaa", 6)
	s.burst("burst", 100, 20e6, codecs(1.7))
	alone := load(t, s.write())
	claims := conclusion(alone, "faster", "slower")
	if n := strings.Count(claims, "compressed beforehand"); n != 3 || n != strings.Count(claims, "zstd") {
		t.Errorf("%d of the sentences on zstd say that it was compressed beforehand, want all three:\n%s", n, claims)
	}
	if said := panel(t, alone, "compression"); !strings.Contains(said.Title, "compressed beforehand") || !strings.Contains(strings.Join(said.Notes, " "), "was not measured here") {
		t.Errorf("%q, %q", said.Title, said.Notes)
	}
	for _, id := range []string{"throughput", "fetch", "cpu", "compression", "cells", "ceiling"} {
		if p := panel(t, alone, id); !strings.Contains(strings.Join(p.Notes, " "), "before the measured window") {
			t.Errorf("panel %s holds compressed cells and does not say that compressing is not in them: %q", id, p.Notes)
		}
	}

	s = newSample(t, 9, "aaaaaa", 6)
	s.burst("burst", 100, 20e6, codecs(1.7))
	s.burst("client", 100, 3e6, codecs(0.7))
	for i := range s.plan.Experiments[1].Cells {
		s.plan.Experiments[1].Cells[i].Driver = "franz"
	}
	both := load(t, s.write())
	p := panel(t, both, "compression")
	if !strings.Contains(p.Title, "an application gets") || !strings.Contains(p.Title, "slower") || len(p.Figures) != 2 {
		t.Errorf("%d pictures under %q, want two and what the client got", len(p.Figures), p.Title)
	}
	if said := conclusion(both, "slower"); !strings.Contains(said, "Slower than the base: compression.type=zstd −3") {
		t.Errorf("what the client got: %s", said)
	}
}
