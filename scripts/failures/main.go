// Command failures reads what `go test -json` wrote, a file for each part of a test run,
// and prints what a reader of the end of a long log wants: of each test that failed the
// beginning and the end of its own output, and last of all the same in a few lines.
//
//	go run ./scripts/failures LOG.json...
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var all []failure
	for _, path := range os.Args[1:] {
		found, err := readFile(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "failures: %v\n", err)
			os.Exit(1)
		}
		all = append(all, found...)
	}
	fmt.Print(report(all))
}

func readFile(path string) ([]failure, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := read(strings.TrimSuffix(filepath.Base(path), ".json"), f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return found, nil
}
