package reports_test

import (
	"flag"
	"path/filepath"
	"testing"

	"tidemark/reports/page"
)

var keep = flag.String("keep", "", "write the sample report to this file, to look at it")

func TestKeep(t *testing.T) {
	if *keep == "" {
		t.Skip("only with -keep FILE")
	}
	r, err := page.Load(whole(t, "aaaaaa", 6).write())
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(*keep)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFiles(path); err != nil {
		t.Fatal(err)
	}
}
