package controller

import (
	"fmt"
	"net"
	"testing"
	"time"

	"tidemark/coordinator/zkserver"
	"tidemark/coordinator/znode"
	"tidemark/internal/vfs"
)

// TestOfficeIsTakenAgainAfterTheSession: the session ends, the broker registers
// again, is elected at the next epoch and tells the Sink everything anew.
func TestOfficeIsTakenAgainAfterTheSession(t *testing.T) {
	fs := vfs.NewMem()
	addr := "127.0.0.1:0"
	run := func(forget bool) *zkserver.Server {
		var l net.Listener
		await(t, func() (bool, string) { // an outgoing connection may have the port meanwhile
			var err error
			l, err = net.Listen("tcp", addr)
			return err == nil, fmt.Sprint(err)
		})
		s, err := zkserver.Start(l, zkserver.Options{FS: fs, Dir: "/zk", TickTime: 100 * time.Millisecond, ForgetSessions: forget})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	server := run(false)
	addr = server.Addr().String()
	defer func() { server.Close() }()
	client := connect(t, addr)
	register(t, client, 1)
	ctx := testContext(t)
	client.KeepRegistered(ctx, func() znode.Broker { return znode.Broker{ID: 1, Host: "127.0.0.1", Port: 9092} }, func(_ int64, err error) {
		if err != nil {
			t.Errorf("register again: %v", err)
		}
	})
	c, s := start(t, client, 1)
	if _, err := c.CreateTopic(ctx, TopicRequest{Name: "t", Partitions: 1, ReplicationFactor: 1}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := server.Close(); err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		clear(s.states)
		s.mu.Unlock()
		before := c.fence.Epoch
		server = run(true)
		s.wait(func() bool { st, ok := s.states[TopicPartition{Topic: "t"}]; return ok && st.Leader == 1 })
		if !c.IsController() || c.fence.Epoch <= before {
			t.Errorf("controller %v at epoch %d, want an epoch above %d", c.IsController(), c.fence.Epoch, before)
		}
		name := string(rune('a' + before))
		if _, err := c.CreateTopic(ctx, TopicRequest{Name: name, Partitions: 1, ReplicationFactor: 1}); err != nil {
			t.Errorf("create a topic in the new session: %v", err)
		}
	}
}
