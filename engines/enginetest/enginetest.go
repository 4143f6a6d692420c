// Package enginetest is the contract of package engines as clauses that run
// against any engine, a stranger's included. Each clause has a name and a reason
// and says what was seen, what was wanted and why it matters.
//
// CheckAppend, CheckRead, CheckPair and, for an engine that lends memory,
// CheckInPlace work in a directory of the caller's and return an error, so that a
// test, a lab's grader and a command can all run them. CheckFull wants a directory
// on a small file system and fills it; CheckShortWrites limits what the whole
// process may write for a moment. The same package holds the one benchmark suite:
// BenchmarkAppend, BenchmarkAppendFlush and BenchmarkRead.
//
// What the clauses cannot see: whether a Flush reached the disk (only that its
// errors are told and final), and speed.
package enginetest

import (
	"errors"
	"fmt"
	"os"

	"tidemark/engines"
)

// Clause is one rule of the contract.
type Clause struct {
	// Name is short and stable: a failure cites it.
	Name string
	// Why is one sentence: what breaks above an engine that breaks the rule.
	Why string
}

// Result is what one clause came to.
type Result struct {
	Clause
	// Err is nil where the clause holds.
	Err error
	// Unproved says why the clause could not bite, and is empty otherwise: an
	// engine that opens the file anew, for instance, does not meet the faults
	// planted in the one it was given.
	Unproved string
}

// errUnproved is wrapped by a check whose fault did not reach the engine.
var errUnproved = errors.New("not proved")

// CheckAppend runs the clauses of engines.Appender in dir and returns nil or an
// error for each that is broken, joined.
func CheckAppend(spec engines.AppendSpec, dir string) error {
	return failures(RunAppend(spec, dir))
}

// CheckRead runs the clauses of engines.Reader and engines.Chunk in dir.
func CheckRead(spec engines.ReadSpec, dir string) error {
	return failures(RunRead(spec, dir))
}

// CheckPair runs the clauses that one file has for the engine that writes it and
// the engine that reads it meanwhile.
func CheckPair(a engines.AppendSpec, r engines.ReadSpec, dir string) error {
	return failures(RunPair(a, r, dir))
}

// RunAppend is CheckAppend with one result per clause.
func RunAppend(spec engines.AppendSpec, dir string) []Result {
	return run("append engine "+spec.Name, dir, appendClauses, func(dir string) appendBench {
		return appendBench{spec: spec, dir: dir}
	})
}

// RunRead is CheckRead with one result per clause.
func RunRead(spec engines.ReadSpec, dir string) []Result {
	return run("read engine "+spec.Name, dir, readClauses, func(dir string) readBench {
		return readBench{spec: spec, dir: dir}
	})
}

// RunPair is CheckPair with one result per clause.
func RunPair(a engines.AppendSpec, r engines.ReadSpec, dir string) []Result {
	return run(fmt.Sprintf("append engine %s with read engine %s", a.Name, r.Name), dir, pairClauses, func(dir string) pairBench {
		return pairBench{appends: a, reads: r, dir: dir}
	})
}

// clause is a Clause and its check over a bench of kind B.
type clause[B any] struct {
	Clause
	check func(B) error
}

// run checks every clause in a directory of its own, removed afterwards.
func run[B any](subject, dir string, clauses []clause[B], bench func(dir string) B) []Result {
	results := make([]Result, 0, len(clauses))
	for _, c := range clauses {
		result := Result{Clause: c.Clause}
		err := inTemp(dir, func(dir string) error { return guarded(c.check, bench(dir)) })
		switch {
		case errors.Is(err, errUnproved):
			result.Unproved = err.Error()
		case err != nil:
			result.Err = fmt.Errorf("%s breaks %q: %w (the rule is there because %s)", subject, c.Name, err, c.Why)
		}
		results = append(results, result)
	}
	return results
}

// guarded makes a panic of the engine a broken clause: the other clauses, and
// the program that asked, go on.
func guarded[B any](check func(B) error, bench B) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return check(bench)
}

func inTemp(dir string, do func(dir string) error) error {
	own, err := os.MkdirTemp(dir, "clause-")
	if err != nil {
		return err
	}
	err = do(own)
	return errors.Join(err, os.RemoveAll(own))
}

func failures(results []Result) error {
	var all []error
	for _, r := range results {
		all = append(all, r.Err)
	}
	return errors.Join(all...)
}
