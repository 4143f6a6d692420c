package controller

import "context"

// AlterPartition takes leaders' proposals for their ISR and answers each, in
// order. The error is ErrNotController or ErrStaleBroker.
func (c *Controller) AlterPartition(ctx context.Context, broker int32, brokerEpoch int64, proposals []Proposal) ([]Outcome, error) {
	return nil, ErrNotController
}

// ControlledShutdown takes leadership away from a broker that is about to stop,
// and returns what it leads still; empty means that it may stop. It is asked
// again until then.
func (c *Controller) ControlledShutdown(ctx context.Context, broker int32, brokerEpoch int64) (remaining []TopicPartition, err error) {
	return nil, ErrNotController
}

// ElectLeaders holds elections; nil partitions mean all of them, with those left
// out of the answer that need none.
func (c *Controller) ElectLeaders(ctx context.Context, kind ElectionType, partitions []TopicPartition) ([]ElectionResult, error) {
	return nil, ErrNotController
}

// AlterReassignments begins, replaces or cancels reassignments and answers each,
// in order.
func (c *Controller) AlterReassignments(ctx context.Context, r []Reassignment) ([]error, error) {
	return nil, ErrNotController
}

// ListReassignments lists the reassignments under way; nil partitions mean all.
func (c *Controller) ListReassignments(ctx context.Context, partitions []TopicPartition) ([]Ongoing, error) {
	return nil, ErrNotController
}

// ControllerID is the broker in office as far as this one knows, −1 for none.
func (c *Controller) ControllerID() int32 { return -1 }

// LearnTopics passes the configuration of topics on that were not heard of yet.
// It needs no loop of the Controller: a LeaderAndIsr handler calls it first.
func (c *Controller) LearnTopics(ctx context.Context, names []string) error { return nil }
