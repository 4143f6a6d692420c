package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// arrows names, for each package tree of the module, the trees it may import. A
// pattern ending in /... stands for the tree below it; packages of one row may
// import each other only where the row says so. Test files are not governed:
// a test may reach for whatever proves its point.
var arrows = map[string][]string{
	"internal/archtest":     {},
	"internal/loopback":     {},
	"internal/clock":        {},
	"internal/faults":       {},
	"internal/golden":       {},
	"internal/hugepage":     {},
	"internal/invariant":    {},
	"internal/nearest":      {},
	"internal/planted":      {},
	"internal/timer":        {"internal/clock"},
	"internal/trace":        {},
	"internal/vfs":          {"engines", "internal/invariant"},
	"internal/vfs/powercut": {"internal/vfs"},

	"engines":            {"internal/nearest"},
	"engines/append/...": {"engines", "internal/vfs", "internal/invariant"},
	"engines/read/chunk": {},
	"engines/read/...":   {"engines", "engines/read/chunk", "internal/vfs", "internal/invariant"},
	"engines/catalog":    {"engines", "engines/append/...", "engines/read/..."},
	"engines/enginetest": {"engines", "internal/vfs"},

	"protocol/record": {"internal/invariant"},
	"protocol/wire":   {"engines", "internal/invariant"},

	"commitlog/checkpoint": {"internal/vfs"},
	"commitlog/epoch":      {"commitlog/checkpoint"},
	"commitlog/index":      {"internal/vfs", "internal/invariant"},
	"commitlog/cleaner":    {"protocol/record", "internal/invariant"},
	"commitlog/producer":   {},
	"commitlog": {"commitlog/checkpoint", "commitlog/epoch", "commitlog/index", "commitlog/producer", "commitlog/cleaner", "engines", "protocol/record",
		"internal/vfs", "internal/clock", "internal/invariant", "internal/planted"},
	"commitlog/inspect": {"commitlog", "commitlog/checkpoint", "commitlog/epoch", "commitlog/index", "commitlog/producer", "protocol/record"},

	"coordinator/zkserver/jute":       {},
	"coordinator/zkserver/tree":       {"coordinator/zkserver/jute", "internal/invariant"},
	"coordinator/zkserver":            {"coordinator/zkserver/jute", "coordinator/zkserver/tree", "internal/vfs", "internal/clock"},
	"coordinator/znode":               {"replication", "internal/trace"},
	"coordinator/controller/election": {"internal/invariant"},
	"coordinator/controller":          {"coordinator/controller/election", "coordinator/znode", "replication", "internal/clock", "internal/trace"},
	"coordinator/shard":               {"protocol/record", "internal/timer", "internal/clock", "internal/invariant"},
	"coordinator/group":               {"coordinator/shard", "internal/planted"},
	"coordinator/txn":                 {"coordinator/shard", "internal/planted"},

	"replication":                 {"commitlog/epoch", "internal/planted", "internal/invariant", "internal/nearest"},
	"replication/internal/scene":  {"commitlog/epoch", "replication"},
	"replication/internal/vote":   {"replication"},
	"replication/replicationtest": {"replication", "replication/sim"},
	"replication/async":           {"replication"},
	"replication/allsync":         {"replication", "internal/planted"},
	"replication/isr":             {"replication", "internal/planted"},
	"replication/quorum":          {"replication", "internal/planted"},
	"replication/sim":             {"replication", "internal/planted", "commitlog/epoch", "internal/trace"},
	"replication/catalog":         {"replication", "replication/async", "replication/allsync", "replication/isr", "replication/quorum"},

	"broker/config":    {"internal/loopback", "internal/nearest"},
	"broker/network":   {"internal/loopback", "protocol/wire", "internal/clock", "internal/invariant"},
	"broker/purgatory": {"internal/clock", "internal/timer", "internal/invariant"},
	"broker/metadata":  {},
	"broker/peer":      {"protocol/wire", "replication", "internal/clock"},
	"broker/replica":   {"commitlog", "commitlog/checkpoint", "commitlog/producer", "protocol/record", "engines", "replication", "replication/isr", "broker/peer", "broker/purgatory", "internal/vfs", "internal/clock", "internal/trace", "internal/invariant"},
	"broker/groups": {"protocol/record", "broker/api/codec", "broker/config", "broker/metadata", "broker/purgatory", "broker/replica", "coordinator/group", "coordinator/shard",
		"coordinator/znode", "internal/clock", "internal/trace"},
	"broker/txns": {"broker/api/codec", "broker/config", "broker/groups", "broker/metadata", "broker/purgatory", "broker/replica", "commitlog", "coordinator/shard",
		"coordinator/txn", "coordinator/znode", "protocol/record", "internal/clock", "internal/trace"},
	"broker/api/codec": {"coordinator/group", "coordinator/txn", "internal/invariant"},
	"broker/api": {"replication", "broker/peer", "broker/groups", "broker/txns", "coordinator/group", "coordinator/shard", "coordinator/txn", "protocol/wire", "protocol/record", "broker/replica", "broker/metadata", "broker/config", "broker/network", "broker/purgatory",
		"commitlog", "engines", "coordinator/controller", "coordinator/znode", "internal/clock", "internal/invariant"},
	"broker": {"broker/...", "commitlog", "coordinator/...", "engines", "internal/...", "protocol/wire", "replication", "replication/catalog"},

	"bench/calibrate":        {"internal/hugepage", "internal/loopback", "bench/result", "bench/schedule", "protocol/record"},
	"bench/chaos":            {"bench/check", "bench/cluster", "bench/fault/proxy", "bench/ledger", "bench/process", "bench/schedule"},
	"bench/cluster":          {"bench/fault/proxy", "bench/process", "internal/trace"},
	"bench/driver":           {"internal/hugepage", "internal/loopback", "bench/schedule", "bench/workload", "commitlog", "engines", "protocol/record", "internal/vfs", "internal/clock"},
	"bench/driver/memserver": {"internal/loopback", "protocol/wire"},
	"bench/env":              {"bench/result"},
	"bench/fault/proxy":      {"internal/loopback"},
	"bench/hist":             {},
	"bench/ledger":           {"internal/invariant"},
	"bench/check":            {"bench/ledger"},
	"bench/load":             {"bench/driver", "bench/hist", "bench/result", "bench/schedule", "bench/workload"},
	"bench/process":          {},
	"bench/result":           {"bench/hist"},
	"bench/run":              {"bench/...", "engines"},
	"bench/schedule":         {},
	"bench/stats":            {"bench/result"},
	"bench/suites":           {"internal/nearest"},
	"bench/target":           {"bench/cluster", "bench/fault/proxy", "bench/load", "bench/process", "bench/workload"},
	"bench/trial":            {"bench/check", "bench/ledger", "bench/result", "bench/schedule", "bench/target", "bench/workload"},
	"bench/workload":         {"bench/result", "internal/invariant", "internal/nearest"},

	"reports/dataset": {"bench/result", "bench/hist", "bench/stats"},
	"reports/chart":   {},
	"reports/page":    {"reports/dataset", "reports/chart", "bench/result", "bench/hist"},

	"scripts/failures": {},
}

