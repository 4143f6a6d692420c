package replica

import (
	"context"
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"

	"tidemark/broker/peer"
)

// Leaders fetches from the leaders of partitions; *peer.Pool is one.
type Leaders interface {
	// Fetch asks a leader over the connection of one of the fetchers, and tells took
	// the partitions of the answer as they come, each for the time of the call. It
	// returns when all came, when ctx ends or when the connection broke; an error is of
	// those that were not told. r is the caller's again on return.
	Fetch(ctx context.Context, leader int32, fetcher int, r peer.FetchRequest, took func(*peer.FetchedPartition)) error
}

var _ Leaders = (*peer.Pool)(nil)

// FetchOptions configure how followers fetch.
type FetchOptions struct {
	// Fetchers (num.replica.fetchers) is how many goroutines fetch from a leader.
	Fetchers int
	// MaxBytes (replica.fetch.max.bytes) bounds a partition's records in a response,
	// ResponseMaxBytes (replica.fetch.response.max.bytes) all of them.
	MaxBytes, ResponseMaxBytes int32
	// MinBytes (replica.fetch.min.bytes) is what a leader waits for at most
	// WaitMax (replica.fetch.wait.max.ms).
	MinBytes int32
	WaitMax  time.Duration
	// Backoff (replica.fetch.backoff.ms) is how long a partition is left out at
	// most after an error.
	Backoff time.Duration
}

// kafkas are the defaults where nothing is set.
func (o FetchOptions) kafkas() FetchOptions {
	if o.Fetchers <= 0 {
		o.Fetchers = 1
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 1 << 20
	}
	if o.ResponseMaxBytes <= 0 {
		o.ResponseMaxBytes = 10 << 20
	}
	if o.MinBytes <= 0 {
		o.MinBytes = 1
	}
	if o.WaitMax <= 0 {
		o.WaitMax = 500 * time.Millisecond
	}
	if o.Backoff <= 0 {
		o.Backoff = time.Second
	}
	return o
}

// fetchers are the goroutines that fetch for this broker's followers, so many for
// each leader (Kafka's ReplicaFetcherManager). It is safe for concurrent use.
type fetchers struct {
	m       *Manager
	leaders Leaders
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// correlation numbers the requests of all.
	correlation atomic.Int32

	mu     sync.Mutex
	byName map[fetcherName]*fetcher
	closed bool
}

type fetcherName struct {
	leader int32
	index  int
}

func newFetchers(m *Manager, leaders Leaders) *fetchers {
	f := &fetchers{m: m, leaders: leaders, byName: make(map[fetcherName]*fetcher)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// ask has a partition's question asked until it is paused, left or replaced by
// another; the partition's stepping is held.
func (fs *fetchers) ask(p *Partition, q peer.FetchPartition) {
	name := fetcherName{p.following.leader, int(p.fetcherHash % uint32(fs.m.o.Fetch.Fetchers))}
	if a := p.following.asked; a != nil && a.fetcher.fetcherName == name {
		a.fetcher.enter(a, q, p.following.generation)
		return
	}
	f := fs.fetcher(name)
	if f == nil {
		return
	}
	if a := p.following.asked; a != nil {
		a.leave()
	}
	p.following.asked = &asked{fetcher: f, p: p}
	f.enter(p.following.asked, q, p.following.generation)
}

// fetcherHash says which of a leader's fetchers looks after a partition
// (AbstractFetcherManager.getFetcherId).
func fetcherHash(id ID) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id.Topic)) // it does not fail
	return h.Sum32()*31 + uint32(id.Partition)
}

func (fs *fetchers) fetcher(name fetcherName) *fetcher {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if fs.closed {
		return nil
	}
	f := fs.byName[name]
	if f == nil {
		f = &fetcher{fetchers: fs, fetcherName: name, wake: make(chan struct{}, 1)}
		fs.byName[name] = f
		fs.running.Go(f.run)
	}
	return f
}

// close ends all fetching and waits for it; it may be called again. No lock that
// telling an answer needs may be held.
func (fs *fetchers) close() {
	fs.mu.Lock()
	fs.closed = true
	fs.mu.Unlock()
	fs.cancel()
	fs.running.Wait()
}
