// Command failures reads what `go test -json` wrote, a file for each part of a test run,
// and prints what a reader of the end of a long log wants: of each test that failed the
// beginning and the end of its own output, and last of all the same in a few lines. With
// -count it prints how many tests passed, failed and were skipped instead.
//
//	go run ./scripts/failures [-count] LOG.json...
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	counting := flag.Bool("count", false, "print how many tests passed, failed and were skipped")
	flag.Parse()
	var all []failure
	var sum tally
	for _, path := range flag.Args() {
		err := inFile(path, func(part string, from io.Reader) error {
			if *counting {
				t, err := count(from)
				sum.passed, sum.failed, sum.skipped = sum.passed+t.passed, sum.failed+t.failed, sum.skipped+t.skipped
				return err
			}
			found, err := read(part, from)
			all = append(all, found...)
			return err
		})
		if err != nil {
			fmt.Fprintf(os.Stderr, "failures: %v\n", err)
			os.Exit(1)
		}
	}
	if *counting {
		fmt.Println(sum)
		return
	}
	fmt.Print(report(all))
}

// inFile has do read the log of a part.
func inFile(path string, do func(part string, from io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := do(strings.TrimSuffix(filepath.Base(path), ".json"), f); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
