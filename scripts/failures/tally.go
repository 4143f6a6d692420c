package main

import (
	"fmt"
	"io"
)

// tally is how many tests of a run ended how. A test with subtests stands for them and is
// not counted beside them, unless it failed and none of them did.
type tally struct{ passed, failed, skipped int }

func (t tally) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, t.skipped)
}

// count counts the tests of a part. One that had not ended has failed, and so has a package
// that did without a test to blame.
func count(from io.Reader) (t tally, err error) {
	ends := map[run]string{} // of tests that have begun; empty until they end
	broken := map[string]bool{}
	err = events(from, func(e event) {
		switch e.Action {
		case "run":
			ends[run{e.Package, e.Test}] = ""
		case "pass", "fail", "skip":
			if e.Test != "" {
				ends[run{e.Package, e.Test}] = e.Action
			} else if e.Action == "fail" {
				broken[e.Package] = true
			}
		}
	})
	parents, blames := families(ends)
	for test, end := range ends {
		switch {
		case failed(end):
			if !blames[test] {
				t.failed++
			}
			delete(broken, test.pkg)
		case parents[test]:
		case end == "pass":
			t.passed++
		default:
			t.skipped++
		}
	}
	t.failed += len(broken)
	return t, err
}

func failed(end string) bool { return end == "fail" || end == "" }

// families are the tests that have subtests, and those of which a subtest failed.
func families(ends map[run]string) (parents, blames map[run]bool) {
	parents, blames = map[run]bool{}, map[run]bool{}
	for test, end := range ends {
		for i, c := range test.test {
			if c != '/' {
				continue
			}
			parent := run{test.pkg, test.test[:i]}
			parents[parent] = true
			if failed(end) {
				blames[parent] = true
			}
		}
	}
	return parents, blames
}
