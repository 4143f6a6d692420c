package zkserver

import (
	"errors"
	"fmt"

	"tidemark/coordinator/zkserver/jute"
	"tidemark/coordinator/zkserver/tree"
)

type taskKind uint8

const (
	taskConnect taskKind = iota // body is the first frame
	taskRequest                 // body is a later frame
	taskWord                    // body is a four-letter word
	taskGone                    // the connection has ended
)

// task is what a connection hands to the loop. It owns body.
type task struct {
	conn *conn
	kind taskKind
	body []byte
}

// A batch ends after batchTasks tasks, or once it has batchBytes to log and to
// answer, so that replies go out however fast requests come in.
const (
	batchTasks = 4 * taskQueue
	batchBytes = 4 << 20
)

// loop owns the tree and the store until the server ends.
func (s *Server) loop() {
	defer func() {
		if err := s.store.close(); err != nil {
			s.o.Logger.Error("cannot close the transaction log", "error", err)
		}
	}()
	for {
		ticked := false
		select {
		case t := <-s.tasks:
			s.handle(t)
		case late := <-s.ticks:
			ticked = true
			s.stalled = max(s.stalled, late)
		case <-s.quit:
			return
		}
		// Whatever waits already shares the sync. A tick looks at the requests
		// that wait first: they keep their sessions alive.
		s.drain()
		if ticked {
			s.tick()
		}
		if !s.settle() {
			return
		}
	}
}

// settle commits. On a full disk it tries again with every tick until there is room;
// nobody is answered meanwhile, as what is asked may have to be logged, and no session
// ends. ok is false where the server does.
func (s *Server) settle() (ok bool) {
	began := s.o.Clock.Now()
	for waits := 0; ; waits++ {
		err := s.commit()
		switch {
		case s.store.failed != nil:
			s.o.Logger.Error("zookeeper stops: its transaction log cannot be written", "error", err)
			s.stop(fmt.Errorf("zookeeper stopped: %w", err))
			return false
		case err == nil && waits > 0:
			s.o.Logger.Info("the disk has room again: zookeeper goes on", "after", s.o.Clock.Now().Sub(began))
			s.stalled = max(s.stalled, s.o.Clock.Now().Sub(began))
			return true
		case err == nil:
			return true
		case waits == 0:
			s.o.Logger.Error("the disk is full: zookeeper answers nobody until there is room", "error", err)
		}
		select {
		case <-s.ticks:
		case <-s.quit:
			return false
		}
	}
}

// drain handles the tasks that wait, as far as one batch goes.
func (s *Server) drain() {
	for n := 0; n < batchTasks && s.batched < batchBytes; n++ {
		select {
		case t := <-s.tasks:
			s.handle(t)
		default:
			return
		}
	}
}

