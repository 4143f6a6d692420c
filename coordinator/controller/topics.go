package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"tidemark/coordinator/znode"
	"tidemark/replication"
)

// topic is what the controller knows of one.
type topic struct {
	znode.Topic
	partitions map[int32]*partition
	deletion   *deletion
	// known ends, by unwatch, when the topic is dropped.
	known   context.Context
	unwatch context.CancelFunc
}

// partition is what the controller knows of one.
type partition struct {
	topic    *topic
	index    int32
	replicas []int32
	state    znode.PartitionState
	// exists: the state has a node; reread: it may differ from what is known.
	exists, reread bool
	// isNew: this controller created it.
	isNew bool
	// held: the state and the topic's node are being changed together; nobody is
	// told before both are.
	held bool
	// fenceEpoch is the leader epoch that replicas are asked to promise to, and
	// answers what they said; fenced: somebody was asked.
	fenceEpoch int32
	fenced     bool
	answers    map[int32]fenceAnswer
	// offline are replicas whose log directory failed, by registration.
	offline map[int32]int64
	// move is who is to lead instead of the present leader; unclean lets any live
	// replica lead, once.
	move    int32
	unclean bool
	// committed is the leader epoch whose start the high watermark passed, asked the
	// one that is being asked for.
	committed, asked int32
}

func newPartition(t *topic, index int32) *partition {
	return &partition{
		topic: t, index: index, replicas: t.Partitions[index], move: replication.NoBroker,
		state: znode.PartitionState{Leader: znode.NoLeader}, committed: replication.NoEpoch, asked: replication.NoEpoch,
		fenceEpoch: replication.NoEpoch,
	}
}

func (p *partition) tp() TopicPartition {
	return TopicPartition{Topic: p.topic.Name, Partition: p.index}
}

func (p *partition) key() key { return key{p.topic.ID, p.tp()} }

// view is the partition as brokers are told of it.
func (p *partition) view() PartitionState {
	s, t := p.state, p.topic
	return PartitionState{
		TopicPartition: p.tp(), TopicID: t.ID,
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.Version, ControllerEpoch: s.ControllerEpoch,
		ISR: slices.Clone(s.ISR), ELR: slices.Clone(s.ELR), Replicas: slices.Clone(p.replicas),
		Adding: slices.Clone(t.Adding[p.index]), Removing: slices.Clone(t.Removing[p.index]),
		IsNew: p.isNew || p.neverLed(), Recovering: s.Recovering,
	}
}

// neverLed: no leader was elected yet, so that there is nothing to have missed.
func (p *partition) neverLed() bool {
	return p.state.LeaderEpoch == 0 && p.state.Leader == znode.NoLeader
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// all lists the partitions by topic and number.
func (c *Controller) all() []*partition {
	var out []*partition
	for _, name := range sortedKeys(c.topics) {
		t := c.topics[name]
		for _, p := range sortedKeys(t.partitions) {
			out = append(out, t.partitions[p])
		}
	}
	return out
}

func (c *Controller) find(tp TopicPartition) *partition {
	t := c.topics[tp.Topic]
	if t == nil || t.deletion != nil {
		return nil
	}
	return t.partitions[tp.Partition]
}

// loadTopics reads the topics that are not known yet. One that cannot be read
// is passed over, loudly: it must not take the others with it.
func (c *Controller) loadTopics(ctx context.Context) error {
	names, err := c.o.Client.TopicNames(ctx)
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return c.topics[name] != nil })
	read, err := c.o.Client.Topics(ctx, names)
	if err != nil || len(names) == 0 {
		return err
	}
	// Elections need the strategy, and nobody announces the configuration of a new topic.
	if err := c.LearnTopics(ctx, names); err != nil {
		return err
	}
	var fresh []*partition
	for i, name := range names {
		t, err := read[i].Topic, read[i].Err
		if err == nil {
			t, err = c.checkTopic(ctx, name, t)
		}
		var bad *znode.FormatError
		switch {
		case err == nil:
			fresh = append(fresh, c.adopt(t)...)
		case errors.Is(err, znode.ErrNotFound):
		case errors.Is(err, ErrInvalidTopic), errors.As(err, &bad), errors.Is(err, ErrInvalidAssignment):
			c.passed[name] = true
			c.log.Error("topic is left alone", "topic", name, "error", err)
		default:
			return err
		}
	}
	return c.readStates(ctx, fresh)
}

// checkTopic refuses a topic that nobody can serve, and gives it an id where it has
// none.
func (c *Controller) checkTopic(ctx context.Context, name string, t znode.Topic) (znode.Topic, error) {
	if err := ValidateTopicName(name); err != nil {
		return t, err
	}
	for p, replicas := range t.Partitions {
		if len(replicas) == 0 {
			return t, fmt.Errorf("%w: partition %d of %s has no replica", ErrInvalidAssignment, p, name)
		}
	}
	var err error
	if t.ID.IsZero() {
		t.ID = znode.NewTopicID()
		t.Version, err = c.o.Client.SetTopic(ctx, c.fence, t)
	}
	return t, err
}

// adopt makes a topic known and returns its partitions, whose states are to be
// read.
func (c *Controller) adopt(zt znode.Topic) []*partition {
	t := &topic{Topic: zt, partitions: map[int32]*partition{}}
	delete(c.passed, zt.Name)
	c.topics[zt.Name] = t
	for _, p := range sortedKeys(zt.Partitions) {
		t.partitions[p] = newPartition(t, p)
	}
	c.watchTopic(t)
	return slices.Collect(maps.Values(t.partitions))
}

// watchTopic looks at a topic's node when the watch is armed, and when somebody wrote
// it: other tools grow topics there.
func (c *Controller) watchTopic(t *topic) {
	t.known, t.unwatch = context.WithCancel(c.term)
	c.o.Client.WatchTopic(t.known, t.Name, func() {
		c.post(func() {
			if c.topics[t.Name] == t {
				c.stale[t.Name] = true
				c.signal(topicsEvent)
			}
		})
	})
}

// readStates reads the states of partitions; one without a node is new.
func (c *Controller) readStates(ctx context.Context, partitions []*partition) error {
	names := make([]TopicPartition, len(partitions))
	for i, p := range partitions {
		names[i] = p.tp()
	}
	results, err := c.o.Client.PartitionStates(ctx, names)
	if err != nil {
		return err
	}
	for i, p := range partitions {
		r := results[i]
		switch {
		case errors.Is(r.Err, znode.ErrNotFound):
			p.exists, p.isNew = false, true
			p.state = znode.PartitionState{Leader: znode.NoLeader}
		case r.Err != nil:
			// Not to be touched: what is in it is not known.
			c.log.Error("partition is left alone", "topic", p.topic.Name, "partition", p.index, "error", r.Err)
			c.passed[p.topic.Name] = true
			delete(p.topic.partitions, p.index)
			delete(c.dirty, p)
			continue
		default:
			p.exists, p.state = true, r.State
		}
		p.reread, p.held = false, false
		c.dirty[p] = true
	}
	return nil
}
