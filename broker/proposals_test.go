package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
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

// TestALaterProposalTakesThePlace: of two that wait for one partition the later is asked
// for alone, so that nobody takes the outcome of one for that of the other. After the end
// nothing is asked.
func TestALaterProposalTakesThePlace(t *testing.T) {
	asked := make(chan []controller.Proposal)
	p := newProposals(patience, func(ctx context.Context, list []controller.Proposal) ([]controller.Outcome, error) {
		select {
		case asked <- list:
			return make([]controller.Outcome, len(list)), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	outcomes := make(chan int32, 8)
	propose := func(partition, epoch int32) {
		p.Propose(replica.Proposal{ID: replica.ID{Topic: "t", Partition: partition}, LeaderEpoch: epoch}, func(replica.Outcome) { outcomes <- epoch })
	}
	propose(0, 1)
	first := <-asked // No longer waits.
	propose(0, 2)
	propose(1, 3)
	propose(0, 4)
	var epochs []int32
	for _, q := range slices.Concat(first, <-asked) {
		epochs = append(epochs, q.LeaderEpoch)
	}
	if diff := cmp.Diff([]int32{1, 4, 3}, epochs); diff != "" {
		t.Errorf("leader epochs of what was asked (-want +got):\n%s", diff)
	}
	for _, want := range epochs {
		if got := <-outcomes; got != want {
			t.Errorf("outcome of the proposal of epoch %d, want %d", got, want)
		}
	}
	var work sync.WaitGroup
	work.Go(func() { propose(0, 5) })
	p.close()
	work.Wait()
	propose(0, 6)
}
