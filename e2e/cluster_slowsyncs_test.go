package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
)

// slowSyncs has each sync of a broker take so long until the returned function is called.
func slowSyncs(t *testing.T, pid int, each time.Duration) (undo func()) {
	t.Helper()
	need(t, "strace", "scripts/need.sh strace")
	inject := "inject=fsync,fdatasync:delay_enter=" + strconv.FormatInt(each.Microseconds(), 10)
	trace := exec.Command("strace", "-f", "-p", strconv.Itoa(pid), "-e", "trace=fsync,fdatasync", "-e", inject, "-o", "/dev/null")
	var said bytes.Buffer
	trace.Stderr = &said
	must(t, trace.Start())
	ended := make(chan error, 1)
	go func() { ended <- trace.Wait() }()
	return func() {
		t.Helper()
		select {
		case <-ended:
			t.Fatalf("strace ended by itself: %s", said.String())
		default:
		}
		must(t, trace.Process.Signal(os.Interrupt)) // it lets go of the broker
		<-ended
	}
}

// TestClusterSlowSyncs has each sync of one broker take seconds (D05). What waits for no
// sync, on the same brokers and disks, goes on as ever; what does stands still until the
// broker leaves the in-sync sets, and goes on without it; the broker keeps its session,
// and is back in sync once its disk is.
func TestClusterSlowSyncs(t *testing.T) {
	t.Parallel()
	const victim = 2
	each, lasting := 2500*time.Millisecond, time.Duration(often(3, 60))*time.Second
	if often(0, 1) == 1 {
		each = 5 * time.Second
	}
	r := twoDisks(t, "replica.lag.time.max.ms=1500")
	r.create(t, "synced", 3, 3, "storage.flush=group")
	r.create(t, "beside", 3, 3)
	r.awaitInSync(t, "synced", 3)
	r.awaitInSync(t, "beside", 3)
	synced, beside := startStream(t, r, "synced", 3), startStream(t, r, "beside", 3)
	state, err := r.State()
	must(t, err)
	quick := slowSyncs(t, state.Brokers[victim-1].ID.Pid, each)
	begun := time.Now()
	r.awaitPartitions(t, "synced", "led by others without the slow one", func(all kadm.PartitionDetails) bool {
		return !slices.ContainsFunc(all.Sorted(), func(p kadm.PartitionDetail) bool {
			return p.Leader < 0 || p.Leader != victim && slices.Contains(p.ISR, victim)
		})
	})
	for more := true; more; more = time.Since(begun) < lasting {
		beside.awaitMore(t, 300)
		synced.awaitMore(t, 1)
	}
	r.awaitInSync(t, "beside", 3) // it waits for no sync
	quick()
	r.awaitInSync(t, "synced", 3)
	synced.end(t, r)
	beside.end(t, r)
	for id := int32(1); id <= 3; id++ {
		text, err := r.said(id)
		must(t, err)
		if left := []byte(fmt.Sprintf("msg=\"broker left\" broker=%d", victim)); bytes.Contains(text, left) {
			t.Errorf("broker %d was taken for dead while its disk was slow", victim)
		}
	}
}
