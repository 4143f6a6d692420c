package znode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// Consumer offsets in the layout of Kafka 0.8 (ZkUtils.updatePersistentPath,
// offsets.storage=zookeeper): /consumers/<group>/offsets/<topic>/<partition> holds a
// plain integer. Beside it there is a node of our own for each partition of
// __consumer_offsets, /admin/offset_writers/<partition>: the coordinator of its groups
// raises its version when it takes over, and writes under that version, so that
// nothing of an earlier coordinator arrives late.

// ErrOffsetsFenced means that another coordinator writes these offsets since.
var ErrOffsetsFenced = errors.New("another coordinator writes these offsets")

// ConsumerOffset is an offset that a group committed.
type ConsumerOffset struct {
	Group string
	TopicPartition
	Offset int64
	// Modified is when it was written last.
	Modified time.Time
}

// OffsetWrite sets an offset, or removes it.
type OffsetWrite struct {
	Group string
	TopicPartition
	Offset int64
	Remove bool
}

// NodeName reports whether ZooKeeper takes a string as the name of one node
// (PathUtils.validatePath), as a group's must be.
func NodeName(name string) bool {
	if name == "" || name == "." || name == ".." {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r == '/' || r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff
	})
}

// ConsumerGroups lists the groups that have a node, those without offsets too.
func (c *Client) ConsumerGroups(ctx context.Context) ([]string, error) {
	return c.children(ctx, consumersPath)
}

// OffsetsWriter writes the offsets of the groups of one coordinator. It is confined
// to one goroutine.
type OffsetsWriter struct {
	c       *Client
	fence   string
	version int32
	// known are the nodes that are there: they are set and not created.
	known map[string]bool
}

// OpenOffsets makes the caller the only writer of the offsets of a partition of
// __consumer_offsets; the error is ErrOffsetsFenced where one of a newer leader epoch
// is there already.
func (c *Client) OpenOffsets(ctx context.Context, partition int32, broker BrokerID, leaderEpoch int32) (*OffsetsWriter, error) {
	w := &OffsetsWriter{c: c, fence: offsetWriterPath(partition), known: map[string]bool{}}
	if err := c.ensure(ctx, offsetWritersPath); err != nil {
		return nil, err
	}
	content := encodeObject([]field{{"version", 1}, {"brokerid", broker}, {"leader_epoch", leaderEpoch}}, nil)
	for {
		data, stat, err := c.get(ctx, w.fence)
		switch {
		case errors.Is(err, ErrNotFound):
			if err = c.createOnce(ctx, w.fence, content); err == nil {
				return w, nil
			}
		case err == nil:
			if err := checkWriter(w.fence, data, leaderEpoch); err != nil {
				return nil, err
			}
			if w.version, err = c.setOnce(ctx, w.fence, content, stat.Version); err == nil {
				return w, nil
			}
			if errors.Is(err, ErrNotFound) {
				continue
			}
		}
		if !errors.Is(err, ErrExists) && !errors.Is(err, ErrVersion) {
			return nil, err
		}
	}
}

// checkWriter compares the writer that is there with one that comes.
func checkWriter(path string, data []byte, leaderEpoch int32) error {
	o, err := parseObject(data)
	if err != nil {
		return &FormatError{Path: path, Err: err}
	}
	var present int32
	if err := o.take("leader_epoch", &present, true); err != nil {
		return &FormatError{Path: path, Err: err}
	}
	if present > leaderEpoch {
		return fmt.Errorf("%w: one of leader epoch %d, this is %d", ErrOffsetsFenced, present, leaderEpoch)
	}
	return nil
}

