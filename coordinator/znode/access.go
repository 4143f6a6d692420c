package znode

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// path puts the chroot in front.
func (c *Client) path(p string) string { return c.chroot + p }

func worldACL() []zk.ACL { return zk.WorldACL(zk.PermAll) }

// get reads a node; the error is already wrapped.
func (c *Client) get(ctx context.Context, path string) (data []byte, stat *zk.Stat, err error) {
	err = c.retry(ctx, func() error {
		data, stat, err = c.conn.Get(c.path(path))
		return err
	})
	return data, stat, wrap("read", path, err)
}

func (c *Client) children(ctx context.Context, path string) (names []string, err error) {
	err = c.retry(ctx, func() error {
		names, _, err = c.conn.Children(c.path(path))
		return err
	})
	return names, wrap("list", path, err)
}

func (c *Client) exists(ctx context.Context, path string) (found bool, err error) {
	err = c.retry(ctx, func() error {
		found, _, err = c.conn.Exists(c.path(path))
		return err
	})
	return found, wrap("look for", path, err)
}

// CatchUp makes the next read no older than now. A server of an ensemble may lag
// behind the write that just stood in our way.
func (c *Client) CatchUp(ctx context.Context) error {
	err := c.retry(ctx, func() error {
		_, err := c.conn.Sync(c.path("/cluster"))
		return err
	})
	return wrap("sync", "/cluster", err)
}

// ensure creates a persistent node where it is missing; safe to repeat.
func (c *Client) ensure(ctx context.Context, path string) error {
	err := c.retry(ctx, func() error {
		_, err := c.conn.Create(c.path(path), nil, zk.FlagPersistent, worldACL())
		return err
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return wrap("create", path, err)
}

// createSequential creates a node whose name ends with a number that ZooKeeper counts
// up, and returns its path. After an unknown outcome there may be two of them.
func (c *Client) createSequential(ctx context.Context, prefix string, data []byte) (path string, err error) {
	err = c.retry(ctx, func() error {
		created, err := c.conn.Create(c.path(prefix), data, zk.FlagSequence, worldACL())
		path = cmp.Or(strings.TrimPrefix(created, c.chroot), prefix)
		return c.traced("create", path, 0, err)
	})
	return path, wrap("create", prefix, err)
}

// createOnce creates a persistent node with content that no other writer could
// have written, so a node found with that content after an unknown outcome is
// this call's.
func (c *Client) createOnce(ctx context.Context, path string, data []byte) error {
	uncertain := false
	for {
		_, err := c.conn.Create(c.path(path), data, zk.FlagPersistent, worldACL())
		err = c.traced("create", path, 0, err)
		switch {
		case errors.Is(err, zk.ErrNodeExists) && uncertain:
			found, _, rerr := c.get(ctx, path)
			if rerr != nil {
				return rerr
			}
			if bytes.Equal(found, data) {
				return nil
			}
			return wrap("create", path, err)
		case err == nil || !retriable(err):
			return wrap("create", path, err)
		}
		uncertain = uncertain || unknownOutcome(err)
		if err := c.pause(ctx, err); err != nil {
			return wrap("create", path, err)
		}
	}
}

// setOnce writes a node at an expected version. After an unknown outcome the
// node at the next version with this content is taken for this call's work.
func (c *Client) setOnce(ctx context.Context, path string, data []byte, version int32) (int32, error) {
	return c.writeAt(ctx, path, data, version, false, func() (int32, error) {
		stat, err := c.conn.Set(c.path(path), data, version)
		if err != nil {
			return 0, c.traced("set", path, noVersion, err)
		}
		_ = c.traced("set", path, stat.Version, nil) // nil it is
		return stat.Version, nil
	})
}

// writeAt runs write, which sets path at version to data, until its outcome is
// known. uncertain says that an earlier attempt may have been applied.
func (c *Client) writeAt(ctx context.Context, path string, data []byte, version int32, uncertain bool, write func() (int32, error)) (int32, error) {
	for {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		next, err := write()
		switch {
		case errors.Is(err, zk.ErrBadVersion) && uncertain:
			found, stat, rerr := c.get(ctx, path)
			if rerr != nil {
				return 0, rerr
			}
			if stat.Version == version+1 && bytes.Equal(found, data) {
				return stat.Version, nil
			}
			return 0, wrap("write", path, err)
		case err == nil || !retriable(err):
			return next, wrap("write", path, err)
		}
		uncertain = uncertain || unknownOutcome(err)
		if err := c.pause(ctx, err); err != nil {
			return 0, wrap("write", path, err)
		}
	}
}

// remove deletes a node whatever its version; a missing one is no error.
func (c *Client) remove(ctx context.Context, path string) error {
	err := c.retry(ctx, func() error { return c.traced("delete", path, noVersion, c.conn.Delete(c.path(path), -1)) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return wrap("delete", path, err)
}

// multi is one attempt at an atomic list of operations. The error is that of
// the operation that failed, unwrapped, and failed its index (−1 when the whole
// request failed).
func (c *Client) multi(ops ...any) (results []zk.MultiResponse, failed int, err error) {
	defer func() { c.traceMulti(ops, results, failed, err) }()
	results, err = c.conn.Multi(ops...)
	if err == nil {
		return results, -1, nil
	}
	for i, r := range results {
		if r.Error != nil && !isSkip(r.Error) {
			return results, i, r.Error
		}
	}
	return results, -1, err
}

// isSkip recognises ZooKeeper's RUNTIMEINCONSISTENCY (−2): the operations that
// come after the one that failed.
func isSkip(err error) bool { return err.Error() == "unknown error: -2" }

// fenced is one attempt at a list of operations by the controller elected as f.
// The failed index counts from the first of ops.
func (c *Client) fenced(f Fence, ops ...any) ([]zk.MultiResponse, int, error) {
	check := &zk.CheckVersionRequest{Path: c.path(controllerEpochPath), Version: f.Version}
	results, failed, err := c.multi(append([]any{check}, ops...)...)
	if err != nil {
		if failed == 0 {
			return nil, -1, fmt.Errorf("%w: epoch %d", ErrFenced, f.Epoch)
		}
		return nil, failed - 1, err
	}
	return results[1:], -1, nil
}

func (c *Client) createOp(path string, data []byte) *zk.CreateRequest {
	return &zk.CreateRequest{Path: c.path(path), Data: data, Acl: worldACL(), Flags: zk.FlagPersistent}
}

func (c *Client) setOp(path string, data []byte, version int32) *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: c.path(path), Data: data, Version: version}
}

func (c *Client) deleteOp(path string) *zk.DeleteRequest {
	return &zk.DeleteRequest{Path: c.path(path), Version: -1}
}
