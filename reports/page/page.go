// Package page writes the report of one or more run folders: report.html, one file
// that needs nothing else, and report.md beside it.
//
// The HTML opens from disk without a network and reads without JavaScript; the
// script only sorts tables and copies CSV. Every panel is built on its own: what
// cannot be made is replaced by its error, and the others stand. Invocations whose
// machines differ in what matters never share a picture.
//
// It says only what the data allow: conclusions are made from the verdicts of
// compare.json, and where there are none, that is said.
package page

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"tidemark/bench/result"
	"tidemark/reports/dataset"
)

// makers are the panels of an invocation in reading order.
var makers = []maker{
	{"durability", "Loss and throughput", "Loss", durability},
	{"replication", "Copies and slow followers", "Replication", replicated},
	{"throughput", "Throughput per cell", "Throughput", throughput},
	{"fetch", "Fetch throughput per read engine", "Fetch", fetch},
	{"spectrum", "Percentile spectrum", "Spectrum", spectra},
	{"load", "Latency over offered load", "Load", load},
	{"time", "Throughput over time", "Over time", timeline},
	{"cpu", "Processor cost", "CPU", cost},
	{"batch", "Batch size", "Batch", batches},
	{"compression", "Compression", "Compression", compression},
	{"ceiling", "Distance to the calibrated ceiling", "Ceiling", distance},
	{"cells", "All cells", "All cells", cells},
	{"lateness", "Schedule lateness", "Lateness", lateness},
	{"noise", "Noise and run order", "Noise", noise},
	{"validity", "Validity", "Validity", validity},
	{"machine", "Machine and calibration", "Machine", machine},
}

// Report is everything a rendering shows.
type Report struct {
	Title    string    `json:"title"`
	Sections []Section `json:"sections"`
	// Problems are folders that could not be read.
	Problems []string `json:"problems,omitempty"`
	// Across compares invocations: of one machine on shared axes, of several only
	// by what differs between the machines.
	Across []Panel `json:"across,omitempty"`
}

// Section is one invocation.
type Section struct {
	Name       string      `json:"name"`
	Suite      string      `json:"suite"`
	About      string      `json:"about,omitempty"`
	Taken      string      `json:"taken,omitempty"`
	Commit     string      `json:"commit,omitempty"`
	Command    string      `json:"command,omitempty"`
	Machine    string      `json:"machine"`
	Key        string      `json:"key"`
	Headline   string      `json:"headline"`
	Tiles      []Tile      `json:"tiles"`
	Conclusion []Statement `json:"conclusion"`
	// Undecided is every comparison that the conclusion counts and does not name.
	Undecided Table   `json:"undecided"`
	Panels    []Panel `json:"panels"`
	// Problems are files of the folder that could not be read; what they hold is in
	// no figure.
	Problems []string `json:"problems,omitempty"`
	// Prefix keeps anchors apart where a report has several sections.
	Prefix string `json:"-"`
}

// Load reads run folders and builds their report. Folders that cannot be read are
// listed as problems; when none can be read, the error says why.
func Load(folders ...string) (*Report, error) {
	set, err := dataset.Load(folders...)
	if err != nil {
		return nil, err
	}
	r := &Report{}
	var suites []string
	for _, g := range set.Groups {
		for _, inv := range g.Invocations {
			s := section(inv, g.Key)
			if len(r.Sections) > 0 {
				s.Prefix = fmt.Sprintf("s%d-", len(r.Sections)+1)
			}
			r.Sections = append(r.Sections, s)
			if len(suites) == 0 || suites[len(suites)-1] != s.Suite {
				suites = append(suites, s.Suite)
			}
		}
	}
	r.Title = list(suites)
	r.Across = across(set)
	for _, p := range set.Problems {
		r.Problems = append(r.Problems, p.Error())
	}
	return r, nil
}

func section(inv *dataset.Invocation, key string) Section {
	v := &view{inv}
	s := Section{
		Name: inv.Name, Suite: inv.Plan.Suite, About: inv.Plan.About, Taken: inv.Plan.CreatedUTC, Commit: inv.Plan.Commit,
		Command: strings.Join(inv.Plan.Command, " "), Machine: "an unknown machine", Key: key, Problems: inv.Problems,
	}
	if s.Suite == "" {
		s.Suite = inv.Name
	}
	if inv.Plan.Dirty {
		s.Commit += " with local changes"
	}
	if inv.Env != nil {
		s.Machine = machineLine(inv.Env)
	}
	s.Headline, s.Tiles, s.Conclusion, s.Undecided = headline(v), tiles(v), conclude(v), openTable(v)
	for _, m := range makers {
		s.Panels = append(s.Panels, m.build(v))
	}
	return s
}

// Write builds the report of the folders and writes it to Path. It returns the path
// of the HTML file.
func Write(folders ...string) (path string, err error) {
	if len(folders) == 0 {
		return "", fmt.Errorf("write report: no folder given")
	}
	r, err := Load(folders...)
	if err != nil {
		return "", err
	}
	path = Path(folders...)
	return path, r.WriteFiles(path)
}

// Path is where the report of folders goes: report.html in the folder, or
// report-across.html in the last of several.
func Path(folders ...string) string {
	name := "report.html"
	if len(folders) > 1 {
		name = "report-across.html"
	}
	return filepath.Join(folders[len(folders)-1], name)
}

// WriteFiles writes the HTML to path and the Markdown beside it, each under a
// temporary name first, so that a reader never sees half a report.
func (r *Report) WriteFiles(path string) error {
	beside := strings.TrimSuffix(path, filepath.Ext(path)) + ".md"
	if beside == path {
		return fmt.Errorf("write report %s: the name must not end in .md, which is the text beside it", path)
	}
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{{path, r.HTML}, {beside, r.Markdown}} {
		var b bytes.Buffer
		if err := f.write(&b); err != nil {
			return fmt.Errorf("write report %s: %w", f.path, err)
		}
		if err := result.Replace(f.path, b.Bytes()); err != nil {
			return fmt.Errorf("write report %s: %w", f.path, err)
		}
	}
	return nil
}

// Summary writes the headlines and what went wrong, for a terminal.
func (r *Report) Summary(w io.Writer) {
	for _, s := range r.Sections {
		fmt.Fprintf(w, "%s: %s\n", s.Suite, s.Headline)
		for _, p := range s.Panels {
			if p.Error != "" {
				fmt.Fprintf(w, "  panel %s could not be made: %s\n", p.ID, p.Error)
			}
		}
	}
	for _, p := range r.Faults() {
		fmt.Fprintf(w, "  %s\n", p)
	}
}

// Faults are all folders and files that could not be read.
func (r *Report) Faults() []string {
	out := append([]string(nil), r.Problems...)
	for _, s := range r.Sections {
		out = append(out, s.Problems...)
	}
	return out
}
