package faults

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tidemark/internal/golden"
)

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

// TestReferencePage keeps docs/reference/faults.md what the table says.
func TestReferencePage(t *testing.T) {
	var page strings.Builder
	if err := WriteMarkdown(&page); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join(root, "docs", "reference", "faults.md"), page.String())
}
