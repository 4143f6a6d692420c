package golden

import (
	"os"
	"path/filepath"
	"testing"
)

// failing notes that Check failed instead of failing the test.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Errorf(string, ...any) { f.failed = true }

func TestCheck(t *testing.T) {
	defer func(was bool) { *rewrite = was }(*rewrite)
	path := filepath.Join(t.TempDir(), "below", "page.md")
	*rewrite = true
	Check(t, path, "first\n")
	*rewrite = false
	Check(t, path, "first\n")
	noted := &failing{TB: t}
	if Check(noted, path, "second\n"); !noted.failed {
		t.Error("a file that differs passed")
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != "first\n" {
		t.Errorf("without -rewrite the file became %q, error %v", kept, err)
	}
}
