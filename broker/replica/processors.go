package replica

import (
	"os"
	"runtime"
	"sync"
)

// spareProcessors is how many goroutines may wait for the disk without anybody else
// standing still for it: what the lanes of a device do at a time.
const spareProcessors = flushLanes + backgroundLanes

var processors sync.Once

// addProcessors lets the process run Go code on more threads, once and for good,
// unless the environment says how many (GOMAXPROCS).
//
// A goroutine in a system call keeps its processor until the runtime's monitor takes
// it away, and the monitor looks every 10 ms where nothing was there to be taken for
// a while. A sync takes a fraction of that: on a machine of two cores, two at a time
// stop the broker. Who acknowledges what the page cache holds makes no such calls,
// and keeps one processor a core.
func addProcessors() {
	processors.Do(func() {
		if os.Getenv("GOMAXPROCS") == "" {
			runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareProcessors)
		}
	})
}
