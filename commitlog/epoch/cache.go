// Package epoch keeps which leader epoch began at which offset of a log, and the
// leader-epoch-checkpoint file in Kafka's format (Kafka's LeaderEpochFileCache,
// KIP-101). Followers find by it how much of their tail a former leader wrote
// alone; see docs/formats/checkpoints.md.
//
// The package is pure: the log writes the file. A Cache is not safe for
// concurrent use; the log guards it.
package epoch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tidemark/commitlog/checkpoint"
)

// File is the name of the checkpoint in the directory of its partition.
const File = "leader-epoch-checkpoint"

// None is the leader epoch of a log without one.
const None = -1

// Entry says that the leader of Epoch began at StartOffset.
type Entry struct {
	Epoch       int32
	StartOffset int64
}

// Cache is the leader epochs of one log. Its entries ascend strictly by both
// columns; epochs that wrote nothing are not among them.
type Cache struct {
	entries []Entry
}

// Entries returns the epochs, oldest first; the slice is the caller's.
func (c *Cache) Entries() []Entry { return slices.Clone(c.entries) }

// Load replaces the content; entries must be as Decode returns them.
func (c *Cache) Load(entries []Entry) { c.entries = slices.Clone(entries) }

// Latest is the newest epoch; ok is false where there is none.
func (c *Cache) Latest() (epoch int32, ok bool) {
	if len(c.entries) == 0 {
		return None, false
	}
	return c.entries[len(c.entries)-1].Epoch, true
}

// Assign notes that epoch begins at start and says whether that was news.
// Entries it contradicts, of a later epoch or a later start, are dropped: they
// described records that are no longer in the log. An epoch that is known, or
// older than the latest, is no news.
func (c *Cache) Assign(epoch int32, start int64) (changed bool) {
	if latest, ok := c.Latest(); epoch < 0 || ok && epoch <= latest {
		return false
	}
	for n := len(c.entries); n > 0 && c.entries[n-1].StartOffset >= start; n-- {
		c.entries = c.entries[:n-1]
	}
	c.entries = append(c.entries, Entry{Epoch: epoch, StartOffset: start})
	return true
}

// EndOffset answers OffsetForLeaderEpoch: the largest epoch of the log that is
// at most epoch, and the offset at which it ended. For the latest that is
// logEndOffset, for a larger one (None, None). For one before the first known it
// is that epoch itself with the start of the first known: its records are gone,
// and the asker continues from there.
func (c *Cache) EndOffset(epoch int32, logEndOffset int64) (found int32, end int64) {
	latest, ok := c.Latest()
	switch {
	case epoch < 0 || !ok || epoch > latest:
		return None, None
	case epoch == latest:
		return latest, logEndOffset
	}
	next, _ := slices.BinarySearchFunc(c.entries, epoch, func(e Entry, epoch int32) int {
		if e.Epoch <= epoch {
			return -1
		}
		return 1
	})
	if next == 0 {
		return epoch, c.entries[0].StartOffset
	}
	return c.entries[next-1].Epoch, c.entries[next].StartOffset
}

// TruncateEnd drops the epochs that began at end or later and says whether there
// were any.
func (c *Cache) TruncateEnd(end int64) (changed bool) {
	n := len(c.entries)
	for len(c.entries) > 0 && c.entries[len(c.entries)-1].StartOffset >= end {
		c.entries = c.entries[:len(c.entries)-1]
	}
	return len(c.entries) < n
}

// TruncateStart drops the epochs that ended at start or before; the one start
// lies in now begins there. It says whether anything changed.
func (c *Cache) TruncateStart(start int64) (changed bool) {
	floor := -1
	for floor+1 < len(c.entries) && c.entries[floor+1].StartOffset <= start {
		floor++
	}
	if floor < 0 || floor == 0 && c.entries[0].StartOffset == start {
		return false
	}
	c.entries = slices.Delete(c.entries, 0, floor)
	c.entries[0].StartOffset = start
	return true
}

// Encode returns the text of the checkpoint.
func Encode(entries []Entry) []byte {
	out := checkpoint.AppendHeader(nil, len(entries))
	for _, e := range entries {
		out = fmt.Appendf(out, "%d %d\n", e.Epoch, e.StartOffset)
	}
	return out
}

// Decode parses the text of a checkpoint; path is for messages. What does not
// ascend strictly is refused with a *checkpoint.FormatError like any other
// damage, as the log knows better.
func Decode(path string, data []byte) ([]Entry, error) {
	lines, err := checkpoint.Lines(path, data)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(lines))
	for i, line := range lines {
		e, ok := parse(line)
		if n := len(entries); !ok || n > 0 && (e.Epoch <= entries[n-1].Epoch || e.StartOffset <= entries[n-1].StartOffset) {
			reason := fmt.Sprintf("want ascending epoch and start offset, got %q", line)
			return nil, &checkpoint.FormatError{Path: path, Line: i + 3, Reason: reason}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func parse(line string) (Entry, bool) {
	epochText, startText, ok := strings.Cut(line, " ")
	if !ok {
		return Entry{}, false
	}
	epoch, err := strconv.ParseInt(epochText, 10, 32)
	if err != nil || epoch < 0 {
		return Entry{}, false
	}
	start, err := strconv.ParseInt(startText, 10, 64)
	if err != nil || start < 0 {
		return Entry{}, false
	}
	return Entry{Epoch: int32(epoch), StartOffset: start}, true
}