// commit makes the batch durable, lets its replies go and takes a snapshot when
// one is due.
func (s *Server) commit() error {
	if len(s.txns) > 0 {
		began := s.o.Clock.Now()
		if err := s.store.append(s.txns); err != nil {
			return err
		}
		s.stalled = max(s.stalled, s.o.Clock.Now().Sub(began))
		clear(s.txns)
		s.txns = s.txns[:0]
	}
	s.batched = 0
	for _, c := range s.dirty {
		c.send(c.pending, c.handled, c.ending)
		c.pending, c.handled = c.pending[:0], 0
		if cap(c.pending) > pauseBytes {
			c.pending = nil
		}
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	if s.store.snapshotDue(s.o.SnapshotEvery) {
		return s.store.snapshot(s.tree)
	}
	return nil
}

func (s *Server) handle(t task) {
	c := t.conn
	if c.ending && t.kind != taskGone {
		return // nothing more is answered
	}
	c.handled++
	switch t.kind {
	case taskConnect:
		s.stats.received++
		s.connect(c, t.body)
	case taskRequest:
		s.stats.received++
		if c.session == 0 || s.owners[c.session] != c {
			c.close() // refused, expired, or the session moved to another connection
			return
		}
		s.touch(c)
		s.request(c, t.body)
	case taskWord:
		s.reply(c, []byte(s.answerWord(string(t.body))))
		c.ending = true
	case taskGone:
		s.tree.Forget(c.id)
		delete(s.watchers, c.id)
		if s.owners[c.session] == c {
			delete(s.owners, c.session) // the session lives on until it expires
		}
	}
}

// connect opens a session or takes one up again.
func (s *Server) connect(c *conn, body []byte) {
	req, err := decodeConnect(body)
	if err != nil || req.seen > s.tree.Zxid() {
		// A client that has seen more than we know belongs to another server.
		s.o.Logger.Warn("connection refused", "remote", c.net.RemoteAddr(), "error", err, "seen", req.seen)
		c.close()
		return
	}
	tick := int32(s.o.TickTime.Milliseconds())
	timeout := min(max(req.timeoutMs, 2*tick), 20*tick)
	session := tree.Session{TimeoutMs: timeout}
	if req.session == 0 {
		session.ID, session.Password = s.newSessionID(), newPassword()
		s.record(s.tree.OpenSession(session, s.nowMs()))
	} else {
		known, ok := s.tree.Session(req.session)
		if !ok || string(known.Password[:]) != string(req.password) {
			s.reply(c, encodeConnected(tree.Session{}, req.hasReadOnly))
			c.ending = true
			return
		}
		session.ID, session.Password = known.ID, known.Password
		if old := s.owners[session.ID]; old != nil {
			old.close()
		}
	}
	c.session, c.timeout = session.ID, timeout
	s.owners[session.ID] = c
	s.watchers[c.id] = c
	s.touch(c)
	s.reply(c, encodeConnected(session, req.hasReadOnly))
}

func (s *Server) newSessionID() int64 {
	for {
		s.nextSession++
		if _, taken := s.tree.Session(s.nextSession); !taken {
			return s.nextSession
		}
	}
}

func (s *Server) touch(c *conn) { s.expiry.Touch(c.session, int64(c.timeout), s.nowMs()) }

func (s *Server) nowMs() int64 { return s.o.Clock.Now().UnixMilli() }

// tick ends the sessions that are due and, at its longer interval, the
// containers and TTL nodes.
func (s *Server) tick() {
	now := s.nowMs()
	if s.stalled > s.o.TickTime {
		s.graceSessions(now)
	}
	s.stalled = 0
	for _, id := range s.expiry.Due(now) {
		s.o.Logger.Info("session expired", "session", fmt.Sprintf("%#x", id))
		s.endSession(id)
		if c := s.owners[id]; c != nil {
			delete(s.owners, id)
			c.close()
		}
	}
	if now < s.nextReapMs {
		return
	}
	s.nextReapMs = now + s.o.ReapInterval.Milliseconds()
	for _, path := range s.tree.Reapable(now) {
		s.write(tree.Request{TimeMs: now, Ops: []tree.Op{{Kind: tree.OpReap, Path: path}}})
	}
}

// graceSessions takes the time that this process or its disk stood still off nobody's
// session: pings may lie unread in the sockets, and a client that shares the process
// could not send any. A tick more is for those to arrive. No session begins anew: a
// server that stands still now and then would never find a dead client dead.
func (s *Server) graceSessions(nowMs int64) {
	s.o.Logger.Warn("the server stood still; sessions end as much later", "for", s.stalled)
	later := (s.stalled + s.o.TickTime).Milliseconds()
	for _, session := range s.tree.Sessions() {
		timeout := session.TimeoutMs
		if c := s.owners[session.ID]; c != nil {
			timeout = c.timeout
		}
		s.expiry.Postpone(session.ID, later, int64(timeout), nowMs)
	}
}

func (s *Server) endSession(id int64) {
	s.expiry.Remove(id)
	txn, events, ok := s.tree.CloseSession(id, s.nowMs())
	if ok {
		s.record(txn)
		s.notify(events)
	}
}

// write carries out a request, queues its transaction and the events of others.
func (s *Server) write(r tree.Request) tree.Outcome {
	out := s.tree.Write(r)
	if len(out.Txn.Changes) > 0 {
		s.record(out.Txn)
		s.notify(out.Events)
	}
	return out
}

func (s *Server) record(txn tree.Txn) {
	s.txns = append(s.txns, txn)
	for _, c := range txn.Changes {
		s.batched += len(c.Path) + len(c.Data)
	}
}

func (s *Server) notify(events []tree.Event) {
	for _, e := range events {
		if c := s.watchers[e.Watcher]; c != nil {
			s.reply(c, encodeEvent(e))
		}
	}
}

// reply queues bytes for a connection, behind all it was sent before.
func (s *Server) reply(c *conn, data []byte) {
	if len(c.pending) == 0 {
		s.dirty = append(s.dirty, c)
	}
	c.pending = append(c.pending, data...)
	s.batched += len(data)
	s.stats.sent++
}

// request answers one frame.
func (s *Server) request(c *conn, body []byte) {
	req, err := decodeRequest(body)
	if err != nil {
		if errors.Is(err, errNoHeader) {
			c.close()
			return
		}
		s.answer(c, req.xid, tree.MarshallingError, nil)
		return
	}
	w := jute.NewWriter(nil)
	code := s.execute(c, req, w)
	s.answer(c, req.xid, code, w.Bytes())
	switch {
	case req.op == opClose:
		delete(s.owners, c.session)
		c.ending = true
	case req.op == opAuth && code != tree.OK:
		c.ending = true
	}
}

func (s *Server) answer(c *conn, xid int32, code tree.Code, body []byte) {
	if code != tree.OK {
		body = nil
	}
	s.reply(c, encodeReply(xid, s.tree.Zxid(), code, body))
}
