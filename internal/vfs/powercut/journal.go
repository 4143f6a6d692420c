package powercut

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The events of the journal, one JSON object a line; docs/formats/powercut.md
// describes them.
const (
	opStart   = "start"   // the record begins
	opFound   = "found"   // a file or directory that was there at the start
	opCreate  = "create"  // a new file or directory under a name
	opRemove  = "remove"  // a name goes
	opRename  = "rename"  // a name goes, another comes
	opSyncDir = "syncdir" // the names of a directory became durable
	opAcks    = "acks"    // a partition's acknowledged end is in a cell
	opNoAcks  = "noacks"  // the partition is gone
)

// formatVersion is the version of the whole record directory.
const formatVersion = 1

// event is one line of the journal.
type event struct {
	Op string `json:"op"`

	Version  int      `json:"version,omitempty"`
	Owner    string   `json:"owner,omitempty"` // who records, as in lock files
	RootLock string   `json:"rootlock,omitempty"`
	Formers  []string `json:"formers,omitempty"` // who had opened the roots before

	Node    nodeID `json:"node,omitempty"`
	Inode   uint64 `json:"inode,omitempty"`
	IsDir   bool   `json:"isdir,omitempty"`
	Dir     nodeID `json:"dir,omitempty"`
	Name    string `json:"name,omitempty"`
	ToDir   nodeID `json:"todir,omitempty"`
	ToName  string `json:"toname,omitempty"`
	Through uint64 `json:"through,omitempty"` // of opSyncDir: the last change it covers

	Path string `json:"path,omitempty"`
	Cell uint32 `json:"cell,omitempty"`
}

// replay brings one event into the tree. What cannot be is an error: a journal
// that contradicts itself is none.
func (t *tree) replay(e event) error {
	switch e.Op {
	case opFound:
		isRoot := e.Dir == 0 && e.IsDir && t.roots[e.Name] == 0 && filepath.IsAbs(e.Name)
		if !t.free(e.Node) || !isRoot && (!t.isDir(e.Dir) || !isName(e.Name)) {
			return fmt.Errorf("%s of node %d in %d", e.Op, e.Node, e.Dir)
		}
		t.found(e.Node, e.Inode, e.IsDir, e.Dir, e.Name)
	case opCreate:
		if !t.free(e.Node) || !t.isDir(e.Dir) || !isName(e.Name) {
			return fmt.Errorf("%s of node %d in %d", e.Op, e.Node, e.Dir)
		}
		t.add(e.Node, e.Inode, e.IsDir)
		t.apply(e.Op, entry{e.Dir, e.Name, e.Node})
	case opRemove:
		if !t.isDir(e.Dir) || t.nodes[e.Dir].entries[e.Name] == 0 {
			return fmt.Errorf("%s of %q in %d", e.Op, e.Name, e.Dir)
		}
		t.apply(e.Op, entry{e.Dir, e.Name, 0})
	case opRename:
		if !t.isDir(e.Dir) || !t.isDir(e.ToDir) || !isName(e.ToName) || !t.movable(t.nodes[e.Dir].entries[e.Name], e.ToDir) {
			return fmt.Errorf("%s of %q in %d", e.Op, e.Name, e.Dir)
		}
		t.rename(e)
	case opSyncDir:
		if !t.isDir(e.Dir) {
			return fmt.Errorf("%s of %d", e.Op, e.Dir)
		}
		t.syncDir(e.Dir, e.Through)
	}
	return nil
}

func (t *tree) rename(e event) {
	node := t.nodes[e.Dir].entries[e.Name]
	t.apply(e.Op, entry{e.Dir, e.Name, 0}, entry{e.ToDir, e.ToName, node})
}

// isName says whether name is one of a directory and cannot lead out of it.
func isName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsRune(name, filepath.Separator)
}

// movable says whether a node is there and into does not lie within it.
func (t *tree) movable(id, into nodeID) bool {
	n := t.nodes[id]
	if n == nil || id == into {
		return false
	}
	for _, child := range n.entries {
		if c := t.nodes[child]; c != nil && c.isDir() && !t.movable(child, into) {
			return false
		}
	}
	return true
}

func (t *tree) free(id nodeID) bool { return id != 0 && t.nodes[id] == nil }

func (t *tree) isDir(id nodeID) bool {
	n := t.nodes[id]
	return n != nil && n.isDir()
}

// journal is the append-only log of events.
type journal struct{ file *os.File }

func createJournal(dir string) (*journal, error) {
	f, err := os.OpenFile(filepath.Join(dir, journalFile), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	return &journal{file: f}, nil
}

// write appends events in one write(2); a process killed in the middle leaves a
// line without an end, which readers drop.
func (j *journal) write(events ...event) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	_, err := j.file.Write(buf.Bytes())
	return err
}

// decodeJournal returns the events of a journal, of which the last may be cut
// off in the middle of its line.
func decodeJournal(data []byte) ([]event, error) {
	var events []event
	for n := 1; ; n++ {
		line, rest, whole := bytes.Cut(data, []byte("\n"))
		if !whole {
			return events, nil
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if n == 1 && (e.Op != opStart || e.Version != formatVersion) {
			return nil, fmt.Errorf("begins with %q of version %d, not with %q of version %d", e.Op, e.Version, opStart, formatVersion)
		}
		events, data = append(events, e), rest
	}
}
