package broker

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/internal/vfs"
)

// TestLogDirectoryOfALeaderFails: the controller is told, so that somebody else leads what
// was in the directory, while the broker serves what is in its other one.
func TestLogDirectoryOfALeaderFails(t *testing.T) {
	c := newTestCluster(t, "auto.leader.rebalance.enable", "false")
	c.start(2, 3)
	fs := vfs.NewFaulty(vfs.OS{})
	fs.Descriptors = true
	first, second := t.TempDir(), t.TempDir()
	b := startWith(t, Options{Config: settings(first+","+second, c.props(1)...), FS: fs})
	c.brokers[1], c.address[1] = b, b.Addr().String()
	c.awaitBrokers(1, 2, 3)
	c.create("t", 6)
	var lost, kept int
	for p := range int32(6) {
		c.awaitISR("t", p, 3)
		switch c.leader("t", p) == 1 {
		case b.replicas.Partition("t", p).Dir() == second:
			lost++
		case b.replicas.Partition("t", p).Dir() == first:
			kept++
		}
	}
	if lost == 0 || kept == 0 {
		t.Fatalf("broker 1 leads %d partitions in the directory that is to fail and %d in the other", lost, kept)
	}
	fs.OnCall(func(op vfs.Op, path string) error {
		if op == vfs.OpWrite && strings.HasPrefix(path, second) && strings.HasSuffix(path, ".log") {
			return syscall.EIO
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	client := c.client(kgo.DefaultProduceTopic("t"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for p := range int32(6) {
		if err := client.ProduceSync(ctx, &kgo.Record{Partition: p, Value: []byte("record 0")}).FirstErr(); err != nil {
			t.Fatalf("produce to partition %d: %v", p, err)
		}
	}
	c.await("other leaders for what was in the directory", func(context.Context) (string, bool) {
		for p := range int32(6) {
			gone := b.replicas.Partition("t", p).Dir() == second
			if leader := c.leader("t", p); leader < 0 || gone && leader == 1 {
				return fmt.Sprintf("partition %d is led by %d", p, leader), false
			}
		}
		return "", true
	})
	c.read("t", 1)
}
