package broker

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/engines/catalog"
	"tidemark/internal/vfs"
)

// TestLastLogDirectory: clients go on while one of two log directories is left. With
// the last one gone the broker says so and ends in order.
func TestLastLogDirectory(t *testing.T) {
	fs := vfs.NewFaulty(vfs.OS{})
	fs.Descriptors = true
	first, second := t.TempDir(), t.TempDir()
	cfg := settings(first+","+second, "num.partitions", "4", "storage.flush", "group")
	b, err := New(Options{Config: cfg, Engines: catalog.Builtin(), Logger: testLogger(t), FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	produce(t, b.Addr().String(), 0, 1) // Makes the topic.
	client, err := kgo.NewClient(kgo.SeedBrokers(b.Addr().String()), kgo.RequiredAcks(kgo.LeaderAck()),
		kgo.DisableIdempotentWrite(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordRetries(1), kgo.MetadataMinAge(20*time.Millisecond),
		kgo.RetryBackoffFn(func(int) time.Duration { return 10 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	try := func() (accepted int) {
		var records []*kgo.Record
		for i := range int32(4) {
			records = append(records, &kgo.Record{Topic: "t", Partition: i, Value: []byte("v")})
		}
		for _, r := range client.ProduceSync(context.Background(), records...) {
			if r.Err == nil {
				accepted++
			}
		}
		return accepted
	}
	if got := try(); got != 4 {
		t.Fatalf("%d of 4 records accepted before anything failed", got)
	}
	// Only segment files fail: the metadata store lives in the first directory.
	var both atomic.Bool
	fs.OnCall(func(op vfs.Op, path string) error {
		broken := strings.HasPrefix(path, second) || both.Load()
		if op == vfs.OpSync && broken && strings.HasSuffix(path, "0.log") {
			return syscall.EIO
		}
		return nil
	})
	if got := try(); got != 2 {
		t.Errorf("%d of 4 records accepted with one of two directories gone, want 2", got)
	}
	select {
	case err := <-b.Failed():
		t.Fatalf("the broker ends although a directory is left: %v", err)
	default:
	}
	both.Store(true)
	if got := try(); got != 0 {
		t.Errorf("%d records accepted without any directory", got)
	}
	err = <-b.Failed()
	if !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), "no log directory is left, the last was "+first) {
		t.Errorf("the broker ends with %v", err)
	}
	fs.Clear()
	if err := b.Shutdown(context.Background()); err != nil {
		t.Errorf("shutdown: %v, want none: the end was told", err)
	}
}
