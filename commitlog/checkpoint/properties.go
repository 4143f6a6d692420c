package checkpoint

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"tidemark/internal/vfs"
)

// Meta is the content of meta.properties (Kafka's MetaProperties of ZooKeeper
// clusters, version 0).
type Meta struct {
	BrokerID  int32
	ClusterID string
	// DirectoryID tells the directory from another in its place (KIP-858); zero
	// where there is none.
	DirectoryID [16]byte
}

// ReadMeta reads meta.properties of a log directory; found is false where there
// is none yet.
func ReadMeta(fsys vfs.FS, path string) (m Meta, found bool, err error) {
	data, found, err := read(fsys, path)
	if err != nil || !found {
		return Meta{}, false, err
	}
	m, err = DecodeMeta(path, data)
	return m, err == nil, err
}

// WriteMeta replaces meta.properties.
func WriteMeta(fsys vfs.FS, path string, m Meta) error {
	text := fmt.Sprintf("version=0\nbroker.id=%d\ncluster.id=%s\n", m.BrokerID, m.ClusterID)
	if m.DirectoryID != ([16]byte{}) {
		text += "directory.id=" + base64.RawURLEncoding.EncodeToString(m.DirectoryID[:]) + "\n"
	}
	return vfs.WriteFileAtomic(fsys, path, []byte(text))
}

// DecodeMeta parses the text of meta.properties; path is for messages. Names it
// does not know are allowed and ignored.
func DecodeMeta(path string, data []byte) (Meta, error) {
	values, err := properties(path, data, "=")
	if err != nil {
		return Meta{}, err
	}
	if err := knownVersion(path, values["version"]); err != nil {
		return Meta{}, err
	}
	id, err := strconv.ParseInt(values["broker.id"], 10, 32)
	if err != nil || id < 0 {
		return Meta{}, &FormatError{Path: path, Reason: fmt.Sprintf("%q is not a broker id", values["broker.id"])}
	}
	if values["cluster.id"] == "" {
		return Meta{}, &FormatError{Path: path, Reason: "no cluster.id"}
	}
	m := Meta{BrokerID: int32(id), ClusterID: values["cluster.id"]}
	if text, there := values["directory.id"]; there {
		id, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil || len(id) != len(m.DirectoryID) {
			return Meta{}, &FormatError{Path: path, Reason: fmt.Sprintf("%q is not a directory id", text)}
		}
		copy(m.DirectoryID[:], id)
	}
	return m, nil
}

// knownVersion refuses every version but 0. A greater one is of a later program;
// Kafka's brokers without ZooKeeper write 1.
func knownVersion(path, version string) error {
	n, err := strconv.ParseUint(version, 10, 31)
	switch {
	case err != nil:
		return &FormatError{Path: path, Reason: fmt.Sprintf("%q is not a version", version)}
	case n > 0:
		return &FormatError{Path: path, Reason: fmt.Sprintf("its format has version %d, and this program knows version 0", n), Newer: true}
	}
	return nil
}

// properties parses lines of name, separator, value; empty lines and lines that
// start with # are skipped, spaces around names and values dropped.
func properties(path string, data []byte, separator string) (map[string]string, error) {
	values := map[string]string{}
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, separator)
		name = strings.TrimSpace(name)
		if _, twice := values[name]; !ok || name == "" || twice {
			return nil, &FormatError{Path: path, Line: i + 1, Reason: fmt.Sprintf("cannot read %q", line)}
		}
		values[name] = strings.TrimSpace(value)
	}
	return values, nil
}

// PartitionMetadata is the content of partition.metadata (Kafka's
// PartitionMetadataFile, KIP-516).
type PartitionMetadata struct {
	TopicID [16]byte
}

// ReadPartitionMetadata reads partition.metadata; found is false where there is
// none.
func ReadPartitionMetadata(fsys vfs.FS, path string) (m PartitionMetadata, found bool, err error) {
	data, found, err := read(fsys, path)
	if err != nil || !found {
		return PartitionMetadata{}, false, err
	}
	m, err = DecodePartitionMetadata(path, data)
	return m, err == nil, err
}

// WritePartitionMetadata replaces partition.metadata. Like Kafka's, the text
// does not end in a newline.
func WritePartitionMetadata(fsys vfs.FS, path string, m PartitionMetadata) error {
	id := base64.RawURLEncoding.EncodeToString(m.TopicID[:])
	return vfs.WriteFileAtomic(fsys, path, []byte("version: 0\ntopic_id: "+id))
}

// DecodePartitionMetadata parses the text of partition.metadata; path is for
// messages. The zero topic id, which means none, is refused.
func DecodePartitionMetadata(path string, data []byte) (PartitionMetadata, error) {
	values, err := properties(path, data, ":")
	if err != nil {
		return PartitionMetadata{}, err
	}
	if err := knownVersion(path, values["version"]); err != nil {
		return PartitionMetadata{}, err
	}
	var m PartitionMetadata
	id, err := base64.RawURLEncoding.Strict().DecodeString(values["topic_id"])
	if err != nil || len(id) != len(m.TopicID) || [16]byte(id) == m.TopicID {
		return PartitionMetadata{}, &FormatError{Path: path, Reason: fmt.Sprintf("%q is not a topic id", values["topic_id"])}
	}
	copy(m.TopicID[:], id)
	return m, nil
}
