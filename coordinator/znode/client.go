// Package znode is Kafka's ZooKeeper layout, typed: one method for each thing
// that a broker or a controller reads or writes there, over go-zookeeper/zk.
// The layout is drawn in docs/formats/zookeeper.md; in Kafka it is ZkData and
// KafkaZkClient.
//
// A lost connection leaves the outcome of a write unknown. Every method here
// resolves that itself: it reads back and compares the session that owns the
// node, its version or its content, and only then reports or tries again. While
// no server is reachable a method waits until its context ends.
//
// The package elects nobody and keeps no copy of what it read.
package znode

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"tidemark/internal/trace"
)

type rawJSON = json.RawMessage

// Options configure a Client.
type Options struct {
	// Servers are host:port addresses.
	Servers []string
	// Chroot is the path below which everything lives; empty for none. Connect
	// creates it.
	Chroot string
	// SessionTimeout asks for a session's length; the server bounds it. The
	// default is Kafka's, 18 s.
	SessionTimeout time.Duration
	// Logger gets the session's changes; nil is silence.
	Logger *slog.Logger
	// Trace takes the writes; nil is off.
	Trace *trace.Tracer
	// Dialer replaces net.DialTimeout where not nil.
	Dialer func(network, address string, timeout time.Duration) (net.Conn, error)
}

// retryPause is the time between two attempts while no server answers.
const retryPause = 50 * time.Millisecond

// Client is one session's typed view, renewed under a new session id when the
// old one expires. It is safe for concurrent use.
type Client struct {
	conn   *zk.Conn
	chroot string
	o      Options
	log    *slog.Logger

	granted atomic.Int64 // the session timeout in nanoseconds that the server granted; 0 before
	watched atomic.Bool  // a watch has been set

	ctx    context.Context // ends at Close; watchers live under it
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	changed chan struct{}  // closed and replaced at each session event
	past    map[int64]bool // ids of this Client's sessions, the present one included
	lease   *Lease         // nil before the first call of Lease
	// registeredIn is the session of the last attempt to register a broker.
	registeredIn int64
}

// checkChroot wants a path as ZooKeeper takes it.
func checkChroot(chroot string) error {
	if chroot == "" {
		return nil
	}
	bad := !strings.HasPrefix(chroot, "/") || strings.HasSuffix(chroot, "/") || strings.Contains(chroot, "//") ||
		strings.ContainsRune(chroot, 0)
	for _, part := range strings.Split(chroot, "/") {
		bad = bad || part == "." || part == ".."
	}
	if bad {
		return fmt.Errorf("%w: %q", ErrChroot, chroot)
	}
	return nil
}

// Connect opens a session, waiting for one until ctx ends, and creates the
// chroot. The caller closes the Client.
func Connect(ctx context.Context, o Options) (*Client, error) {
	if err := checkChroot(o.Chroot); err != nil {
		return nil, err
	}
	if o.SessionTimeout <= 0 {
		o.SessionTimeout = 18 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Dialer == nil {
		o.Dialer = net.DialTimeout
	}
	c := &Client{chroot: o.Chroot, o: o, log: o.Logger, changed: make(chan struct{}), past: map[int64]bool{}}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	servers := o.Servers
	if len(servers) == 1 {
		// The library rests for a second before it tries the first server of
		// its list again, also after one broken connection.
		servers = []string{servers[0], servers[0]}
	}
	// The library's event channel holds six and drops the rest, so the events
	// come by callback and only say that there is something to look at.
	conn, _, err := zk.Connect(servers, o.SessionTimeout,
		zk.WithEventCallback(c.sessionEvent), zk.WithLogInfo(false),
		zk.WithLogger(libraryLogger{o.Logger}), zk.WithDialer(c.dial), zk.WithMaxBufferSize(8<<20))
	if err != nil {
		c.cancel()
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(o.Servers, ","), err)
	}
	c.mu.Lock()
	c.conn = conn
	c.mu.Unlock()
	if err := c.awaitSession(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(o.Servers, ","), err)
	}
	if err := c.createChroot(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) createChroot(ctx context.Context) error {
	for i := 1; i <= len(c.chroot); i++ {
		if i < len(c.chroot) && c.chroot[i] != '/' {
			continue
		}
		part := c.chroot[:i]
		err := c.retry(ctx, func() error {
			_, err := c.conn.Create(part, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
			return err
		})
		if err != nil && err != zk.ErrNodeExists {
			return wrap("create chroot", part, err)
		}
	}
	return nil
}

// Close ends the session, so that its ephemeral nodes vanish at once, and waits
// for the Client's goroutines.
func (c *Client) Close() {
	c.mu.Lock()
	done := c.closed
	c.closed = true
	c.mu.Unlock()
	if done {
		return
	}
	c.cancel()
	c.conn.Close()
	c.work.Wait()
}

// retry repeats f while it fails for want of a server, until ctx ends. f must be
// safe to repeat.
func (c *Client) retry(ctx context.Context, f func() error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := f()
		if err == nil || !retriable(err) {
			return err
		}
		if err := c.pause(ctx, err); err != nil {
			return err
		}
	}
}

// pause waits a little before the next attempt; it fails with ctx, saying what
// it waited for, and with ErrClosed.
func (c *Client) pause(ctx context.Context, reason error) error {
	t := time.NewTimer(retryPause)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-c.ctx.Done():
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("%w (last error: %w)", ctx.Err(), reason)
	}
}

// libraryLogger passes the library's complaints on as debug lines.
type libraryLogger struct{ log *slog.Logger }

func (l libraryLogger) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client", "text", fmt.Sprintf(format, args...))
}
