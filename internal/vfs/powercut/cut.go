package powercut

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Torn is the unit in which unsynced bytes survive a cut.
type Torn string

// The units.
const (
	// Page: a page of 4 KiB survives whole or not at all.
	Page Torn = "page"
	// Sector: of a page that does not survive whole, some sectors of 512 bytes
	// may.
	Sector Torn = "sector"
)

// CutOptions decide what a cut takes.
type CutOptions struct {
	// Seed decides everything; the same seed on the same record and files
	// gives the same outcome. Seed 0 takes all that was not synced.
	Seed uint64
	// Torn is Page where it is empty.
	Torn Torn
}

// cut is one run of Record.Cut.
type cut struct {
	*Record
	o      CutOptions
	keep   float64
	report Report
}

// Cut makes the files what a disk might hold after a power cut at the moment the
// recording process died, and marks the record as used. A cut that was
// interrupted is not resumed: the record counts as used.
func (r *Record) Cut(o CutOptions) (Report, error) {
	if o.Torn == "" {
		o.Torn = Page
	}
	if o.Torn != Page && o.Torn != Sector {
		return Report{}, fmt.Errorf("torn %q: want %q or %q", o.Torn, Sector, Page)
	}
	c := &cut{Record: r, o: o}
	if o.Seed != 0 {
		c.keep = []float64{0, 0.1, 0.5, 0.9}[c.dice("").IntN(4)]
	}
	c.report = Report{Record: r.dir, Seed: o.Seed, Torn: o.Torn, Keep: c.keep, Files: []FileReport{}, Names: []NameReport{}}
	if err := c.run(); err != nil {
		return c.report, fmt.Errorf("power cut by record %s: %w", r.dir, err)
	}
	return c.report, nil
}

// dice are the seed's for one subject: what they say does not hang on what else
// there is.
func (c *cut) dice(subject string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(subject)) // A hash takes everything.
	return rand.New(rand.NewPCG(c.o.Seed, h.Sum64()))
}

func (c *cut) run() error {
	if err := c.mark(); err != nil {
		return err
	}
	before := c.paths(func(n *node) map[string]nodeID { return n.entries })
	c.chooseNames()
	after := c.paths(func(n *node) map[string]nodeID { return n.durable })
	if err := c.arrange(before, after); err != nil {
		return err
	}
	done := map[nodeID]bool{} // A file that has two names now is still one.
	for _, path := range slices.Sorted(maps.Keys(after)) {
		n := c.tree.nodes[after[path]]
		if n.isDir() || done[n.id] {
			continue
		}
		done[n.id] = true
		if err := c.rewrite(path, n, before[path] == n.id); err != nil {
			return err
		}
	}
	return c.mark()
}

// mark leaves the report, so far, in the record.
func (c *cut) mark() error {
	data, err := json.MarshalIndent(c.report, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(c.path(usedFile), append(data, '\n'), 0o644)
}

// paths lists every node by its path in one of the two trees.
func (c *cut) paths(entries func(*node) map[string]nodeID) map[string]nodeID {
	out := map[string]nodeID{}
	above := map[nodeID]bool{} // Of changes that came in another order, one may hang in itself.
	var walk func(path string, n *node)
	walk = func(path string, n *node) {
		if above[n.id] {
			return
		}
		above[n.id] = true
		defer delete(above, n.id)
		out[path] = n.id
		for name, id := range entries(n) {
			if child := c.tree.nodes[id]; child != nil {
				walk(filepath.Join(path, name), child)
			}
		}
	}
	for root, id := range c.tree.roots {
		walk(root, c.tree.nodes[id])
	}
	return out
}

// chooseNames decides about each change of names that is not durable, and leaves
// the outcome in the durable names. Half of the seeds let a journaling file
// system commit the changes in their order up to some point, half any of them.
func (c *cut) chooseNames() {
	dice := c.dice("names")
	inOrder, survivors := dice.IntN(2) == 0, dice.IntN(len(c.tree.pending)+1)
	dirs := c.dirPaths()
	for i, change := range slices.Clone(c.tree.pending) {
		happened := dice.Float64() < c.keep
		if inOrder && c.o.Seed != 0 {
			happened = i < survivors
		}
		c.noteName(change, dirs, happened)
		if !happened {
			continue
		}
		for _, e := range change.entries {
			if dir := c.tree.nodes[e.dir]; e.node == 0 {
				delete(dir.durable, e.name)
			} else {
				dir.durable[e.name] = e.node
			}
		}
	}
}

// dirPaths are the paths of directories, as seen or as durable.
func (c *cut) dirPaths() map[nodeID]string {
	out := map[nodeID]string{}
	for _, entries := range []func(*node) map[string]nodeID{
		func(n *node) map[string]nodeID { return n.durable }, func(n *node) map[string]nodeID { return n.entries },
	} {
		for path, id := range c.paths(entries) {
			out[id] = path
		}
	}
	return out
}

// arrange gives the disk the names that survived. Names the record does not know
// stay, unless their directory goes.
func (c *cut) arrange(before, after map[string]nodeID) error {
	// First a second name for everything that stays, then the removals: no
	// order of the moves can lose a file then.
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if n := c.tree.nodes[after[path]]; !n.isDir() && c.places[n.inode] != path {
			if err := c.hold(n); err != nil {
				return err
			}
		}
	}
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(before))) {
		if after[path] == before[path] || c.isRoot(path) {
			continue
		}
		c.noteVanished(path, c.tree.nodes[before[path]], after)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if err := c.place(path, c.tree.nodes[after[path]], before[path] == after[path]); err != nil {
			return err
		}
	}
	return nil
}

func (c *cut) isRoot(path string) bool { return c.tree.roots[path] != 0 }

// hold links a file into the record, from where it will get its new name.
func (c *cut) hold(n *node) error {
	place := c.places[n.inode]
	if place == "" || strings.HasPrefix(place, c.path(keptDir)) {
		return nil
	}
	kept := filepath.Join(c.path(keptDir), fmt.Sprint(n.id))
	if err := os.Link(place, kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	c.places[n.inode] = kept
	return nil
}

// place puts what survived at path.
func (c *cut) place(path string, n *node, stays bool) error {
	if n.isDir() {
		return os.MkdirAll(path, 0o755)
	}
	info, err := os.Stat(path)
	if err == nil && inodeOf(info) == n.inode {
		c.places[n.inode] = path
		return nil
	}
	from := c.places[n.inode]
	if from == "" {
		if stays {
			return nil // Removed by a stranger while it was recorded.
		}
		return fmt.Errorf("%s is nowhere to be found: inode %d", path, n.inode)
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if err := os.Link(from, path); err != nil {
		return err
	}
	c.places[n.inode] = path
	return nil
}
