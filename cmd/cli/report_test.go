package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/bench/result"
)

// plannedFolder is a run folder whose runs are still to come.
func plannedFolder(t *testing.T) string {
	t.Helper()
	w, err := result.Create(t.TempDir(), "quick", "now")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Begin([]byte("name: quick\n"), result.Plan{Schema: result.PlanSchema, Suite: "quick"}, nil); err != nil {
		t.Fatal(err)
	}
	return w.Dir()
}

func runReport(t *testing.T, asJSON bool, args ...string) (out, errs string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	c := newReportCommand(&App{Out: &o, Err: &e, JSON: asJSON})
	c.SetArgs(args)
	c.SilenceUsage, c.SilenceErrors = true, true
	err = c.Execute()
	return o.String(), e.String(), err
}

func TestReportWritesFiles(t *testing.T) {
	dir := plannedFolder(t)
	out, errs, err := runReport(t, false, dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "report.html"); strings.TrimSpace(out) != want {
		t.Errorf("standard output %q, want only the path %q", out, want)
	}
	if !strings.Contains(errs, "No run of this invocation finished") {
		t.Errorf("the headline is not on standard error: %q", errs)
	}
	elsewhere := filepath.Join(t.TempDir(), "mine.html")
	if _, _, err := runReport(t, false, dir, "-o", elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{elsewhere, strings.TrimSuffix(elsewhere, ".html") + ".md"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestReportJSON(t *testing.T) {
	out, _, err := runReport(t, true, plannedFolder(t))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		HTML   string
		Report struct{ Title string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if got.HTML == "" || got.Report.Title != "quick" {
		t.Errorf("JSON names %q and title %q", got.HTML, got.Report.Title)
	}
}

// codeOf is the exit code that an error asks for.
func codeOf(err error) int {
	var coded codedError
	if errors.As(err, &coded) {
		return coded.code
	}
	return ExitOK
}

// TestReportUnreadable: a folder that cannot be read makes the result invalid, and
// the report of the others is written all the same.
func TestReportUnreadable(t *testing.T) {
	good, bad := plannedFolder(t), t.TempDir()
	_, _, err := runReport(t, false, bad)
	if code := codeOf(err); code != ExitInvalid {
		t.Errorf("nothing readable: exit code %d, want %d (%v)", code, ExitInvalid, err)
	}
	_, _, err = runReport(t, false, bad, good)
	if code := codeOf(err); code != ExitInvalid || !strings.Contains(err.Error(), bad) {
		t.Errorf("one of two unreadable: exit code %d, error %v; want %d and the folder's name", code, err, ExitInvalid)
	}
	if _, err := os.Stat(filepath.Join(good, "report-across.html")); err != nil {
		t.Errorf("the readable folder got no report: %v", err)
	}
}
