package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// failure is a test that failed, or a package that did without a test of its own.
type failure struct {
	Part    string
	Package string
	Test    string // empty for a package
	Lines   []string
	Unended bool // it was under way when its package ended
}

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	ImportPath, FailedBuild       string
}

// run is what is known of a test or a package under way.
type run struct{ pkg, test string }

// events calls do with each event. A line that is none is passed over.
func events(from io.Reader, do func(event)) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) == nil {
			do(e)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// read finds the failures of a part, in the order of their ends.
func read(part string, from io.Reader) (found []failure, err error) {
	output := map[run]*strings.Builder{}
	builds := map[string]*strings.Builder{}
	err = events(from, func(e event) {
		key := run{e.Package, e.Test}
		switch e.Action {
		case "run", "start":
			output[key] = &strings.Builder{}
		case "output":
			add(output, key, e.Output)
		case "build-output":
			add(builds, e.ImportPath, e.Output)
		case "pass", "skip":
			delete(output, key)
		case "fail":
			found = append(found, ended(part, e, output, builds, found)...)
		}
	})
	return found, err
}

func add[K comparable](to map[K]*strings.Builder, key K, text string) {
	if to[key] == nil {
		to[key] = &strings.Builder{}
	}
	to[key].WriteString(text)
}

// ended are the failures that the end of a test or a package tells of. A test that only
// has subtests to blame, and a package that has tests to blame, are none.
func ended(part string, e event, output map[run]*strings.Builder, builds map[string]*strings.Builder, before []failure) (found []failure) {
	take := func(key run, unended bool) {
		text := output[key]
		delete(output, key)
		if text == nil {
			return
		}
		if lines := said(text.String()); len(lines) > 0 {
			found = append(found, failure{Part: part, Package: key.pkg, Test: key.test, Lines: lines, Unended: unended})
		}
	}
	if e.Test != "" {
		take(run{e.Package, e.Test}, false)
		return found
	}
	for _, key := range underWay(output, e.Package) {
		take(key, true)
	}
	blamed := slices.ContainsFunc(before, func(f failure) bool { return f.Package == e.Package })
	if blamed || len(found) > 0 {
		delete(output, run{pkg: e.Package})
		return found
	}
	if e.FailedBuild != "" && builds[e.FailedBuild] != nil {
		add(output, run{pkg: e.Package}, builds[e.FailedBuild].String())
	}
	take(run{pkg: e.Package}, false)
	return found
}

// underWay are the tests of a package that have begun and not ended, by name.
func underWay(output map[run]*strings.Builder, pkg string) (tests []run) {
	for key := range output {
		if key.pkg == pkg && key.test != "" {
			tests = append(tests, key)
		}
	}
	slices.SortFunc(tests, func(a, b run) int { return strings.Compare(a.test, b.test) })
	return tests
}

// said are the lines of an output but for those that the testing package adds.
func said(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		bare := strings.TrimSpace(line)
		if bare == "" || bare == "FAIL" || strings.HasPrefix(bare, "=== ") || strings.HasPrefix(bare, "--- ") ||
			strings.HasPrefix(bare, "FAIL\t") || strings.HasPrefix(bare, "exit status ") {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}
