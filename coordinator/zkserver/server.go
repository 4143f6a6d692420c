// Package zkserver is an embedded server that speaks ZooKeeper's wire protocol:
// one process, no ensemble. It serves any ZooKeeper client, keeps its state in a
// transaction log and snapshots, and acknowledges a write once the log is on
// stable storage. A restart loses nothing, sessions included.
//
// One goroutine owns the tree (package tree, which holds the semantics) and the
// files, so all requests have one order. Requests that wait while a sync runs
// share the next one. Replies and watch events of one connection leave in the
// order in which that goroutine made them: a client hears of a change before it
// can read it.
//
// The server is for a trusted machine. Who reaches it rules the cluster; listen
// on loopback. It has no SASL, no TLS, no quotas and no dynamic reconfiguration.
// Files and records are in docs/formats/zookeeper.md.
package zkserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"tidemark/coordinator/zkserver/tree"
	"tidemark/internal/clock"
	"tidemark/internal/vfs"
)

// Options configure a Server. The zero values of all but FS and Dir are good.
type Options struct {
	// FS and Dir hold the transaction log and the snapshots.
	FS  vfs.FS
	Dir string
	// Clock defaults to the machine's.
	Clock clock.Clock
	// TickTime is ZooKeeper's tickTime, 2 s by default: sessions last between
	// 2 and 20 ticks and expire on a tick.
	TickTime time.Duration
	// Logger gets what an operator should know; nil is silence.
	Logger *slog.Logger
	// SnapshotEvery is the least number of transactions between snapshots,
	// 10,000 by default.
	SnapshotEvery int
	// ReapInterval is how often containers and TTL nodes are looked at, a
	// minute by default.
	ReapInterval time.Duration
	// ForgetSessions closes every session found on disk at the start, so that
	// their ephemeral nodes go at once. It is for a server inside the only
	// process that uses it: after a crash that process need not wait for its
	// own dead session.
	ForgetSessions bool
	// MaxFrame is jute.maxbuffer, the longest request in bytes; 1 MiB − 1 by
	// default.
	MaxFrame int
	// MaxConnections bounds the connections, 1,000 by default; more are closed
	// at once.
	MaxConnections int
	// FrameTimeout bounds the time from a frame's first byte to its last, the
	// wait for the first frame, and each write; 10 s by default.
	FrameTimeout time.Duration
}

func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.TickTime = orDefault(o.TickTime, 2*time.Second)
	o.SnapshotEvery = orDefault(o.SnapshotEvery, 10_000)
	o.ReapInterval = orDefault(o.ReapInterval, time.Minute)
	o.MaxFrame = orDefault(o.MaxFrame, 1<<20-1)
	o.MaxConnections = orDefault(o.MaxConnections, 1000)
	o.FrameTimeout = orDefault(o.FrameTimeout, 10*time.Second)
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// taskQueue bounds the requests that were read but not yet looked at.
const taskQueue = 64

// Server is a running server.
type Server struct {
	o        Options
	listener net.Listener
	store    *store
	started  time.Time

	tasks chan task          // connections → loop
	ticks chan time.Duration // clock → loop, how late the tick is; capacity 1
	quit  chan struct{}      // closed by stop
	done  chan struct{}      // closed when everything has ended
	work  sync.WaitGroup

	// Owned by the loop.
	tree        *tree.Tree
	expiry      *tree.Expiry
	owners      map[int64]*conn // session → the connection that serves it
	watchers    map[int64]*conn // connection id → connection
	dirty       []*conn         // connections with replies held back for the sync
	txns        []tree.Txn      // made but not yet logged
	batched     int             // bytes of this batch, logged and answered
	nextSession int64
	nextReapMs  int64
	stalled     time.Duration // longest write to the log since the last tick
	stats       stats

	mu    sync.Mutex // guards the following
	err   error      // why the server stopped by itself
	ended bool
	conns map[*conn]struct{}
	timer clock.Timer
}

