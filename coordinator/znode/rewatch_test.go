package znode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// TestChangesWhileAwayAreTold: what changes while the connection is away is told once it is
// back, however many watches have to be set again and whatever else is asked meanwhile.
func TestChangesWhileAwayAreTold(t *testing.T) {
	const watches, every = 20_000, 100
	c, p, direct := throughProxy(t, lasts)
	ctx := testContext(t)
	place := func(i int) string { return fmt.Sprintf("/watched-%0200d", i) } // not all fit in one request
	for first := 0; first < watches; first += 500 {
		var ops []any
		for i := first; i < first+500; i++ {
			ops = append(ops, &zk.CreateRequest{Path: place(i), Acl: worldACL()})
		}
		if _, err := direct.conn.Multi(ops...); err != nil {
			t.Fatal(err)
		}
	}
	var events [watches]<-chan zk.Event
	var arming sync.WaitGroup
	for first := range 16 {
		arming.Go(func() {
			for i := first; i < watches; i += 16 {
				var err error
				if _, _, events[i], err = c.existsW(place(i)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	arming.Wait()
	session := c.Session().ID
	p.setRefuse(true)
	p.cut()
	for i := 0; i < watches; i += every {
		if _, err := direct.conn.Set(place(i), nil, -1); err != nil {
			t.Fatal(err)
		}
	}
	var asking sync.WaitGroup
	back := make(chan struct{})
	for range 8 {
		asking.Go(func() {
			for {
				select {
				case <-back:
					return
				default:
					_, _, _ = c.conn.Exists("/") // fails while the connection is away
				}
			}
		})
	}
	p.setRefuse(false)
	missed := 0
	for i := 0; i < watches; i += every {
		select {
		case <-events[i]:
		case <-ctx.Done():
			missed++
		}
	}
	close(back)
	asking.Wait()
	if missed > 0 {
		t.Errorf("%d of %d changes were never told", missed, watches/every)
	}
	if got := c.Session().ID; got != session {
		t.Errorf("session %#x ended and %#x began: the watches were not set again but anew", session, got)
	}
}

// TestAnswersWaitForTheWatches of a session that goes on, and for nothing else.
func TestAnswersWaitForTheWatches(t *testing.T) {
	for name, c := range map[string]struct {
		asked, got int64
		watched    bool
		waits      bool
	}{
		"a new session":           {0, 7, true, false},
		"a session that is over":  {7, 0, true, false},
		"nothing is watched":      {7, 7, false, false},
		"watches to be set again": {7, 7, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			request := make([]byte, 48)
			binary.BigEndian.PutUint64(request[20:], uint64(c.asked))
			answer := make([]byte, 40, 41)
			binary.BigEndian.PutUint32(answer, 36)
			binary.BigEndian.PutUint64(answer[12:], uint64(c.got))
			server := script{bytes.NewReader(append(answer, 'x'))}
			conn := &rewatching{Conn: server, watched: func() bool { return c.watched }, within: patience, set: make(chan struct{})}
			send := func(b []byte) {
				t.Helper()
				if _, err := conn.Write(b); err != nil {
					t.Fatal(err)
				}
			}
			send(request)
			for _, n := range []int{4, 36} { // as the library reads it
				if _, err := conn.Read(make([]byte, n)); err != nil {
					t.Fatal(err)
				}
			}
			next := make(chan error, 1)
			go func() {
				var b [1]byte
				_, err := conn.Read(b[:])
				next <- err
			}()
			if c.waits {
				send(frameOf(opCreate))
				select {
				case <-next:
					t.Fatal("an answer was read before the watches were set")
				case <-time.After(20 * time.Millisecond):
				}
				send(frameOf(rewatchOp))
			}
			select {
			case err := <-next:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(patience / 2):
				t.Fatal("the answer is never read")
			}
		})
	}
}

// script is a connection to a server that says what it says.
type script struct{ *bytes.Reader }

func (script) Write(b []byte) (int, error)      { return len(b), nil }
func (script) Close() error                     { return nil }
func (script) LocalAddr() net.Addr              { return nil }
func (script) RemoteAddr() net.Addr             { return nil }
func (script) SetDeadline(time.Time) error      { return nil }
func (script) SetReadDeadline(time.Time) error  { return nil }
func (script) SetWriteDeadline(time.Time) error { return nil }

// frameOf is a request of that opcode.
func frameOf(opcode uint32) []byte {
	b := make([]byte, 12)
	binary.BigEndian.PutUint32(b, 8)
	binary.BigEndian.PutUint32(b[8:], opcode)
	return b
}
