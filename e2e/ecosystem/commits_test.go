//go:build ecosystem

package ecosystem

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitGate stands between clients and a broker and shows every EndTxn request that
// commits before the broker has it, and every answer to one before the client has it.
// One at a time is shown.
type commitGate struct {
	Address string
	target  string
	mu      sync.Mutex
	// all are the commits that were asked for.
	all []*kmsg.EndTxnRequest
	// asked and answered say whether to let it pass; if not, the connection is cut.
	asked    func(*kmsg.EndTxnRequest) bool
	answered func(*kmsg.EndTxnRequest) bool
}

// newCommitGate listens until the test ends, and passes everything on until it is told
// otherwise. Clients may connect once there is a target.
func newCommitGate(t *testing.T) *commitGate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	pass := func(*kmsg.EndTxnRequest) bool { return true }
	g := &commitGate{Address: l.Addr().String(), asked: pass, answered: pass}
	var serving sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		serving.Wait()
	})
	serving.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { g.serve(client) })
		}
	})
	return g
}

// Show sets what is asked about commits from now on.
func (g *commitGate) Show(asked, answered func(*kmsg.EndTxnRequest) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asked, g.answered = asked, answered
}

// serve passes a connection on until one side ends or a commit is held back.
func (g *commitGate) serve(client net.Conn) {
	broker, err := net.Dial("tcp", g.target)
	if err != nil {
		client.Close()
		return
	}
	var mu sync.Mutex
	pending := map[uint32]*kmsg.EndTxnRequest{} // by correlation id
	var both sync.WaitGroup
	pipe := func(from, to net.Conn, pass func(frame []byte) bool) {
		passFrames(from, to, pass)
		from.Close()
		to.Close()
	}
	both.Go(func() {
		pipe(client, broker, func(frame []byte) bool {
			commit := parseCommit(frame)
			if commit == nil {
				return true
			}
			mu.Lock()
			pending[binary.BigEndian.Uint32(frame[4:])] = commit
			mu.Unlock()
			return g.ask(commit)
		})
	})
	both.Go(func() {
		pipe(broker, client, func(frame []byte) bool {
			mu.Lock()
			commit := pending[binary.BigEndian.Uint32(frame)]
			delete(pending, binary.BigEndian.Uint32(frame))
			mu.Unlock()
			return commit == nil || g.answer(commit)
		})
	})
	both.Wait()
}

func (g *commitGate) ask(commit *kmsg.EndTxnRequest) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, commit)
	return g.asked(commit)
}

func (g *commitGate) answer(commit *kmsg.EndTxnRequest) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.answered(commit)
}

// Count is how many commits that were asked for so far are picked.
func (g *commitGate) Count(picked func(*kmsg.EndTxnRequest) bool) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, commit := range g.all {
		if picked(commit) {
			n++
		}
	}
	return n
}

// passFrames copies frames of the Kafka protocol until one does not pass, or an error.
func passFrames(from io.Reader, to io.Writer, pass func(frame []byte) bool) {
	for {
		var size [4]byte
		if _, err := io.ReadFull(from, size[:]); err != nil {
			return
		}
		frame := make([]byte, 4+binary.BigEndian.Uint32(size[:]))
		copy(frame, size[:])
		if _, err := io.ReadFull(from, frame[4:]); err != nil || !pass(frame[4:]) {
			return
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

// parseCommit is the EndTxn request that commits in a frame; nil for any other.
func parseCommit(frame []byte) *kmsg.EndTxnRequest {
	end := kmsg.NewPtrEndTxnRequest()
	if int16(binary.BigEndian.Uint16(frame)) != end.Key() {
		return nil
	}
	end.SetVersion(int16(binary.BigEndian.Uint16(frame[2:])))
	body := frame[10+max(0, int(int16(binary.BigEndian.Uint16(frame[8:])))):]
	if end.IsFlexible() {
		body = body[1:] // no tags
	}
	if err := end.ReadFrom(body); err != nil {
		panic(errors.Join(fmt.Errorf("an EndTxn request of version %d", end.GetVersion()), err))
	}
	if !end.Commit {
		return nil
	}
	return end
}
