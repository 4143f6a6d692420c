package powercut

import "path/filepath"

// Report says what a cut did.
type Report struct {
	Record string `json:"record"`
	Seed   uint64 `json:"seed"`
	Torn   Torn   `json:"torn"`
	// Keep is the chance the seed gave each unsynced page and name.
	Keep  float64      `json:"keep"`
	Files []FileReport `json:"files"`
	Names []NameReport `json:"names"`
	// KeptBytes and LostBytes are the sums over the files.
	KeptBytes int64 `json:"kept_bytes"`
	LostBytes int64 `json:"lost_bytes"`
}

// FileReport is one file that had unsynced bytes or lost its name.
type FileReport struct {
	Path string `json:"path"`
	// Fate is "rewritten", "vanished" (its name was not durable) or "returned"
	// (its removal was not).
	Fate string `json:"fate"`
	// DurableBytes are those from the start that were synced.
	DurableBytes int64 `json:"durable_bytes"`
	// SizeBefore and SizeAfter are the file's lengths, preallocated space
	// included.
	SizeBefore int64 `json:"size_before"`
	SizeAfter  int64 `json:"size_after"`
	// KeptBytes and LostBytes are the appended bytes that were not synced.
	KeptBytes int64 `json:"kept_bytes"`
	LostBytes int64 `json:"lost_bytes"`
}

// NameReport is one change of names that was not durable.
type NameReport struct {
	// Change is "create", "remove" or "rename".
	Change string `json:"change"`
	Path   string `json:"path"`
	To     string `json:"to,omitempty"`
	// Happened says whether it survived.
	Happened bool `json:"happened"`
}

// noteName reports a change of names that was not durable.
func (c *cut) noteName(ch change, dirs map[nodeID]string, happened bool) {
	n := NameReport{Change: ch.kind, Happened: happened}
	n.Path = filepath.Join(dirs[ch.entries[0].dir], ch.entries[0].name)
	if len(ch.entries) > 1 {
		n.To = filepath.Join(dirs[ch.entries[1].dir], ch.entries[1].name)
	}
	c.report.Names = append(c.report.Names, n)
}

// noteContent reports a file whose bytes were decided about.
func (c *cut) noteContent(path string, sameName bool, x *content) {
	r := FileReport{Path: path, Fate: "rewritten", DurableBytes: x.durable, SizeBefore: x.size, SizeAfter: x.length}
	if !sameName {
		r.Fate = "returned"
	}
	if unsynced := x.end - x.durable; unsynced > 0 {
		r.KeptBytes, r.LostBytes = x.kept, unsynced-x.kept
	}
	c.report.Files = append(c.report.Files, r)
	c.report.KeptBytes += r.KeptBytes
	c.report.LostBytes += r.LostBytes
}

// noteVanished reports a file that loses its name for good.
func (c *cut) noteVanished(path string, n *node, after map[string]nodeID) {
	if n.isDir() {
		return
	}
	for _, id := range after {
		if id == n.id {
			return // It has another name.
		}
	}
	size := sizeOf(path)
	row := rowOf(c.rows, n.id)
	lost := row.end
	if lost < 0 {
		lost = size
	}
	c.report.Files = append(c.report.Files, FileReport{Path: path, Fate: "vanished", DurableBytes: row.durable, SizeBefore: size, LostBytes: lost})
	c.report.LostBytes += lost
}