// Start loads the state in o.Dir and serves clients of l until Close; l is the
// server's from then on, also when Start fails.
func Start(l net.Listener, o Options) (*Server, error) {
	o.setDefaults()
	st, t, err := openStore(o.FS, o.Dir, o.Logger)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start zookeeper: %w", err), l.Close())
	}
	now := o.Clock.Now()
	if o.ForgetSessions {
		if err := forgetSessions(st, t, now.UnixMilli()); err != nil {
			return nil, errors.Join(fmt.Errorf("start zookeeper: %w", err), st.close(), l.Close())
		}
	}
	s := &Server{
		o: o, listener: l, store: st, tree: t, started: now,
		tasks: make(chan task, taskQueue), ticks: make(chan time.Duration, 1),
		quit: make(chan struct{}), done: make(chan struct{}),
		expiry: tree.NewExpiry(o.TickTime.Milliseconds()),
		owners: map[int64]*conn{}, watchers: map[int64]*conn{}, conns: map[*conn]struct{}{},
		// As ZooKeeper numbers them, the top byte free; never one that was used.
		nextSession: max(int64(uint64(now.UnixMilli())<<24>>8), t.LastSessionID()),
		nextReapMs:  now.Add(o.ReapInterval).UnixMilli(),
	}
	for _, session := range t.Sessions() {
		// Every session gets its whole time to find the server again.
		s.expiry.Touch(session.ID, int64(session.TimeoutMs), now.UnixMilli())
	}
	s.armTimer()
	s.work.Go(s.accept)
	s.work.Go(s.loop)
	go func() {
		s.work.Wait()
		close(s.done)
	}()
	return s, nil
}

// forgetSessions ends what a process before this one left, as if it had expired.
func forgetSessions(st *store, t *tree.Tree, nowMs int64) error {
	var txns []tree.Txn
	for _, session := range t.Sessions() {
		txn, _, _ := t.CloseSession(session.ID, nowMs)
		txns = append(txns, txn)
	}
	if len(txns) == 0 {
		return nil
	}
	return st.append(txns)
}

// Addr is the address that clients connect to.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Done is closed when the server has stopped, by Close or by an error.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is why the server stopped by itself, nil if it did not.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Close ends all connections, keeps all sessions and waits for the server's
// goroutines.
func (s *Server) Close() error {
	s.stop(nil)
	<-s.done
	return s.Err()
}

// stop begins the end, once; err is nil when it was asked for.
func (s *Server) stop(err error) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.err = err
	s.timer.Stop()
	conns := make([]*conn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	s.mu.Unlock()
	close(s.quit)
	_ = s.listener.Close() // a listener that cannot be closed serves nobody either
	for _, c := range conns {
		c.close()
	}
}

// armTimer sets the clock to the next tick.
func (s *Server) armTimer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	tick := s.o.TickTime.Milliseconds()
	now := s.o.Clock.Now()
	wait := time.Duration(tick-now.UnixMilli()%tick) * time.Millisecond
	s.timer = s.o.Clock.AfterFunc(wait, func() {
		select {
		case s.ticks <- s.o.Clock.Now().Sub(now.Add(wait)):
		default: // the loop has not seen the last one yet
		}
		s.armTimer()
	})
}

func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			if s.ending() {
				return
			}
			s.o.Logger.Warn("cannot accept a connection", "error", err)
			select {
			case <-time.After(100 * time.Millisecond): // out of descriptors, most likely
				continue
			case <-s.quit:
				return
			}
		}
		s.serve(nc)
	}
}

func (s *Server) ending() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

func (s *Server) serve(nc net.Conn) {
	c := newConn(s, nc)
	s.mu.Lock()
	full := len(s.conns) >= s.o.MaxConnections
	refuse := s.ended || full
	if !refuse {
		s.conns[c] = struct{}{}
		s.work.Add(2)
	}
	s.mu.Unlock()
	if refuse {
		if full {
			s.o.Logger.Warn("too many connections", "limit", s.o.MaxConnections, "refused", nc.RemoteAddr())
		}
		c.close()
		return
	}
	go func() {
		defer s.work.Done()
		c.readLoop()
	}()
	go func() {
		defer s.work.Done()
		c.writeLoop()
	}()
}

// submit hands a task to the loop; false when the server ends.
func (s *Server) submit(t task) bool {
	select {
	case s.tasks <- t:
		return true
	case <-s.quit:
		return false
	}
}

// newPassword makes the secret with which a client takes up its session again.
func newPassword() (p [16]byte) {
	rand.Read(p[:]) // never fails, says its documentation
	return p
}
