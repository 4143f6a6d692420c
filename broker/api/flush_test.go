package api

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/internal/vfs"
	"tidemark/protocol/record"
	"tidemark/protocol/wire"
)

// slowDisk is a file system whose log syncs wait for the test.
type slowDisk struct {
	*vfs.Faulty
	begun   chan struct{} // a sync has begun
	proceed chan error    // lets one sync end
	syncs   atomic.Int32
}

func newSlowDisk() *slowDisk {
	d := &slowDisk{Faulty: vfs.NewFaulty(vfs.NewMem()), begun: make(chan struct{}, 100), proceed: make(chan error)}
	d.OnCall(func(op vfs.Op, path string) error {
		if op != vfs.OpSync || !strings.HasSuffix(path, ".log") {
			return nil
		}
		d.syncs.Add(1)
		d.begun <- struct{}{}
		return <-d.proceed
	})
	return d
}

// let lets every sync end at once from now on.
func (d *slowDisk) let() { close(d.proceed) }

// answer waits for the answer of a request that is completed by another
// goroutine.
func (f *fakeRequest) answer(c *cluster, req *kmsg.ProduceRequest) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return decode[*kmsg.ProduceResponse](c.t, req, <-f.answers).Topics[0].Partitions[0]
}

// TestFlushHoldsNobodyUp: a batch that is acknowledged once it is synced makes
// neither the next request of its connection wait nor another topic's; consumers
// see only what is synced. Requests that come while a sync runs share the next
// under group, and have one each, in order, under batch.
func TestFlushHoldsNobodyUp(t *testing.T) {
	disk := newSlowDisk()
	c := newClusterOn(t, disk, "/data", nil)
	c.topic("os", 1)
	for name, test := range map[string]struct {
		settings []string
		syncs    int32 // for one batch and four that come while it is synced
	}{
		"group":    {[]string{"storage.flush", "group"}, 2},
		"batch":    {[]string{"storage.flush", "batch"}, 5},
		"messages": {[]string{"flush.messages", "1"}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			c.topic(name, 1, test.settings...)
			start := disk.syncs.Load()
			first := produceRequest(9, 1, name, 0, batch(record.None, "a"))
			f := c.start(first)
			<-disk.begun
			if !f.waiting() {
				t.Fatal("acks=1 was answered before the sync")
			}
			c.produce("os", 0, batch(record.None, "x")) // answered inside the call
			var reqs []*kmsg.ProduceRequest
			var waiting []*fakeRequest
			for _, acks := range []int16{1, -1, 1, -1} {
				req := produceRequest(9, acks, name, 0, batch(record.None, "b"))
				reqs, waiting = append(reqs, req), append(waiting, c.start(req))
			}
			if got := c.fetched(c.fetchRequest(12, name, 0, 0)); got.HighWatermark != 0 || len(got.RecordBatches) != 0 {
				t.Errorf("high watermark %d and %d bytes before any sync ended, want none", got.HighWatermark, len(got.RecordBatches))
			}
			disk.proceed <- nil
			wantCode(t, "first", f.answer(c, first).ErrorCode, wire.None)
			for i, f := range waiting {
				if i == 0 || test.syncs == 5 {
					<-disk.begun
					for later, f := range waiting[i:] {
						if !f.waiting() {
							t.Fatalf("request %d was answered before its sync", i+later)
						}
					}
					disk.proceed <- nil
				}
				p := f.answer(c, reqs[i])
				wantCode(t, "after its sync", p.ErrorCode, wire.None)
				if p.BaseOffset != int64(i)+1 {
					t.Errorf("request %d has base offset %d, want %d", i, p.BaseOffset, i+1)
				}
			}
			if got := disk.syncs.Load() - start; got != test.syncs {
				t.Errorf("%d syncs for five requests, want %d", got, test.syncs)
			}
			if got := c.fetched(c.fetchRequest(12, name, 0, 0)); got.HighWatermark != 5 {
				t.Errorf("high watermark %d after the syncs, want 5", got.HighWatermark)
			}
		})
	}
	disk.let()
}

// TestFailedFlushIsTold: those who wait hear of a sync that failed, and nobody is
// told that the records are there.
func TestFailedFlushIsTold(t *testing.T) {
	disk := newSlowDisk()
	c := newClusterOn(t, disk, "/data", nil)
	c.closeMayFail = true
	c.topic("t", 1, "storage.flush", "batch")
	req := produceRequest(9, 1, "t", 0, batch(record.None, "a"))
	f := c.start(req)
	<-disk.begun
	disk.proceed <- errors.New("disk on fire")
	wantCode(t, "sync failed", f.answer(c, req).ErrorCode, wire.KafkaStorageError)
	again := c.produced(produceRequest(9, 1, "t", 0, batch(record.None, "a")))
	wantCode(t, "afterwards", again.ErrorCode, wire.KafkaStorageError)
	if got := c.fetched(c.fetchRequest(12, "t", 0, 0)); wire.ErrorCode(got.ErrorCode) != wire.KafkaStorageError {
		t.Errorf("fetch afterwards: %v, want KAFKA_STORAGE_ERROR", wire.ErrorCode(got.ErrorCode))
	}
	dirs := do[*kmsg.DescribeLogDirsResponse](c, kmsg.NewPtrDescribeLogDirsRequest()).Dirs
	wantCode(t, "log dir", dirs[0].ErrorCode, wire.KafkaStorageError)
	disk.let()
}
