package broker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/replication"
)

// proposals has the controller write the in-sync sets that this broker's leaders
// propose: one request at a time, with all that came meanwhile (Kafka's
// AlterPartitionManager). What got no certain answer has an unknown outcome; the
// leader proposes it again. It is a replica.ISR.
type proposals struct {
	// ask puts proposals to the controller, one outcome each.
	ask     func(context.Context, []controller.Proposal) ([]controller.Outcome, error)
	timeout time.Duration // of one request

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	waiting []proposed
	running bool
}

// proposed is a proposal and who waits for its outcome.
type proposed struct {
	replica.Proposal
	done func(replica.Outcome)
}

func newProposals(timeout time.Duration, ask func(context.Context, []controller.Proposal) ([]controller.Outcome, error)) *proposals {
	p := &proposals{ask: ask, timeout: timeout}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// Propose implements replica.ISR.
func (p *proposals) Propose(r replica.Proposal, done func(replica.Outcome)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return // closed: nobody asks any more, and nothing is acknowledged
	}
	same := func(q proposed) bool { return q.TopicID == r.TopicID && q.ID == r.ID }
	if i := slices.IndexFunc(p.waiting, same); i >= 0 {
		p.waiting[i] = proposed{r, done} // one answer for each partition
		return
	}
	p.waiting = append(p.waiting, proposed{r, done})
	if !p.running {
		p.running = true
		p.work.Go(p.run)
	}
}

// run asks until nothing waits.
func (p *proposals) run() {
	for {
		p.mu.Lock()
		batch := p.waiting
		p.waiting = nil
		p.running = len(batch) > 0
		p.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		p.settle(batch)
	}
}

// settle asks for a batch and tells everybody what became of it.
func (p *proposals) settle(batch []proposed) {
	slices.SortStableFunc(batch, func(a, b proposed) int {
		return cmp.Or(bytes.Compare(a.TopicID[:], b.TopicID[:]), cmp.Compare(a.Partition, b.Partition))
	})
	questions := make([]controller.Proposal, 0, len(batch))
	for i := range batch {
		b := &batch[i]
		questions = append(questions, controller.Proposal{
			Topic: b.Topic, TopicID: b.TopicID, Partition: b.Partition,
			LeaderEpoch: b.LeaderEpoch, PartitionEpoch: b.PartitionEpoch, ISR: b.Members,
		})
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.timeout)
	outcomes, err := p.ask(ctx, questions)
	cancel()
	for i := range batch {
		if err != nil || i >= len(outcomes) {
			batch[i].done(replica.Outcome{Refusal: replication.UnknownOutcome})
			continue
		}
		batch[i].done(outcomeOf(&outcomes[i]))
	}
}

func outcomeOf(o *controller.Outcome) replica.Outcome {
	switch {
	case o.Err == nil:
		s := &o.State
		return replica.Outcome{Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch, ISR: s.ISR, ELR: s.ELR}
	case errors.Is(o.Err, controller.ErrStaleState):
		return replica.Outcome{Refusal: replication.StaleState}
	case errors.Is(o.Err, controller.ErrIneligibleReplica), errors.Is(o.Err, controller.ErrNotApplied):
		return replica.Outcome{Refusal: replication.NotApplied}
	}
	return replica.Outcome{Refusal: replication.UnknownOutcome}
}

// close ends what is under way, with unknown outcomes; later proposals have none.
func (p *proposals) close() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	p.work.Wait()
}
