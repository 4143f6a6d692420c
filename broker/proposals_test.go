package broker

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/broker/replica"
	"tidemark/coordinator/controller"
	"tidemark/replication"
)

// TestProposalsShareRequests: what comes while one request is under way shares the
// next, sorted by topic, and everybody gets the outcome of his own.
func TestProposalsShareRequests(t *testing.T) {
	asked := make(chan []controller.Proposal)
	answers := make(chan []controller.Outcome)
	p := newProposals(patience, func(_ context.Context, list []controller.Proposal) ([]controller.Outcome, error) {
		asked <- list
		return <-answers, nil
	})
	defer p.close()
	outcomes := make(chan string, 8)
	propose := func(topic byte, partition int32) {
		p.Propose(replica.Proposal{ID: replica.ID{Topic: string(rune(topic)), Partition: partition}, TopicID: [16]byte{topic}, Members: replica.Members(1, 2)},
			func(o replica.Outcome) {
				outcomes <- fmt.Sprintf("%c-%d: %d %d", topic, partition, o.Refusal, o.PartitionEpoch)
			})
	}
	propose('b', 0)
	if got := <-asked; len(got) != 1 {
		t.Fatalf("asked %d proposals, want the first alone", len(got))
	}
	propose('c', 1)
	propose('a', 7)
	propose('c', 0)
	answers <- []controller.Outcome{{State: controller.PartitionState{PartitionEpoch: 4}}}
	if got := <-outcomes; got != "b-0: 0 4" {
		t.Errorf("outcome %q, want b-0 to stand at partition epoch 4", got)
	}
	var order []string
	for _, q := range <-asked {
		order = append(order, fmt.Sprint(q.Topic, q.Partition))
	}
	if diff := cmp.Diff([]string{"a7", "c0", "c1"}, order); diff != "" {
		t.Errorf("the second request (-want +got):\n%s", diff)
	}
	answers <- []controller.Outcome{{Err: controller.ErrStaleState}, {Err: controller.ErrIneligibleReplica}, {Err: errors.New("whatever")}}
	for _, want := range []string{
		fmt.Sprintf("a-7: %d 0", replication.StaleState), fmt.Sprintf("c-0: %d 0", replication.NotApplied), fmt.Sprintf("c-1: %d 0", replication.UnknownOutcome),
	} {
		if got := <-outcomes; got != want {
			t.Errorf("outcome %q, want %q", got, want)
		}
	}
}

// TestProposalsWithoutAnswer: a request that fails leaves every outcome unknown, and so
// does the end of the broker.
func TestProposalsWithoutAnswer(t *testing.T) {
	fail := make(chan error)
	p := newProposals(patience, func(ctx context.Context, _ []controller.Proposal) ([]controller.Outcome, error) {
		select {
		case err := <-fail:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	outcomes := make(chan replication.Refusal, 2)
	propose := func() {
		p.Propose(replica.Proposal{}, func(o replica.Outcome) { outcomes <- o.Refusal })
	}
	propose()
	fail <- errNoController
	if got := <-outcomes; got != replication.UnknownOutcome {
		t.Errorf("after an error the refusal is %d, want an unknown outcome", got)
	}
	propose()
	p.close()
	if got := <-outcomes; got != replication.UnknownOutcome {
		t.Errorf("at the end the refusal is %d, want an unknown outcome", got)
	}
}
