package controller

import (
	"cmp"
	"errors"
	"slices"
)

// fenceAnswer is what a replica said, in which registration.
type fenceAnswer struct {
	FenceAnswer
	brokerEpoch int64
}

// fenceReplica has a replica asked how far it is, if it is not being asked already.
func (c *Controller) fenceReplica(p *partition, id int32) {
	p.fenced = true
	if b := c.brokers[id]; b != nil {
		b.sender.fence(p.key(), p.fenceEpoch)
	}
}

// answeredOf is the partition that a sender's broker answers about; nil where the
// broker has another registration by now, or the topic is gone.
func (c *Controller) answeredOf(s *sender, k key) *partition {
	if b := c.brokers[s.broker.ID]; b == nil || b.sender != s {
		return nil
	}
	p := c.find(k.TopicPartition)
	if p == nil || p.topic.ID != k.id {
		return nil
	}
	return p
}

// onFenceAnswer takes an answer in. One for another epoch than is to be decided now,
// or of an earlier office, says nothing.
func (c *Controller) onFenceAnswer(s *sender, k key, epoch int32, a FenceAnswer) {
	p := c.answeredOf(s, k)
	if p == nil || p.fenceEpoch != epoch {
		return
	}
	if p.answers == nil {
		p.answers = map[int32]fenceAnswer{}
	}
	p.answers[s.broker.ID] = fenceAnswer{a, s.broker.Epoch}
	c.dirty[p] = true
}

// onOffline notes that a replica cannot serve: it counts as dead.
func (c *Controller) onOffline(s *sender, k key) {
	p := c.answeredOf(s, k)
	if p == nil || p.offline[s.broker.ID] == s.broker.Epoch {
		return
	}
	if p.offline == nil {
		p.offline = map[int32]int64{}
	}
	p.offline[s.broker.ID] = s.broker.Epoch
	c.log.Warn("replica is offline", "topic", k.Topic, "partition", k.Partition, "broker", s.broker.ID)
	c.dirty[p] = true
}

// onOnline notes that a replica that was offline has a leader, which it follows or is:
// one that may not lead follows all the same (KafkaController's
// processLeaderAndIsrResponseReceived).
func (c *Controller) onOnline(s *sender, k key) {
	p := c.answeredOf(s, k)
	if p == nil || p.offline[s.broker.ID] != s.broker.Epoch {
		return
	}
	delete(p.offline, s.broker.ID)
	c.log.Info("replica is online again", "topic", k.Topic, "partition", k.Partition, "broker", s.broker.ID)
	c.dirty[p] = true
}

// fencesAtOnce is how many replicas of one broker are fenced at a time: each may
// have to wait for its broker's disk.
const fencesAtOnce = 16

// runFences asks replicas how far they are, each until it answers or nobody asks any
// more: one that waits for its disk holds up no other.
func (s *sender) runFences() {
	turns := make(chan struct{}, fencesAtOnce)
	for {
		select {
		case <-s.asking:
		case <-s.ctx.Done():
			return
		}
		for _, k := range s.unasked() {
			select {
			case turns <- struct{}{}:
			case <-s.ctx.Done():
				return
			}
			s.c.work.Go(func() {
				s.askUntilAnswered(k)
				<-turns
			})
		}
	}
}

// unasked are the replicas that nobody asks yet; the caller does.
func (s *sender) unasked() (keys []key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := range s.fences {
		if !s.asked[k] {
			s.asked[k] = true
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return keys
}

func (s *sender) askUntilAnswered(k key) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		s.ask(k)
		s.mu.Lock()
		_, open := s.fences[k]
		if !open {
			delete(s.asked, k)
		}
		s.mu.Unlock()
		if !open || !s.rest(pause) {
			return
		}
	}
}

func (s *sender) ask(k key) {
	s.mu.Lock()
	epoch, ok := s.fences[k]
	s.mu.Unlock()
	if !ok || s.ctx.Err() != nil {
		return
	}
	ctx, cancel := s.request()
	defer cancel()
	a, err := s.peers.FenceReplica(ctx, s.broker.ID, FenceReplica{
		Header: s.header, TopicPartition: k.TopicPartition, TopicID: k.id, LeaderEpoch: epoch,
	})
	if errors.Is(err, ErrReplicaOffline) {
		s.unfence(k)
		s.c.post(func() { s.c.onOffline(s, k) })
		return
	}
	if err != nil {
		s.log.Debug("replica did not promise", "broker", s.broker.ID, "topic", k.Topic, "partition", k.Partition, "error", err)
		return
	}
	s.mu.Lock()
	if s.fences[k] == epoch {
		delete(s.fences, k)
	}
	s.mu.Unlock()
	s.c.post(func() { s.c.onFenceAnswer(s, k, epoch, a) })
}
