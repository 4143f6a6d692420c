// Package faults is the table of what the product survives: each fault, what must
// come of it, and the tests that prove it. docs/reference/faults.md is generated
// from it. The package has no code beyond the table and the page; its test checks
// that every test named exists.
package faults

import (
	"fmt"
	"io"
	"strings"
)

// Fault is one row.
type Fault struct {
	// ID is an area's letter and a number; it does not change.
	ID string
	// Fault is what happens to the product.
	Fault string
	// Outcome is what must come of it.
	Outcome string
	// Proofs are tests, each as folder.TestName or folder.FuzzName.
	Proofs []string
}

// Area is a group of faults; their ids begin with its letter.
type Area struct {
	Letter, Title string
	Faults        []Fault
}

// Areas lists all rows in the order of the page.
func Areas() []Area {
	return []Area{badInput, security, overload, logs, disk, replication, controller, network, groups, transactions}
}

// WriteMarkdown writes docs/reference/faults.md.
func WriteMarkdown(w io.Writer) error {
	out := []byte("# Faults\n\n" +
		"What Tidemark is built to survive, what comes of it, and which tests prove it. Generated from the table in `internal/faults`; " +
		"`make docs` writes it again. Run one proof with `go test ./FOLDER -run '^NAME$'`.\n")
	for _, a := range Areas() {
		out = fmt.Appendf(out, "\n## %s\n\n| id | fault | outcome | proof |\n|--|--|--|--|\n", a.Title)
		for _, f := range a.Faults {
			proofs := "`" + strings.Join(f.Proofs, "`<br>`") + "`"
			out = fmt.Appendf(out, "| %s | %s | %s | %s |\n", f.ID, f.Fault, f.Outcome, proofs)
		}
	}
	_, err := w.Write(out)
	return err
}
