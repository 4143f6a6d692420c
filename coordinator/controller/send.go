package controller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"tidemark/coordinator/znode"
)

// batch is one round of requests to a broker.
type batch struct {
	stops []waiting[stopping]
	roles []waiting[PartitionState]
	views []waiting[PartitionState]
	live  []znode.Broker
	// full and news are the sender's flags as they were taken.
	full, news bool
}

func (b *batch) empty() bool {
	return len(b.stops)+len(b.roles)+len(b.views) == 0 && !b.full && !b.news
}

const (
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
)

// run sends what waits, and again what was not confirmed.
func (s *sender) run() {
	pause := firstPause
	for {
		b := s.take()
		if b.empty() {
			select {
			case <-s.wake:
				continue
			case <-s.ctx.Done():
				return
			}
		}
		err := s.send(&b)
		if s.ctx.Err() != nil {
			return
		}
		if err == nil {
			pause = firstPause
			continue
		}
		s.log.Debug("broker did not confirm", "broker", s.broker.ID, "broker_epoch", s.broker.Epoch, "error", err)
		if errors.Is(err, ErrStaleControllerEpoch) {
			s.c.signal(officeEvent)
		}
		if !s.rest(pause) {
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// rest waits; false once the sender is stopped.
func (s *sender) rest(d time.Duration) bool {
	fired := make(chan struct{})
	t := s.c.o.Clock.AfterFunc(d, func() { close(fired) })
	defer t.Stop()
	select {
	case <-fired:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// take is everything that waits; it stays there until it is confirmed.
func (s *sender) take() batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.released || s.gathering {
		return batch{}
	}
	return batch{
		stops: sortedWaiting(s.stops, func(p stopping) int { return 0 }),
		roles: sortedWaiting(s.roles, func(PartitionState) int { return 0 }),
		views: sortedWaiting(s.views, func(v PartitionState) int {
			if v.Leader == DeletedLeader {
				return 0
			}
			return 1
		}),
		live: slices.Clone(s.live), full: s.full, news: s.news,
	}
}

func sortedWaiting[T any](m map[key]waiting[T], first func(T) int) []waiting[T] {
	type entry struct {
		key
		waiting[T]
	}
	entries := make([]entry, 0, len(m))
	for k, w := range m {
		entries = append(entries, entry{k, w})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(first(a.value)-first(b.value), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.seq, b.seq))
	})
	out := make([]waiting[T], len(entries))
	for i, e := range entries {
		out[i] = e.waiting
	}
	return out
}

// send makes one round: clients are told what is deleted before its replicas are
// stopped, and those are stopped before roles are given out, since another topic of
// the same name may come after; what else clients are told comes last.
func (s *sender) send(b *batch) error {
	var failed error
	gone := slices.IndexFunc(b.views, func(w waiting[PartitionState]) bool { return w.value.Leader != DeletedLeader })
	if gone < 0 {
		gone = len(b.views)
	}
	if gone > 0 {
		failed = s.sendViews(&batch{views: b.views[:gone], live: b.live})
		b.views = b.views[gone:]
	}
	if len(b.stops) > 0 {
		failed = errors.Join(failed, s.sendStops(b.stops))
	}
	if len(b.roles) > 0 || b.full {
		failed = errors.Join(failed, s.sendRoles(b))
	}
	if len(b.views) > 0 || b.news {
		failed = errors.Join(failed, s.sendViews(b))
	}
	s.mu.Lock()
	s.answerWaiters()
	s.mu.Unlock()
	return failed
}

func (s *sender) request() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.ctx, s.c.o.RequestTimeout)
}

func (s *sender) sendStops(stops []waiting[stopping]) error {
	ctx, cancel := s.request()
	defer cancel()
	r := StopReplica{Header: s.header}
	for _, w := range stops {
		r.Partitions = append(r.Partitions, w.value.StopPartition)
	}
	answers, err := s.peers.StopReplica(ctx, s.broker.ID, r)
	if err != nil {
		return err
	}
	var failed error
	for i, w := range stops {
		var err error
		if i < len(answers) {
			err = answers[i]
		}
		if err != nil && !errors.Is(err, ErrReplicaOffline) {
			failed = err
			continue
		}
		p := w.value.StopPartition
		s.mu.Lock()
		current := confirm(s.stops, key{p.TopicID, p.TopicPartition}, w.seq)
		s.mu.Unlock()
		if current && w.value.done != nil {
			w.value.done(err)
		}
	}
	return failed
}

func (s *sender) sendRoles(b *batch) error {
	ctx, cancel := s.request()
	defer cancel()
	r := LeaderAndISR{Header: s.header, Full: b.full, Live: b.live}
	for _, w := range b.roles {
		r.Partitions = append(r.Partitions, w.value)
	}
	answer, err := s.peers.LeaderAndISR(ctx, s.broker.ID, r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.full {
		s.full = false
	}
	var failed error
	for i, w := range b.roles {
		var err error
		if i < len(answer.Partitions) {
			err = answer.Partitions[i].Err
		}
		k := key{w.value.TopicID, w.value.TopicPartition}
		switch {
		case errors.Is(err, ErrReplicaOffline):
			s.offline[k] = true
			s.c.post(func() { s.c.onOffline(s, k) })
			err = nil
		case err == nil && s.offline[k] && w.value.Leader >= 0:
			delete(s.offline, k)
			s.c.post(func() { s.c.onOnline(s, k) })
		}
		if err != nil {
			failed = err
			continue
		}
		confirm(s.roles, k, w.seq)
	}
	return failed
}

func (s *sender) sendViews(b *batch) error {
	ctx, cancel := s.request()
	defer cancel()
	r := UpdateMetadata{Header: s.header, Live: b.live}
	for _, w := range b.views {
		r.Partitions = append(r.Partitions, w.value)
	}
	if err := s.peers.UpdateMetadata(ctx, s.broker.ID, r); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.news && slices.EqualFunc(s.live, b.live, sameBroker) {
		s.news = false
	}
	for _, w := range b.views {
		confirm(s.views, key{w.value.TopicID, w.value.TopicPartition}, w.seq)
	}
	return nil
}

func sameBroker(a, b znode.Broker) bool { return a.ID == b.ID && a.Epoch == b.Epoch }

// confirm drops what was confirmed, if nothing newer took its place.
func confirm[T any](m map[key]waiting[T], k key, seq uint64) bool {
	if w, ok := m[k]; !ok || w.seq != seq {
		return false
	}
	delete(m, k)
	return true
}