// free lists the trees that may import anything of ours.
var free = []string{"cmd/...", "e2e/..."}

// homes says where a third-party module may be imported outside tests.
var homes = map[string][]string{
	"github.com/twmb/franz-go/pkg/kmsg": {"protocol/wire", "broker/api/...", "broker/peer", "bench/chaos", "bench/driver/...", "cmd/..."},
	"github.com/twmb/franz-go/pkg/kgo":  {"bench/chaos", "bench/driver", "bench/trial", "cmd/..."},
	"github.com/go-zookeeper/zk":        {"coordinator/znode"},
	"github.com/spf13/cobra":            {"cmd/..."},
	"gonum.org/v1/plot":                 {"reports/chart"},
}

const module = "tidemark"

func TestArrows(t *testing.T) {
	imports := readImports(t, "../..")
	for _, pkg := range sortedKeys(imports) {
		if matchesAny(pkg, free) {
			continue
		}
		row, allowed, ok := rowOf(pkg)
		if !ok {
			t.Errorf("package %s has no row in the table of arrows: say what it may import", pkg)
			continue
		}
		for _, imp := range imports[pkg] {
			ours, isOurs := strings.CutPrefix(imp, module+"/")
			if isOurs && ours != row && !matchesAny(ours, allowed) {
				t.Errorf("%s imports %s, which row %q does not allow", pkg, ours, row)
			}
		}
	}
}

func TestThirdPartyHomes(t *testing.T) {
	for pkg, list := range readImports(t, "../..") {
		for _, imp := range list {
			for prefix, allowed := range homes {
				if (imp == prefix || strings.HasPrefix(imp, prefix+"/")) && !matchesAny(pkg, allowed) {
					t.Errorf("%s imports %s, whose home is %v", pkg, imp, allowed)
				}
			}
		}
	}
}

// TestTableIsAlive fails on a pattern whose packages are gone: it would let an
// arrow back in unseen.
func TestTableIsAlive(t *testing.T) {
	patterns := append(sortedKeys(arrows), free...)
	for _, row := range sortedKeys(arrows) {
		patterns = append(patterns, arrows[row]...)
	}
	for _, module := range sortedKeys(homes) {
		patterns = append(patterns, homes[module]...)
	}
	packages := sortedKeys(readImports(t, "../.."))
	for _, p := range patterns {
		if !slices.ContainsFunc(packages, func(pkg string) bool { return matches(pkg, p) }) {
			t.Errorf("pattern %q of the table matches no package", p)
		}
	}
}

// rowOf finds the most specific row for a package.
func rowOf(pkg string) (row string, allowed []string, ok bool) {
	for candidate, list := range arrows {
		if matches(pkg, candidate) && len(candidate) > len(row) {
			row, allowed, ok = candidate, list, true
		}
	}
	return row, allowed, ok
}

func matchesAny(pkg string, patterns []string) bool {
	for _, p := range patterns {
		if matches(pkg, p) {
			return true
		}
	}
	return false
}

func matches(pkg, pattern string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == tree || strings.HasPrefix(pkg, tree+"/")
	}
	return pkg == pattern
}

// readImports maps each package of the module to what its non-test files import.
func readImports(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "tools" || name == "results") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if imports[pkg] == nil {
			imports[pkg] = []string{}
		}
		for _, imp := range importPaths(t, file.Imports) {
			if !slices.Contains(imports[pkg], imp) {
				imports[pkg] = append(imports[pkg], imp)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return imports
}

func importPaths(t *testing.T, specs []*ast.ImportSpec) []string {
	t.Helper()
	var paths []string
	for _, s := range specs {
		p, err := strconv.Unquote(s.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
