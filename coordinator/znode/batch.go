package znode

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// inFlight bounds the requests of one batch that wait for answers at a time. They
// go down one connection; the server takes up about as many.
const inFlight = 32

// pipeline runs f for 0 to n−1, several at once, until one fails.
func pipeline(n int, f func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var work sync.WaitGroup
	for range min(n, inFlight) {
		work.Go(func() {
			for failed.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	work.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// readMany reads one thing for each key; the results are in order. That a node is not
// there, or cannot be read, is that one's result; any other error ends all.
func readMany[K, R any](keys []K, read func(K) (R, error)) ([]R, error) {
	results := make([]R, len(keys))
	err := pipeline(len(keys), func(i int) error {
		var bad *FormatError
		r, err := read(keys[i])
		if err != nil && !errors.Is(err, ErrNotFound) && !errors.As(err, &bad) {
			return err
		}
		results[i] = r
		return nil
	})
	return results, err
}

// StateResult is what became of one partition of a batch.
type StateResult struct {
	State PartitionState
	// Err is ErrNotFound, ErrVersion or a FormatError.
	Err error
}

// PartitionStates reads many states at once; the results are in order.
func (c *Client) PartitionStates(ctx context.Context, partitions []TopicPartition) ([]StateResult, error) {
	return readMany(partitions, func(tp TopicPartition) (StateResult, error) {
		s, err := c.PartitionState(ctx, tp)
		return StateResult{s, err}, err
	})
}

// TopicResult is what became of the reading of one topic.
type TopicResult struct {
	Topic Topic
	// Err is ErrNotFound or a FormatError.
	Err error
}

// Topics reads many topics at once; the results are in order.
func (c *Client) Topics(ctx context.Context, names []string) ([]TopicResult, error) {
	return readMany(names, func(name string) (TopicResult, error) {
		t, err := c.Topic(ctx, name)
		return TopicResult{t, err}, err
	})
}

// ConfigResult is what became of the reading of one configuration.
type ConfigResult struct {
	Config map[string]string
	// Err is a FormatError.
	Err error
}

// Configs reads the configurations of many entities at once; the results are in order.
func (c *Client) Configs(ctx context.Context, entity EntityType, names []string) ([]ConfigResult, error) {
	return readMany(names, func(name string) (ConfigResult, error) {
		config, _, err := c.Config(ctx, entity, name)
		return ConfigResult{config, err}, err
	})
}

// StateWrite is a partition's state, to be written at the version it was read at.
type StateWrite struct {
	TopicPartition
	State PartitionState
}

// statesPerMulti is how many states go into one multi. One conflict makes all of
// them be written one by one, so there are not as many as would fit.
const statesPerMulti = 50

// SetPartitionStates writes many states under the fence: many to a multi, several
// multis on their way at once. Each result has the state with its new version, or
// ErrVersion or ErrNotFound. The error is ErrFenced, or that of ctx or the Client:
// then some may be written, and nothing is known of any.
func (c *Client) SetPartitionStates(ctx context.Context, f Fence, writes []StateWrite) ([]StateResult, error) {
	results := make([]StateResult, len(writes))
	groups := (len(writes) + statesPerMulti - 1) / statesPerMulti
	err := pipeline(groups, func(i int) error {
		low := i * statesPerMulti
		high := min(low+statesPerMulti, len(writes))
		return c.setStates(ctx, f, writes[low:high], results[low:high])
	})
	return results, err
}

// setStates writes a group in one multi or, where that does not go through
// smoothly, one by one.
func (c *Client) setStates(ctx context.Context, f Fence, writes []StateWrite, results []StateResult) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ops := make([]any, len(writes))
	for i, w := range writes {
		ops[i] = c.setOp(statePath(w.TopicPartition), encodeState(w.State), w.State.Version)
	}
	answers, failed, err := c.fenced(f, ops...)
	if err == nil {
		for i, w := range writes {
			results[i].State = w.State
			results[i].State.Version = answers[i].Stat.Version
		}
		return nil
	}
	conflict := failed >= 0 && (errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode))
	if !conflict && !retriable(err) {
		return wrap("write", statePath(writes[max(failed, 0)].TopicPartition), err)
	}
	for i, w := range writes {
		path, data := statePath(w.TopicPartition), encodeState(w.State)
		version, err := c.fencedSetAfter(ctx, f, path, data, w.State.Version, unknownOutcome(err))
		if err != nil && !errors.Is(err, ErrVersion) && !errors.Is(err, ErrNotFound) {
			return err
		}
		results[i] = StateResult{w.State, err}
		results[i].State.Version = version
	}
	return nil
}

// UpdateISR is a leader's own write of its partition's state at the version it was
// read at, under isr.update=zookeeper. It returns the new version.
func (c *Client) UpdateISR(ctx context.Context, tp TopicPartition, s PartitionState) (version int32, err error) {
	return c.setOnce(ctx, statePath(tp), encodeState(s), s.Version)
}
