// Package suites holds the suites that come with the program.
package suites

import (
	"embed"
	"fmt"
	"os"
	"sort"
	"strings"

	"tidemark/internal/nearest"
)

//go:embed *.yaml
var files embed.FS

// Names lists the suites that come with the program.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // the files are part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	sort.Strings(names)
	return names
}

// Read returns a suite by the name of one that comes with the program, or by the
// path of a file.
func Read(nameOrPath string) ([]byte, error) {
	if data, err := files.ReadFile(nameOrPath + ".yaml"); err == nil {
		return data, nil
	}
	data, err := os.ReadFile(nameOrPath)
	if os.IsNotExist(err) {
		return nil, fmt.Errorf("no suite %q (there are: %s, or the path of a file)%s", nameOrPath, strings.Join(Names(), ", "), nearest.Suggest(nameOrPath, Names()))
	}
	return data, err
}
