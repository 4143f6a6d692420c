package checkpoint

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tidemark/internal/vfs"
)

// TopicPartition names a partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the name of the partition's directory: topic-partition.
func (t TopicPartition) String() string { return fmt.Sprintf("%s-%d", t.Topic, t.Partition) }

// ReadOffsets reads an offset checkpoint (Kafka's OffsetCheckpointFile). A
// missing file is an empty map; a damaged one is a *FormatError, and the caller
// does as if it were missing, aloud.
func ReadOffsets(fsys vfs.FS, path string) (map[TopicPartition]int64, error) {
	data, found, err := read(fsys, path)
	if err != nil || !found {
		return map[TopicPartition]int64{}, err
	}
	return DecodeOffsets(path, data)
}

// WriteOffsets replaces an offset checkpoint.
func WriteOffsets(fsys vfs.FS, path string, offsets map[TopicPartition]int64) error {
	return vfs.WriteFileAtomic(fsys, path, EncodeOffsets(offsets))
}

// EncodeOffsets returns the text of an offset checkpoint, sorted by topic and
// partition so that equal maps make equal files.
func EncodeOffsets(offsets map[TopicPartition]int64) []byte {
	keys := make([]TopicPartition, 0, len(offsets))
	for tp := range offsets {
		keys = append(keys, tp)
	}
	slices.SortFunc(keys, func(a, b TopicPartition) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	out := AppendHeader(nil, len(keys))
	for _, tp := range keys {
		out = fmt.Appendf(out, "%s %d %d\n", tp.Topic, tp.Partition, offsets[tp])
	}
	return out
}

// DecodeOffsets parses the text of an offset checkpoint; path is for messages.
func DecodeOffsets(path string, data []byte) (map[TopicPartition]int64, error) {
	lines, err := Lines(path, data)
	if err != nil {
		return nil, err
	}
	offsets := make(map[TopicPartition]int64, len(lines))
	for i, line := range lines {
		tp, offset, reason := parseOffset(line)
		if _, twice := offsets[tp]; twice && reason == "" {
			reason = fmt.Sprintf("%s is listed twice", tp)
		}
		if reason != "" {
			return nil, &FormatError{Path: path, Line: i + headerLines + 1, Reason: reason}
		}
		offsets[tp] = offset
	}
	return offsets, nil
}

func parseOffset(line string) (tp TopicPartition, offset int64, reason string) {
	fields := strings.Split(line, " ")
	if len(fields) != 3 || fields[0] == "" {
		return tp, 0, fmt.Sprintf("want topic, partition and offset, got %q", line)
	}
	partition, err := strconv.ParseInt(fields[1], 10, 32)
	if err != nil || partition < 0 {
		return tp, 0, fmt.Sprintf("%q is not a partition number", fields[1])
	}
	offset, err = strconv.ParseInt(fields[2], 10, 64)
	if err != nil || offset < 0 {
		return tp, 0, fmt.Sprintf("%q is not an offset", fields[2])
	}
	return TopicPartition{Topic: fields[0], Partition: int32(partition)}, offset, ""
}

// headerLines is how many lines precede the entries: version and count.
const headerLines = 2

// AppendHeader appends the two lines that start every text checkpoint.
func AppendHeader(out []byte, count int) []byte { return fmt.Appendf(out, "0\n%d\n", count) }

// Lines checks the version and count at the head of a text checkpoint (Kafka's
// CheckpointFile) and returns the lines of the entries. A file that was cut off,
// be it within its last line, does not pass: the last line must end too.
func Lines(path string, data []byte) ([]string, error) {
	text, whole := strings.CutSuffix(string(data), "\n")
	lines := strings.Split(text, "\n")
	if !whole || len(lines) < headerLines {
		return nil, &FormatError{Path: path, Reason: "the file is cut off"}
	}
	if lines[0] != "0" {
		return nil, &FormatError{Path: path, Line: 1, Reason: fmt.Sprintf("unknown version %q", lines[0])}
	}
	count, err := strconv.ParseInt(lines[1], 10, 32)
	if err != nil || count < 0 || count > math.MaxInt32 {
		return nil, &FormatError{Path: path, Line: 2, Reason: fmt.Sprintf("%q is not a count", lines[1])}
	}
	lines = lines[headerLines:]
	if int64(len(lines)) != count {
		return nil, &FormatError{Path: path, Reason: fmt.Sprintf("%d entries announced, %d found", count, len(lines))}
	}
	return lines, nil
}
