package enginetest_test

import (
	"testing"

	"tidemark/engines"
	"tidemark/engines/catalog"
	"tidemark/engines/enginetest"
	"tidemark/internal/vfs"
)

func TestBuiltinAppendEngines(t *testing.T) {
	for _, spec := range catalog.Builtin().Appends() {
		t.Run(spec.Name, func(t *testing.T) {
			if err := spec.Available(t.TempDir()); err != nil {
				t.Skipf("not available here: %v", err)
			}
			checkResults(t, enginetest.RunAppend(spec, t.TempDir()))
		})
	}
}

// What lends memory keeps the contract of loans.
func TestBuiltinInPlaceEngines(t *testing.T) {
	tested := 0
	for _, spec := range catalog.Builtin().Appends() {
		if err := spec.Available(t.TempDir()); err != nil {
			t.Logf("%s is not available here: %v", spec.Name, err)
			continue
		}
		if lends(t, spec) {
			tested++
			t.Run(spec.Name, func(t *testing.T) { checkResults(t, enginetest.RunInPlace(spec, t.TempDir())) })
		}
	}
	if tested == 0 {
		t.Skip("no engine that is available lends memory")
	}
}

func lends(t *testing.T, spec engines.AppendSpec) bool {
	t.Helper()
	f, err := vfs.OS{}.Create(t.TempDir() + "/segment")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // The test's own file.
	a, err := spec.Open(f, 0, engines.AppendOptions{SegmentBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, ok := a.(engines.InPlaceAppender)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	return ok
}

func TestBuiltinReadEngines(t *testing.T) {
	for _, spec := range catalog.Builtin().Reads() {
		t.Run(spec.Name, func(t *testing.T) { checkResults(t, enginetest.RunRead(spec, t.TempDir())) })
	}
}

func TestBuiltinPairs(t *testing.T) {
	for _, a := range catalog.Builtin().Appends() {
		for _, r := range catalog.Builtin().Reads() {
			t.Run(a.Name+"-"+r.Name, func(t *testing.T) {
				if err := a.Available(t.TempDir()); err != nil {
					t.Skipf("not available here: %v", err)
				}
				checkResults(t, enginetest.RunPair(a, r, t.TempDir()))
			})
		}
	}
}

// checkResults wants every clause to hold, and none of them by luck.
func checkResults(t *testing.T, results []enginetest.Result) {
	t.Helper()
	for _, r := range results {
		if r.Err != nil {
			t.Error(r.Err)
		}
		if r.Unproved != "" {
			t.Errorf("%s: the clause cannot fail on this engine: %s", r.Name, r.Unproved)
		}
		if r.Why == "" {
			t.Errorf("%s has no reason", r.Name)
		}
	}
}

func TestShortWrites(t *testing.T) {
	for _, spec := range catalog.Builtin().Appends() {
		t.Run(spec.Name, func(t *testing.T) {
			if err := spec.Available(t.TempDir()); err != nil {
				t.Skipf("not available here: %v", err)
			}
			if err := enginetest.CheckShortWrites(spec, t.TempDir()); err != nil {
				t.Error(err)
			}
		})
	}
}
