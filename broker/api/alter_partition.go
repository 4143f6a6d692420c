package api

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/peer"
	"tidemark/coordinator/controller"
	"tidemark/protocol/wire"
)

// AlterPartition (56), version 3, from leaders to the controller: other in-sync sets
// (KIP-497, KIP-903).

func alterPartition(s *Server, req *kmsg.AlterPartitionRequest) kmsg.Response {
	r, err := peer.DecodeAlterPartition(req)
	if err != nil {
		return peer.EncodeAlterPartitionAnswer(peer.AlterPartitionAnswer{ErrorCode: wire.InvalidRequest})
	}
	proposals := make([]controller.Proposal, 0, len(r.Partitions))
	for i := range r.Partitions {
		p := &r.Partitions[i]
		proposals = append(proposals, controller.Proposal{
			TopicID: p.TopicID, Partition: p.Index, LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch,
			ISR: p.ISR, Recovering: p.Recovering,
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), orderTimeout)
	defer cancel()
	outcomes, err := s.o.Controller.AlterPartition(ctx, r.Broker, r.BrokerEpoch, proposals)
	answer := peer.AlterPartitionAnswer{ErrorCode: proposalCode(err)}
	for i := range outcomes {
		o := &outcomes[i]
		answer.Partitions = append(answer.Partitions, peer.ProposalResult{
			TopicID: r.Partitions[i].TopicID, Index: r.Partitions[i].Index, ErrorCode: proposalCode(o.Err),
			Leader: o.State.Leader, LeaderEpoch: o.State.LeaderEpoch, PartitionEpoch: o.State.PartitionEpoch,
			ISR: o.State.ISR, ELR: o.State.ELR, Recovering: o.State.Recovering,
		})
	}
	return peer.EncodeAlterPartitionAnswer(answer)
}

// proposalCode maps what became of a proposal. A leader makes one again whose code
// says nothing certain.
func proposalCode(err error) wire.ErrorCode {
	switch {
	case errors.Is(err, controller.ErrStaleState):
		return wire.InvalidUpdateVersion
	case errors.Is(err, controller.ErrIneligibleReplica):
		return wire.IneligibleReplica
	case errors.Is(err, controller.ErrNotApplied):
		return wire.OperationNotAttempted
	case errors.Is(err, controller.ErrUnknownPartition):
		return wire.UnknownTopicID
	}
	return codeOf(err, wire.UnknownServerError)
}
