package controller

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"tidemark/coordinator/znode"
)

// killSwitch is a connection to the metadata store that dies at a counted write, for
// good: its session ends with nobody telling the client.
type killSwitch struct {
	mu sync.Mutex
	// at is the write to die at, 0 for none; count how many there were.
	at, count int
	// applied: the write reaches the store, only its answer is lost.
	applied bool
	dead    bool
	conns   []net.Conn
}

var errDead = errors.New("the connection was cut for good")

func (k *killSwitch) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return nil, errDead
	}
	conn, err := net.DialTimeout(network, address, timeout)
	if err != nil {
		return nil, err
	}
	k.conns = append(k.conns, conn)
	return &counted{Conn: conn, k: k}, nil
}

// counted sees the client's requests: the library writes each in one call.
type counted struct {
	net.Conn
	k     *killSwitch
	first bool
}

func (c *counted) Write(b []byte) (int, error) {
	k := c.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return 0, errDead
	}
	connect := !c.first
	c.first = true
	if connect || len(b) < 12 || !isWrite(binary.BigEndian.Uint32(b[8:])) {
		return c.Conn.Write(b)
	}
	k.count++
	if k.count != k.at {
		return c.Conn.Write(b)
	}
	k.dead = true
	var n int
	var err error
	if k.applied {
		n, err = c.Conn.Write(b)
		// The store reads a connection to its end before it lets go of it.
		_ = c.Conn.(*net.TCPConn).CloseWrite()
	} else {
		_ = c.Conn.Close()
		err = errDead
	}
	return n, err
}

// isWrite knows create, delete, setData and multi.
func isWrite(op uint32) bool { return op == 1 || op == 2 || op == 5 || op == 14 }

func (k *killSwitch) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
	for _, c := range k.conns {
		_ = c.Close()
	}
}

// doomed starts a controller for broker 1 whose connection dies at that write, counted
// from when it is in office; 0 is never.
func (n *cluster) doomed(at int, applied bool) *killSwitch {
	k := &killSwitch{}
	session := 600 * time.Millisecond // which a busy machine may end too
	if at == 0 {
		session = 10 * time.Second
	}
	client, err := znode.Connect(testContext(n.t), znode.Options{Servers: []string{n.addr}, SessionTimeout: session, Dialer: k.dial})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(client.Close)
	n.t.Cleanup(k.close)
	if err := client.EnsureLayout(testContext(n.t)); err != nil {
		n.t.Fatal(err)
	}
	n.control(1, client)
	k.mu.Lock()
	k.at, k.applied, k.count = at, applied, 0
	k.mu.Unlock()
	return k
}

// persist repeats an operation against whoever is controller until it is done.
func (n *cluster) persist(what string, done func(ctx context.Context, c *Controller) error) {
	n.t.Helper()
	await(n.t, func() (bool, string) {
		c := n.office()
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		err := done(ctx, c)
		return err == nil, fmt.Sprintf("%s: %v", what, err)
	})
}

