package controller

import (
	"context"
	"log/slog"
	"sync"

	"tidemark/coordinator/znode"
)

// key names a partition of one topic, whatever other topic has its name.
type key struct {
	id znode.TopicID
	TopicPartition
}

// waiting is what a broker has not confirmed.
type waiting[T any] struct {
	value T
	seq   uint64
}

// told is what a sender took in last.
type told struct {
	version, leaderEpoch, topicVersion int32
	assigned                           bool
}

// stopping is a replica to be stopped, and who wants to hear of it.
type stopping struct {
	StopPartition
	done func(error)
}

// sender tells one broker, in one registration, what the controller decided, until
// it confirms. What waits is kept by partition: the newest state takes the place of
// an older one, so the queue has a bound and a slow broker skips what is over. The
// loop fills it and never waits for it.
type sender struct {
	peers  Peers
	log    *slog.Logger
	c      *Controller
	broker znode.Broker
	header Header
	ctx    context.Context // ends with the registration, or the office
	cancel context.CancelFunc
	wake   chan struct{} // capacity 1
	asking chan struct{} // capacity 1

	mu     sync.Mutex
	seq    uint64
	told   map[key]told
	roles  map[key]waiting[PartitionState] // for LeaderAndISR
	views  map[key]waiting[PartitionState] // for UpdateMetadata
	stops  map[key]waiting[stopping]
	fences map[key]int32 // leader epochs to be promised
	asked  map[key]bool  // somebody asks for them
	// offline are replicas that refused a state and have taken no leader since.
	offline map[key]bool
	live    []znode.Broker
	// news: live changed. released: the first request may go; full: it is to be a
	// Full one. gathering: what is taken in belongs together, and leaves together.
	news, released, full, gathering bool
	waiters                         []waiter
}

// waiter waits until everything up to seq is confirmed.
type waiter struct {
	seq  uint64
	done chan struct{}
}

func (c *Controller) newSender(b znode.Broker) *sender {
	s := &sender{
		peers: c.o.Peers, log: c.log, c: c, broker: b,
		header: Header{Controller: c.o.BrokerID, ControllerEpoch: c.fence.Epoch, BrokerEpoch: b.Epoch},
		wake:   make(chan struct{}, 1), asking: make(chan struct{}, 1), offline: map[key]bool{},
		told: map[key]told{}, roles: map[key]waiting[PartitionState]{}, views: map[key]waiting[PartitionState]{},
		stops: map[key]waiting[stopping]{}, fences: map[key]int32{}, asked: map[key]bool{}, news: true,
	}
	s.ctx, s.cancel = context.WithCancel(c.term)
	c.work.Go(s.run)
	c.work.Go(s.runFences)
	return s
}

// stop ends the sender; what waits is dropped. It does not wait for a request under
// way.
func (s *sender) stop() { s.cancel() }

func (s *sender) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// put has a state told, unless it was taken in before.
func (s *sender) put(k key, view PartitionState, assigned bool, topicVersion int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := told{view.PartitionEpoch, view.LeaderEpoch, topicVersion, assigned}
	if before, ok := s.told[k]; ok && before == t {
		return
	}
	s.queue(k, view, t)
}

// again has a state told whether or not it was before.
func (s *sender) again(k key, view PartitionState, assigned bool, topicVersion int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue(k, view, told{view.PartitionEpoch, view.LeaderEpoch, topicVersion, assigned})
}

func (s *sender) queue(k key, view PartitionState, t told) {
	s.seq++
	s.told[k] = t
	s.views[k] = waiting[PartitionState]{view, s.seq}
	delete(s.roles, k)
	if t.assigned {
		s.roles[k] = waiting[PartitionState]{view, s.seq}
		delete(s.stops, k)
	}
	s.poke()
}

// remove has a replica stopped; done is called on the sender's goroutine with the
// broker's answer, and may be nil. It is not called once the sender is stopped.
func (s *sender) remove(k key, p StopPartition, done func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	delete(s.roles, k)
	delete(s.fences, k)
	s.stops[k] = waiting[stopping]{stopping{p, done}, s.seq}
	s.poke()
}

// vanish has clients of the broker told that the partition's topic is deleted.
func (s *sender) vanish(k key, view PartitionState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	delete(s.told, k)
	delete(s.roles, k)
	delete(s.fences, k)
	delete(s.offline, k)
	view.Leader, view.ISR, view.ELR = DeletedLeader, nil, nil
	s.views[k] = waiting[PartitionState]{view, s.seq}
	s.poke()
}

func (s *sender) setLive(live []znode.Broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.live, s.news = live, true
	s.poke()
}

// release lets the first request go, now that everything is in it. It says that this
// is all the broker has, if it is.
func (s *sender) release(full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.released {
		s.released, s.full = true, full
		s.poke()
	}
}

// gather keeps what is taken in back, or lets it go: a broker that knew some partitions
// of a new topic only would place keys, and groups, by their number.
func (s *sender) gather(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gathering = on
	if !on {
		s.poke()
	}
}

// confirmed returns a channel that is closed once everything taken in so far is.
func (s *sender) confirmed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := waiter{s.seq, make(chan struct{})}
	s.waiters = append(s.waiters, w)
	s.answerWaiters()
	return w.done
}

func (s *sender) answerWaiters() {
	if len(s.waiters) == 0 {
		return
	}
	oldest := s.seq + 1
	if s.full || !s.released || s.news {
		oldest = 0
	}
	oldest = min(oldest, oldestOf(s.roles), oldestOf(s.views), oldestOf(s.stops))
	left := s.waiters[:0]
	for _, w := range s.waiters {
		if oldest > w.seq {
			close(w.done)
			continue
		}
		left = append(left, w)
	}
	s.waiters = left
}

func oldestOf[T any](m map[key]waiting[T]) uint64 {
	oldest := ^uint64(0)
	for _, w := range m {
		oldest = min(oldest, w.seq)
	}
	return oldest
}

// fence has the replica asked to promise epoch, unless it is being asked.
func (s *sender) fence(k key, epoch int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fences[k] = epoch
	select {
	case s.asking <- struct{}{}:
	default:
	}
}

// unfence drops a question whose answer nobody waits for any more.
func (s *sender) unfence(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fences, k)
}
