package groups

import (
	"strconv"
	"sync"
	"time"

	"tidemark/coordinator/group"
	"tidemark/internal/clock"
	"tidemark/internal/trace"
)

// watch is who tells of the groups' changes; nil while tracing is off.
func watch(to *trace.Tracer, c clock.Clock) func(group.Change) {
	if !to.On() {
		return nil
	}
	w := &watcher{to: to, clock: c}
	return w.tell
}

// watcher tells of changes. Commits that come too fast are left out.
type watcher struct {
	to    *trace.Tracer
	clock clock.Clock

	mu      sync.Mutex
	commits trace.Pace
}

func (w *watcher) tell(c group.Change) {
	switch c.Kind {
	case group.GroupChanged:
		w.to.Emit(trace.Event{Kind: trace.Group, Phase: c.What, Key: c.Group, Generation: c.Generation, Count: int64(c.Members)})
	case group.MemberChanged:
		w.to.Emit(trace.Event{Kind: trace.Member, Phase: c.What, Key: c.Group, Member: c.Member, Generation: c.Generation})
	case group.OffsetCommitted:
		if w.wanted() {
			tp := c.Topic + "-" + strconv.Itoa(int(c.Partition))
			w.to.Emit(trace.Event{Kind: trace.Commit, TopicPartition: tp, Epoch: -1, Key: c.Group, From: c.Offset})
		}
	}
}

func (w *watcher) wanted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.commits.Pass(time.Duration(w.clock.Now().UnixNano()))
}