func ignore(err error, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

// sequence is what the controller is killed in: topics are created, grown, reassigned,
// deleted, and lose and get back a leader.
func (n *cluster) sequence() {
	keep, move, drop := "keep", TopicPartition{Topic: "move"}, "drop"
	create := func(name string, assignment map[int32][]int32) {
		n.persist("create "+name, func(ctx context.Context, c *Controller) error {
			_, err := c.CreateTopic(ctx, TopicRequest{Name: name, Assignment: assignment, Config: map[string]string{"a": "b"}})
			return ignore(err, ErrTopicExists)
		})
	}
	create(keep, map[int32][]int32{0: {2, 3, 1}, 1: {3, 1, 2}})
	create(move.Topic, map[int32][]int32{0: {1, 2}})
	create(drop, map[int32][]int32{0: {3, 2}})
	n.persist("grow keep", func(ctx context.Context, c *Controller) error {
		return ignore(c.CreatePartitions(ctx, PartitionsRequest{Name: keep, Count: 3, Assignment: [][]int32{{1, 2, 3}}}), ErrInvalidPartitions)
	})
	n.persist("reassign move", func(ctx context.Context, c *Controller) error {
		answers, err := c.AlterReassignments(ctx, []Reassignment{{move, []int32{3, 4}}})
		if err != nil {
			return err
		}
		return answers[0]
	})
	n.persist("delete drop", func(ctx context.Context, c *Controller) error {
		return ignore(c.DeleteTopic(ctx, drop), ErrUnknownTopic)
	})
	n.leave(2)
	n.persist("broker 2 leads nothing", func(ctx context.Context, c *Controller) error {
		states, err := c.o.Client.PartitionState(ctx, TopicPartition{Topic: keep})
		if err == nil && states.Leader == 2 {
			err = errors.New("it does")
		}
		return err
	})
	n.join(2)
	n.persist("elect preferred", func(ctx context.Context, c *Controller) error {
		got, err := c.ElectLeaders(ctx, Preferred, []TopicPartition{{Topic: keep}})
		if err != nil {
			return err
		}
		return ignore(got[0].Err, ErrElectionNotNeeded)
	})
}

// settledSequence is true once everything that the sequence asked for is so.
func (n *cluster) settledSequence(client *znode.Client) (bool, string) {
	ctx := testContext(n.t)
	names, err := client.TopicNames(ctx)
	if err != nil || fmt.Sprint(names) != "[keep move]" {
		return false, fmt.Sprintf("topics %v, error %v", names, err)
	}
	if left, err := client.TopicDeletions(ctx); err != nil || len(left) > 0 {
		return false, fmt.Sprintf("deletions %v, error %v", left, err)
	}
	if ok, why := hasReplicas(n, client, "move", 3, 4)(); !ok {
		return false, why
	}
	zt, err := client.Topic(ctx, "keep")
	if err != nil || len(zt.Partitions) != 3 {
		return false, fmt.Sprintf("keep is %+v, error %v", zt, err)
	}
	for p := range zt.Partitions {
		s, err := client.PartitionState(ctx, TopicPartition{Topic: "keep", Partition: p})
		if err != nil || s.Leader < 0 || len(s.ISR) != 3 {
			return false, fmt.Sprintf("keep-%d is %+v, error %v", p, s, err)
		}
	}
	n.mu.Lock()
	for id, b := range n.brokers {
		for k := range b.logs {
			if k.Topic == "drop" {
				defer n.mu.Unlock()
				return false, fmt.Sprintf("broker %d has a log of %v", id, k)
			}
		}
	}
	n.mu.Unlock()
	return n.agreed(client, "keep", "move")
}

func (n *cluster) runSequence(at int, applied bool) *killSwitch {
	k := n.doomed(at, applied)
	client := connectFor(n.t, n.addr, 10*time.Second)
	n.control(2, client)
	n.replicate()
	n.sequence()
	await(n.t, func() (bool, string) { return n.settledSequence(client) })
	return k
}

// TestControllerDiesAtEveryWrite ends the controller's session at each of its writes,
// before and after the store applied it: the next controller finishes what was begun,
// and no leader epoch ever has two leaders (C02, C03, C05).
func TestControllerDiesAtEveryWrite(t *testing.T) {
	writes := newCluster(t, 1, 2, 3, 4).runSequence(0, false).count
	if writes < 15 {
		t.Fatalf("the sequence has %d writes: it is not watched", writes)
	}
	step := 3
	if os.Getenv("TIDEMARK_FULL") != "" {
		step = 1
	}
	t.Logf("%d writes, every %d. is died at", writes, step)
	for at := 1; at <= writes; at += step {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d,applied=%v", at, applied), func(t *testing.T) {
				n := newCluster(t, 1, 2, 3, 4)
				n.runSequence(at, applied)
			})
		}
	}
}
