package znode

import (
	"strings"

	"github.com/go-zookeeper/zk"

	"tidemark/internal/trace"
)

// noVersion is the version of what has none.
const noVersion int32 = -1

// traced tells of one write, and passes its error on. version is the node's
// afterwards.
func (c *Client) traced(op, path string, version int32, err error) error {
	if !c.o.Trace.On() {
		return err
	}
	e := trace.Event{Kind: trace.Znode, Op: op, Path: strings.TrimPrefix(path, c.chroot), Version: version}
	if err != nil {
		e.Version, e.Error = noVersion, err.Error()
	}
	c.o.Trace.Emit(e)
	return err
}

// traceMulti tells of an atomic list of writes: of each, or of the one that had all
// of them refused.
func (c *Client) traceMulti(ops []any, results []zk.MultiResponse, failed int, err error) {
	if !c.o.Trace.On() {
		return
	}
	for i, op := range ops {
		if err != nil && i != max(failed, 0) {
			continue
		}
		version, owner := noVersion, int64(0)
		if err == nil && results[i].Stat != nil {
			version = results[i].Stat.Version
		}
		switch op := op.(type) {
		case *zk.CreateRequest:
			if op.Flags&zk.FlagEphemeral != 0 {
				owner = c.conn.SessionID()
			}
			e := trace.Event{Kind: trace.Znode, Op: "create", Path: strings.TrimPrefix(op.Path, c.chroot), Version: 0, Owner: owner}
			if err != nil {
				e.Version, e.Error = noVersion, err.Error()
			}
			c.o.Trace.Emit(e)
		case *zk.SetDataRequest:
			_ = c.traced("set", op.Path, version, err) // passed on by multi
		case *zk.DeleteRequest:
			_ = c.traced("delete", op.Path, noVersion, err) // likewise
		case *zk.CheckVersionRequest:
			if err != nil {
				_ = c.traced("check", op.Path, noVersion, err) // likewise
			}
		}
	}
}
