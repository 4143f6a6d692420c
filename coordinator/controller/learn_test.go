package controller

import (
	"encoding/binary"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"tidemark/coordinator/znode"
)

// asking notes the kinds of the requests that a client sends to the metadata store.
type asking struct {
	mu    sync.Mutex
	kinds []uint32
}

func (a *asking) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	return &asked{conn, a}, nil
}

func (a *asking) take() (kinds []uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kinds, a.kinds = a.kinds, nil
	return kinds
}

type asked struct {
	net.Conn
	a *asking
}

func (c *asked) Write(b []byte) (int, error) {
	if len(b) >= 12 { // the library writes each request in one call
		c.a.mu.Lock()
		c.a.kinds = append(c.a.kinds, binary.BigEndian.Uint32(b[8:]))
		c.a.mu.Unlock()
	}
	return c.Conn.Write(b)
}

// TestLearningCatchesUp: the configuration of a new topic is not read from a server of the
// ensemble that does not have it yet (C10): its replicas would run under other rules.
func TestLearningCatchesUp(t *testing.T) {
	const sync, getData = 9, 4
	n, c, _ := three(t)
	n.create(c, "t", map[int32][]int32{0: {1, 2, 3}})
	var a asking
	client, err := znode.Connect(testContext(t), znode.Options{Servers: []string{n.addr}, SessionTimeout: 10 * time.Second, Dialer: a.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	other := New(Options{Client: client, BrokerID: 2, Sink: newSink(), Peers: &fakePeers{n}, Replication: n.strategy})
	a.take()
	if err := other.LearnTopics(testContext(t), []string{"t"}); err != nil {
		t.Fatal(err)
	}
	kinds := a.take()
	synced, read := slices.Index(kinds, sync), slices.Index(kinds, getData)
	if synced < 0 || read < synced {
		t.Errorf("requests of kinds %v: want a sync (%d) before what is read (%d)", kinds, sync, getData)
	}
}
