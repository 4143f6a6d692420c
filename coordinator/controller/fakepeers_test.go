package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/coordinator/znode"
)

// fakePeers is the network to the brokers.
type fakePeers struct{ n *cluster }

func (f *fakePeers) SetBrokers([]znode.Broker) {}

var errUnreachable = errors.New("the broker does not answer")

// begin is called with mu held.
func (f *fakePeers) begin(id int32, h Header) (*fakeBroker, error) {
	b := f.n.brokers[id]
	switch {
	case b == nil || b.down:
		return nil, errUnreachable
	case b.stale || h.BrokerEpoch != b.epoch:
		return nil, ErrStaleBrokerEpoch
	case h.ControllerEpoch < b.controllerEpoch:
		return nil, ErrStaleControllerEpoch
	}
	b.controllerEpoch = h.ControllerEpoch
	b.requests++
	return b, nil
}

func (f *fakePeers) LeaderAndISR(_ context.Context, id int32, r LeaderAndISR) (LeaderAndISRAnswer, error) {
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	b, err := f.begin(id, r.Header)
	if err != nil {
		return LeaderAndISRAnswer{}, err
	}
	if r.Full {
		b.fulls++
		if b.fulls == 1 && len(b.states) > 0 {
			f.n.t.Errorf("broker %d: the first request of its registration was no full one", id)
		}
	}
	answer := LeaderAndISRAnswer{Partitions: make([]PartitionAnswer, len(r.Partitions))}
	for i, s := range r.Partitions {
		if b.offline[s.TopicPartition] || b.noLeader && s.Leader == id {
			answer.Partitions[i].Err = ErrReplicaOffline
			continue
		}
		f.n.checkLeader(s)
		b.partitions++
		if old, ok := b.states[s.TopicPartition]; ok && old.TopicID == s.TopicID && (old.LeaderEpoch > s.LeaderEpoch || old.PartitionEpoch > s.PartitionEpoch) {
			continue
		}
		b.states[s.TopicPartition] = s
		b.logs[key{s.TopicID, s.TopicPartition}] = true
	}
	return answer, nil
}

// checkLeader: a leader epoch has one leader.
func (n *cluster) checkLeader(s PartitionState) {
	if s.Leader < 0 {
		return
	}
	k := fmt.Sprintf("%s %v %d", s.TopicID, s.TopicPartition, s.LeaderEpoch)
	if who, ok := n.ledBy[k]; ok && who != s.Leader {
		n.t.Errorf("%s is led by %d and by %d", k, who, s.Leader)
	}
	n.ledBy[k] = s.Leader
}

func (f *fakePeers) StopReplica(_ context.Context, id int32, r StopReplica) ([]error, error) {
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	b, err := f.begin(id, r.Header)
	if err != nil {
		return nil, err
	}
	for _, p := range r.Partitions {
		if s, ok := b.states[p.TopicPartition]; ok && s.TopicID == p.TopicID {
			delete(b.states, p.TopicPartition)
		}
		if p.Delete {
			delete(b.logs, key{p.TopicID, p.TopicPartition})
		}
	}
	return make([]error, len(r.Partitions)), nil
}

func (f *fakePeers) UpdateMetadata(_ context.Context, id int32, r UpdateMetadata) error {
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	b, err := f.begin(id, r.Header)
	if err != nil {
		return err
	}
	b.live = nil
	for _, l := range r.Live {
		b.live = append(b.live, l.ID)
	}
	told := map[string]int{}
	for _, s := range r.Partitions {
		told[s.Topic]++
	}
	b.told = slices.AppendSeq(b.told, maps.Values(told))
	for _, s := range r.Partitions {
		if s.Leader != DeletedLeader {
			b.views[s.TopicPartition] = s
		} else if b.views[s.TopicPartition].TopicID == s.TopicID {
			delete(b.views, s.TopicPartition)
		}
	}
	return nil
}

func (f *fakePeers) FenceReplica(_ context.Context, id int32, r FenceReplica) (FenceAnswer, error) {
	f.n.mu.Lock()
	if asked := f.n.brokers[id].slow[r.TopicPartition]; asked != nil {
		f.n.mu.Unlock()
		select {
		case asked <- struct{}{}:
			<-f.n.t.Context().Done()
		case <-f.n.t.Context().Done():
		}
		return FenceAnswer{}, errUnreachable
	}
	defer f.n.mu.Unlock()
	b, err := f.begin(id, r.Header)
	if err != nil {
		return FenceAnswer{}, err
	}
	if !b.logs[key{r.TopicID, r.TopicPartition}] {
		return FenceAnswer{}, errors.New("no such replica yet")
	}
	if r.LeaderEpoch < b.fences[r.TopicPartition] {
		return FenceAnswer{}, errors.New("promised to a later epoch")
	}
	b.fences[r.TopicPartition] = r.LeaderEpoch
	a := b.ends[r.TopicPartition]
	a.Dir = b.dir
	return a, nil
}

func (f *fakePeers) Committed(_ context.Context, id int32, r Committed) (bool, error) {
	f.n.mu.Lock()
	defer f.n.mu.Unlock()
	b := f.n.brokers[id]
	if b == nil || b.down {
		return false, errUnreachable
	}
	s := b.states[r.TopicPartition]
	return s.Leader == id && s.LeaderEpoch == r.LeaderEpoch, nil
}
