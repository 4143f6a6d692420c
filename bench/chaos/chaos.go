// Package chaos does faults to a cluster of real processes under load and finds out
// what became of every acknowledged record.
//
// A Rig is a cluster with a proxy mesh. A Trial has topics of its own, one for each
// Cell, all led by the same broker at first; it loads them at a rate, and notes each
// fault with its start and end. Settle ends the faults, waits until every replica
// has everything, and stops the load; Verify then reads all, holds it against the
// ledger, and compares the files of all replicas byte by byte. What must hold all the
// time is looked at all the time: one leader for each epoch, and high watermarks and
// leader epochs that never go back.
//
// Each check also reads once more without one acknowledged record: a checker that
// does not miss it proves nothing.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tidemark/bench/cluster"
	"tidemark/bench/ledger"
)

// Options is a cluster to do faults to.
type Options struct {
	// Cluster is as bench/cluster takes it; a mesh is always there.
	Cluster cluster.Options
	// Session is how long a session with the metadata store lasts.
	Session time.Duration
	// RecordBytes is the size of a value, at least ledger.HeaderBytes.
	RecordBytes int
}

// Rig is a cluster, with a mesh, that trials are done to. It is confined to one
// goroutine.
type Rig struct {
	*cluster.Cluster
	options Options
	brokers []int32
	seeds   []string
	trials  int
}

// Open starts the cluster.
func Open(ctx context.Context, o Options) (*Rig, error) {
	if o.RecordBytes < ledger.HeaderBytes {
		return nil, fmt.Errorf("records of %d bytes: a record's header takes %d", o.RecordBytes, ledger.HeaderBytes)
	}
	o.Cluster.Proxy = true
	o.Cluster.Set = append(slices.Clone(o.Cluster.Set), fmt.Sprintf("zookeeper.session.timeout.ms=%d", o.Session.Milliseconds()),
		"auto.leader.rebalance.enable=false")
	c, err := cluster.Start(ctx, o.Cluster)
	if err != nil {
		return nil, err
	}
	s, err := c.State()
	if err != nil {
		return nil, errors.Join(err, c.Down(false))
	}
	r := &Rig{Cluster: c, options: o, seeds: strings.Split(s.Bootstrap(), ",")}
	for _, b := range s.Brokers {
		r.brokers = append(r.brokers, b.Broker)
	}
	return r, nil
}

// Close ends the cluster and deletes its data.
func (r *Rig) Close() error { return r.Down(false) }

// Others are the brokers besides some.
func (r *Rig) Others(than ...int32) []int32 {
	return slices.DeleteFunc(slices.Clone(r.brokers), func(id int32) bool { return slices.Contains(than, id) })
}

// The times of a client that is to notice faults soon.
const (
	metadataAge = 50 * time.Millisecond
	backoff     = 50 * time.Millisecond
	answerIn    = 3 * time.Second
	overhead    = 2 * time.Second
)

// client connects to the cluster; the caller closes it.
func (r *Rig) client(o ...kgo.Opt) (*kgo.Client, error) {
	c, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.seeds...), kgo.ClientID("tidemark-chaos"), kgo.MetadataMinAge(metadataAge),
		kgo.RetryBackoffFn(func(int) time.Duration { return backoff }), kgo.ProduceRequestTimeout(answerIn), kgo.RequestTimeoutOverhead(overhead),
		kgo.UnknownTopicRetries(1000), kgo.AlwaysRetryEOF(), kgo.DialTimeout(overhead)}, o...)...)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	return c, nil
}

// Client connects to the cluster; the caller closes it.
func (r *Rig) Client() (*kgo.Client, error) { return r.client() }

// Controller is the broker in office as most brokers that run know it; an error where
// nobody is, or nobody tells, until ctx ends.
func (r *Rig) Controller(ctx context.Context) (int32, error) {
	for {
		s, err := r.Status(ctx)
		if err == nil && s.Controller > 0 {
			return s.Controller, nil
		}
		if !wait(ctx, watchEvery) {
			return 0, errors.Join(errors.New("nobody is in the controller's office"), err)
		}
	}
}

// ControllerOf is the broker that one knows to be in office.
func (r *Rig) ControllerOf(ctx context.Context, broker int32) (int32, error) {
	s, err := r.State()
	if err != nil {
		return 0, err
	}
	for _, b := range s.Brokers {
		if b.Broker == broker {
			told, err := b.Ask(ctx)
			if err != nil {
				return 0, err
			}
			return told.Controller, nil
		}
	}
	return 0, fmt.Errorf("no broker %d", broker)
}

// wait waits; false where ctx ended before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
