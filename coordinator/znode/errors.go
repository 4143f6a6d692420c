package znode

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Errors that callers branch on.
var (
	// ErrNotFound means that the node does not exist.
	ErrNotFound = errors.New("no such node")
	// ErrExists means that the node exists already.
	ErrExists = errors.New("node exists already")
	// ErrVersion means that somebody else changed the node since it was read.
	ErrVersion = errors.New("node version differs")
	// ErrFenced means that another controller was elected since.
	ErrFenced = errors.New("fenced by a newer controller epoch")
	// ErrBrokerIDInUse means that a live broker has the id.
	ErrBrokerIDInUse = errors.New("broker id is in use")
	// ErrClosed means that the Client was closed.
	ErrClosed = errors.New("client is closed")
	// ErrChroot means that the chroot of zookeeper.connect cannot be a path.
	ErrChroot = errors.New("invalid chroot")
)

// FormatError means that a node holds something else than the layout says.
type FormatError struct {
	Path string
	Err  error
}

// Error names the node and what is wrong with it.
func (e *FormatError) Error() string { return fmt.Sprintf("content of %s: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *FormatError) Unwrap() error { return e.Err }

// wrap adds the path and turns the library's errors into this package's.
func wrap(op, path string, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, zk.ErrNoNode):
		err = ErrNotFound
	case errors.Is(err, zk.ErrNodeExists):
		err = ErrExists
	case errors.Is(err, zk.ErrBadVersion):
		err = ErrVersion
	case errors.Is(err, zk.ErrClosing):
		err = ErrClosed
	}
	return fmt.Errorf("%s %s: %w", op, path, err)
}

// unknownOutcome reports whether a request may or may not have been applied:
// the connection broke before the answer came.
func unknownOutcome(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed)
}

// retriable reports whether the request may succeed later on this Client.
// A session that expired is replaced by the library.
func retriable(err error) bool {
	return unknownOutcome(err) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrSessionMoved)
}
