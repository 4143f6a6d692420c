package broker

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"tidemark/broker/network"
	"tidemark/internal/clock"
)

const (
	// baseMemory is what the broker needs besides requests in flight.
	baseMemory = 64 << 20
	// gcPercent lets the small live heap grow to a few times its size before a
	// collection: the memory is buffers that are used again, and each
	// collection drops those that lie unused.
	gcPercent = 400
	// trimInterval is how often memory is looked at; trimBelow is how many
	// bytes of traffic in that time count as quiet; 1/trimGrowth is by how much
	// the heap may have grown since.
	trimInterval = 5 * time.Second
	trimBelow    = 1 << 20
	trimGrowth   = 20
)

// memoryTuner bounds the process's memory by the in-flight budget and gives
// pages back to the system when load ends. It is guarded by its mutex.
type memoryTuner struct {
	stats *network.Stats
	clock clock.Clock

	mu      sync.Mutex
	seen    int64  // bytes sent and received up to the last look
	trimmed uint64 // heap objects after the last trim, in bytes
	timer   clock.Timer
	stopped bool
	restore []func()
}

// startMemoryTuner sets GOGC and GOMEMLIMIT unless the environment does.
func startMemoryTuner(budget int64, stats *network.Stats, c clock.Clock) *memoryTuner {
	t := &memoryTuner{stats: stats, clock: c}
	if os.Getenv("GOMEMLIMIT") == "" {
		limit := int64(math.MaxInt64)
		if budget < limit-baseMemory {
			limit = baseMemory + budget
		}
		old := debug.SetMemoryLimit(limit)
		t.restore = append(t.restore, func() { debug.SetMemoryLimit(old) })
	}
	if os.Getenv("GOGC") == "" {
		old := debug.SetGCPercent(gcPercent)
		t.restore = append(t.restore, func() { debug.SetGCPercent(old) })
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.timer = c.AfterFunc(trimInterval, t.look)
	return t
}

// look gives memory back while there is no load and more is held than need be.
func (t *memoryTuner) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	now := t.stats.ReceivedBytes.Load() + t.stats.SentBytes.Load()
	quiet := now-t.seen < trimBelow
	t.seen = now
	if quiet && heapObjects() > t.trimmed+t.trimmed/trimGrowth {
		runtime.GC() // pools let go of their content at the second collection only
		debug.FreeOSMemory()
		t.trimmed = heapObjects()
	}
	t.timer = t.clock.AfterFunc(trimInterval, t.look)
}

// heapObjects is the size of live and not yet collected objects.
func heapObjects() uint64 {
	sample := [1]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

func (t *memoryTuner) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	t.timer.Stop()
	for _, f := range t.restore {
		f()
	}
}
