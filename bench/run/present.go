package run

import "tidemark/bench/workload"

// A hypervisor may take what its machine leaves free for a second or two, and give it back
// a page at a time, as it is touched: on one, two seconds a GiB where a GiB that is there
// takes an eighth of one. A log takes fresh pages of the page cache all the time, so that
// would be a run's rate, and the more the longer the machine had little to do before.

// mostPresent bounds what is made present: what a run writes beyond it comes from the host.
const mostPresent = 2 << 30

// presentBytes is the memory to be made present just before the load begins: what a run of
// it writes, but not more than a quarter of what is available.
func presentBytes(l workload.Load, available int64) int64 {
	if !l.MemoryPresent || l.Topic["storage.append.engine"] == "direct" {
		return 0
	}
	bytes, copies := written(l), int64(max(1, l.Replicas))
	return min(bytes*copies, mostPresent, available/4)
}
