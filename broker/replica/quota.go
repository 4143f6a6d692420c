package replica

import (
	"slices"
	"sync"
	"time"

	"tidemark/internal/clock"
)

// quota bounds what replication of throttled replicas moves, in bytes a second
// (Kafka's ReplicationQuotaManager): what was moved is paid for afterwards, and until
// it is, nothing more begins. It is safe for concurrent use.
type quota struct {
	clock clock.Clock
	rate  func() int64

	mu   sync.Mutex
	paid time.Time // when all that was moved is paid for
}

// wait is how long nothing may begin; 0 or less where it may.
func (q *quota) wait() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.paid.Sub(q.clock.Now())
}

// note counts bytes that were moved.
func (q *quota) note(bytes int64) {
	const longest = time.Minute // A rate of nothing must be able to change.
	cost := longest
	if rate := q.rate(); rate > 0 {
		cost = time.Duration(min(float64(bytes)/float64(rate)*float64(time.Second), float64(longest)))
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := q.clock.Now(); q.paid.Before(now) {
		q.paid = now
	}
	q.paid = q.paid.Add(cost)
}

// Rates are leader.replication.throttled.rate and follower.replication.throttled.rate,
// in bytes a second.
type Rates struct{ Leader, Follower int64 }

// quotas are the broker's two; nil where Options say no rates.
type quotas struct{ leader, follower quota }

func newQuotas(o *Options) *quotas {
	if o.ThrottleRates == nil {
		return nil
	}
	return &quotas{
		leader:   quota{clock: o.Clock, rate: func() int64 { return o.ThrottleRates().Leader }},
		follower: quota{clock: o.Clock, rate: func() int64 { return o.ThrottleRates().Follower }},
	}
}

// fetchQuota is the one that fetching for this replica counts for; nil for none.
func (p *Partition) fetchQuota() *quota {
	throttled := p.Topic.Config().FollowerThrottled
	if p.manager.quotas == nil || throttled == nil || !throttled(p.Index, p.self) {
		return nil
	}
	return &p.manager.quotas.follower
}

// sendQuota is the one that sending to a follower counts for; nil for none. Replicas
// in sync are never held up.
func (p *Partition) sendQuota(follower int32) *quota {
	throttled := p.Topic.Config().LeaderThrottled
	if p.manager.quotas == nil || throttled == nil || !throttled(p.Index, p.self) || slices.Contains(p.lead.Load().isr, follower) {
		return nil
	}
	return &p.manager.quotas.leader
}

// HoldsBack reports whether a follower gets nothing for now because the leader's rate
// of throttled replicas is reached.
func (p *Partition) HoldsBack(follower int32) bool {
	q := p.sendQuota(follower)
	return q != nil && q.wait() > 0
}