// Read returns the offsets of groups, in no order. Nodes that hold no offset are
// passed over, and logged.
func (w *OffsetsWriter) Read(ctx context.Context, groups []string) ([]ConsumerOffset, error) {
	var paths []ConsumerOffset
	found := make([][]ConsumerOffset, len(groups))
	err := pipeline(len(groups), func(i int) (err error) {
		found[i], err = w.c.offsetNodes(ctx, groups[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		paths = append(paths, f...)
	}
	there := make([]bool, len(paths))
	err = pipeline(len(paths), func(i int) (err error) {
		there[i], err = w.c.readOffset(ctx, &paths[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	offsets := paths[:0]
	for i, ok := range there {
		if ok {
			w.known[offsetPath(paths[i].Group, paths[i].TopicPartition)] = true
			offsets = append(offsets, paths[i])
		}
	}
	return offsets, nil
}

// offsetNodes lists where a group has offsets.
func (c *Client) offsetNodes(ctx context.Context, group string) (nodes []ConsumerOffset, err error) {
	topics, err := c.children(ctx, offsetsPath(group))
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, topic := range topics {
		names, err := c.children(ctx, offsetsPath(group)+"/"+topic)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			partition, err := parseID(name)
			if err != nil {
				c.log.Warn("node is no partition", "path", offsetsPath(group)+"/"+topic+"/"+name)
				continue
			}
			nodes = append(nodes, ConsumerOffset{Group: group, TopicPartition: TopicPartition{topic, partition}})
		}
	}
	return nodes, nil
}

// readOffset fills o in; ok is false where there is no offset.
func (c *Client) readOffset(ctx context.Context, o *ConsumerOffset) (ok bool, err error) {
	path := offsetPath(o.Group, o.TopicPartition)
	data, stat, err := c.get(ctx, path)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	o.Offset, err = strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil || o.Offset < 0 {
		c.log.Warn("node holds no offset", "path", path, "content", string(data))
		return false, nil
	}
	o.Modified = time.UnixMilli(stat.Mtime)
	return true, nil
}

// Write carries out all writes, of which no two may be of the same offset: many to a
// multi, several multis on their way at once. The error is ErrOffsetsFenced or that of
// ctx or the Client: then some may be written. To repeat a write does no harm, so an
// unknown outcome is another try.
func (w *OffsetsWriter) Write(ctx context.Context, writes []OffsetWrite) error {
	var plain, new []OffsetWrite
	for _, o := range writes {
		if o.Remove || w.known[offsetPath(o.Group, o.TopicPartition)] {
			plain = append(plain, o)
		} else {
			new = append(new, o)
		}
	}
	multis := (len(plain) + offsetsPerMulti - 1) / offsetsPerMulti
	if err := pipeline(multis, func(i int) error {
		low := i * offsetsPerMulti
		return w.writeMany(ctx, plain[low:min(low+offsetsPerMulti, len(plain))])
	}); err != nil {
		return err
	}
	if err := pipeline(len(new), func(i int) error { return w.writeOne(ctx, new[i]) }); err != nil {
		return err
	}
	for _, o := range writes {
		if path := offsetPath(o.Group, o.TopicPartition); o.Remove {
			delete(w.known, path)
		} else {
			w.known[path] = true
		}
	}
	return w.prune(ctx, plain)
}

// offsetsPerMulti is how many offsets go into one multi: those of one client's commit
// as a rule, and far from ZooKeeper's limit of a request.
const offsetsPerMulti = 100

// writeMany sets and removes nodes that are there in one multi; where one is not,
// one by one.
func (w *OffsetsWriter) writeMany(ctx context.Context, writes []OffsetWrite) error {
	ops := make([]any, len(writes))
	for i, o := range writes {
		if path := offsetPath(o.Group, o.TopicPartition); o.Remove {
			ops[i] = w.c.deleteOp(path)
		} else {
			ops[i] = w.c.setOp(path, formatOffset(o.Offset), -1)
		}
	}
	failed, err := w.multi(ctx, ops...)
	if failed < 0 || !errors.Is(err, zk.ErrNoNode) {
		return wrap("write", offsetPath(writes[max(failed, 0)].Group, writes[max(failed, 0)].TopicPartition), err)
	}
	for _, o := range writes {
		if err := w.writeOne(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// writeOne brings one offset about, whether its node is there or not.
func (w *OffsetsWriter) writeOne(ctx context.Context, o OffsetWrite) error {
	path := offsetPath(o.Group, o.TopicPartition)
	for {
		if o.Remove {
			_, err := w.multi(ctx, w.c.deleteOp(path))
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			return wrap("delete", path, err)
		}
		_, err := w.multi(ctx, w.c.createOp(path, formatOffset(o.Offset)))
		switch {
		case errors.Is(err, zk.ErrNoNode):
			if err := w.ensureParents(ctx, o); err != nil {
				return err
			}
			continue
		case !errors.Is(err, zk.ErrNodeExists):
			return wrap("create", path, err)
		}
		if _, err := w.multi(ctx, w.c.setOp(path, formatOffset(o.Offset), -1)); !errors.Is(err, zk.ErrNoNode) {
			return wrap("write", path, err)
		}
	}
}

func (w *OffsetsWriter) ensureParents(ctx context.Context, o OffsetWrite) error {
	for _, path := range []string{consumerPath(o.Group), offsetsPath(o.Group), offsetsPath(o.Group) + "/" + o.Topic} {
		if err := w.c.ensure(ctx, path); err != nil {
			return err
		}
	}
	return nil
}

// multi repeats a list of operations under the fence until its outcome is known. The
// failed index counts from the first of ops.
func (w *OffsetsWriter) multi(ctx context.Context, ops ...any) (failed int, err error) {
	check := &zk.CheckVersionRequest{Path: w.c.path(w.fence), Version: w.version}
	for {
		if err := ctx.Err(); err != nil {
			return -1, err
		}
		_, failed, err := w.c.multi(append([]any{check}, ops...)...)
		switch {
		case err == nil:
			return -1, nil
		case failed == 0:
			return -1, ErrOffsetsFenced
		case !retriable(err):
			return failed - 1, err
		}
		if err := w.c.pause(ctx, err); err != nil {
			return -1, err
		}
	}
}

// prune removes the nodes above removed offsets that have become empty.
func (w *OffsetsWriter) prune(ctx context.Context, writes []OffsetWrite) error {
	type place struct{ group, topic string }
	seen := map[place]bool{}
	for _, o := range writes {
		at := place{o.Group, o.Topic}
		if !o.Remove || seen[at] {
			continue
		}
		seen[at] = true
		for _, path := range []string{offsetsPath(o.Group) + "/" + o.Topic, offsetsPath(o.Group), consumerPath(o.Group)} {
			_, err := w.multi(ctx, w.c.deleteOp(path))
			if errors.Is(err, zk.ErrNotEmpty) {
				break
			}
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return wrap("delete", path, err)
			}
		}
	}
	return nil
}

func formatOffset(offset int64) []byte { return strconv.AppendInt(nil, offset, 10) }
