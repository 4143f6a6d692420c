package groups

import (
	"context"
	"sync"

	"tidemark/coordinator/group"
	"tidemark/coordinator/shard"
	"tidemark/coordinator/znode"
)

// OffsetStore is where offsets are with offsets.storage=zookeeper; *znode.Client is
// one. Its methods are safe for concurrent use.
type OffsetStore interface {
	// Topic is that of znode.Client, for the number of partitions.
	Topic(ctx context.Context, name string) (znode.Topic, error)
	ConsumerGroups(ctx context.Context) ([]string, error)
	OpenOffsets(ctx context.Context, partition, broker, leaderEpoch int32) (*znode.OffsetsWriter, error)
}

// zookeeperOffsets is a shard.Store of offsets: the groups of a partition are those
// whose hash says so.
type zookeeperOffsets struct {
	store  OffsetStore
	broker int32
}

// Keeps implements shard.Store.
func (z zookeeperOffsets) Keeps(r group.Record) bool {
	_, ok := r.(*group.OffsetRecord)
	return ok
}

// Open implements shard.Store.
func (z zookeeperOffsets) Open(ctx context.Context, partition, leaderEpoch int32, replay func(group.Record)) (shard.Session[group.Record], error) {
	writer, err := z.store.OpenOffsets(ctx, partition, z.broker, leaderEpoch)
	if err != nil {
		return nil, err
	}
	groups, err := z.groupsOf(ctx, partition)
	if err != nil {
		return nil, err
	}
	offsets, err := writer.Read(ctx, groups)
	if err != nil {
		return nil, err
	}
	for _, o := range offsets {
		replay(&group.OffsetRecord{
			Group: o.Group, TopicPartition: group.TopicPartition(o.TopicPartition), Offset: o.Offset, LeaderEpoch: -1,
			CommitTimestampMs: o.Modified.UnixMilli(), ExpireTimestampMs: -1,
		})
	}
	return newOffsetSession(writer), nil
}

func (z zookeeperOffsets) groupsOf(ctx context.Context, partition int32) (mine []string, err error) {
	topic, err := z.store.Topic(ctx, Topic)
	if err != nil {
		return nil, err
	}
	all, err := z.store.ConsumerGroups(ctx)
	for _, name := range all {
		if shard.PartitionFor(name, int32(len(topic.Partitions))) == partition {
			mine = append(mine, name)
		}
	}
	return mine, err
}

// offsetWriter is what a session needs of a *znode.OffsetsWriter.
type offsetWriter interface {
	Write(ctx context.Context, writes []znode.OffsetWrite) error
}

// offsetSession writes in turns: whatever came while one was under way goes with the
// next, each offset once, with the last value that it was given. It implements
// shard.Session.
type offsetSession struct {
	writer offsetWriter
	cancel context.CancelFunc
	ended  sync.WaitGroup
	wake   chan struct{}

	mu    sync.Mutex
	queue []offsetTurn // guarded by mu
}

// offsetTurn is one call of Write.
type offsetTurn struct {
	records []group.Record
	done    func(error)
}

func newOffsetSession(writer offsetWriter) *offsetSession {
	ctx, cancel := context.WithCancel(context.Background())
	s := &offsetSession{writer: writer, cancel: cancel, wake: make(chan struct{}, 1)}
	s.ended.Go(func() { s.run(ctx) })
	return s
}

// Write implements shard.Session.
func (s *offsetSession) Write(records []group.Record, done func(error)) {
	s.mu.Lock()
	s.queue = append(s.queue, offsetTurn{records, done})
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close implements shard.Session. It waits for the turn under way.
func (s *offsetSession) Close() {
	s.cancel()
	s.ended.Wait()
}

func (s *offsetSession) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		s.mu.Lock()
		turns := s.queue
		s.queue = nil
		s.mu.Unlock()
		err := s.writer.Write(ctx, lastOfEach(turns))
		for _, t := range turns {
			t.done(err)
		}
		if err != nil {
			return
		}
	}
}

// lastOfEach are the writes of several turns, each offset once.
func lastOfEach(turns []offsetTurn) (writes []znode.OffsetWrite) {
	type place struct {
		group string
		group.TopicPartition
	}
	at := map[place]int{}
	for _, t := range turns {
		for _, r := range t.records {
			o := r.(*group.OffsetRecord)
			w := znode.OffsetWrite{Group: o.Group, TopicPartition: znode.TopicPartition(o.TopicPartition), Offset: o.Offset, Remove: o.Tombstone}
			key := place{o.Group, o.TopicPartition}
			if i, ok := at[key]; ok {
				writes[i] = w
				continue
			}
			at[key] = len(writes)
			writes = append(writes, w)
		}
	}
	return writes
}

var _ OffsetStore = (*znode.Client)(nil)
