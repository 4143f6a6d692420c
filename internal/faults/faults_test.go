package faults

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the page instead of comparing it")

const root = "../.."

// TestProofsExist: every test named is in its folder, so a proof that was renamed
// or dropped is missed.
func TestProofsExist(t *testing.T) {
	tests := map[string]bool{} // folder.TestName
	name := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	seen := map[string]bool{}
	for _, a := range Areas() {
		for _, f := range a.Faults {
			if !strings.HasPrefix(f.ID, a.Letter) || seen[f.ID] || len(f.Proofs) == 0 || f.Fault == "" || f.Outcome == "" {
				t.Errorf("row %s is of another area, twice there or not filled in", f.ID)
			}
			seen[f.ID] = true
			for _, proof := range f.Proofs {
				folder, test, _ := strings.Cut(proof, ".")
				if !seen[folder] {
					seen[folder] = true
					for _, found := range testNames(t, folder, name) {
						tests[folder+"."+found] = true
					}
				}
				if !tests[proof] {
					t.Errorf("%s: there is no test %s in %s", f.ID, test, folder)
				}
			}
		}
	}
}

func testNames(t *testing.T, folder string, name *regexp.Regexp) (out []string) {
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllSubmatch(source, -1) {
			out = append(out, string(m[1]))
		}
	}
	return out
}

// TestPage: docs/reference/faults.md is what the table says.
func TestPage(t *testing.T) {
	var page bytes.Buffer
	if err := WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docs", "reference", "faults.md")
	if *rewrite {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), page.String()); diff != "" {
		t.Errorf("%s is not current; run go test ./internal/faults -rewrite (-page +table):\n%s", path, diff)
	}
}
