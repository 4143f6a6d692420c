package peer

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
	"tidemark/replication"
)

// AlterPartition is a leader's request to the controller to change in-sync sets
// (KIP-497, KIP-903). Partitions of a topic stand together.
type AlterPartition struct {
	Broker      int32
	BrokerEpoch int64
	Partitions  []Proposal
}

// Proposal is the set that a leader wants a partition to have.
type Proposal struct {
	TopicID     [16]byte
	Index       int32
	LeaderEpoch int32
	// PartitionEpoch is the version of the state that the proposal replaces.
	PartitionEpoch int32
	ISR            []replication.Member
	Recovering     bool
}

// AlterPartitionAnswer has an error for the whole, or a result for each
// partition.
type AlterPartitionAnswer struct {
	ErrorCode  wire.ErrorCode
	Partitions []ProposalResult
}

// ProposalResult is what became of one proposal: an error, or the state as it
// stands now.
type ProposalResult struct {
	TopicID             [16]byte
	Index               int32
	ErrorCode           wire.ErrorCode
	Leader, LeaderEpoch int32
	PartitionEpoch      int32
	ISR, ELR            []replication.Member
	Recovering          bool
}

const alterPartitionVersion = 3

// EncodeAlterPartition makes the request.
func EncodeAlterPartition(r AlterPartition) *kmsg.AlterPartitionRequest {
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = alterPartitionVersion
	req.BrokerID, req.BrokerEpoch = r.Broker, r.BrokerEpoch
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if i == 0 || p.TopicID != r.Partitions[i-1].TopicID {
			topic := kmsg.NewAlterPartitionRequestTopic()
			topic.TopicID = p.TopicID
			req.Topics = append(req.Topics, topic)
		}
		topic := &req.Topics[len(req.Topics)-1]
		topic.Partitions = append(topic.Partitions, p.encode())
	}
	return req
}

func (p *Proposal) encode() kmsg.AlterPartitionRequestTopicPartition {
	out := kmsg.NewAlterPartitionRequestTopicPartition()
	out.Partition, out.LeaderEpoch, out.PartitionEpoch, out.LeaderRecoveryState = p.Index, p.LeaderEpoch, p.PartitionEpoch, recovery(p.Recovering)
	for _, m := range p.ISR {
		member := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		member.BrokerID, member.BrokerEpoch = m.Broker, m.BrokerEpoch
		setID(&member.UnknownTags, tagMemberDir, m.Dir)
		out.NewEpochISR = append(out.NewEpochISR, member)
	}
	return out
}

// DecodeAlterPartition reads the request.
func DecodeAlterPartition(req *kmsg.AlterPartitionRequest) (AlterPartition, error) {
	r := AlterPartition{Broker: req.BrokerID, BrokerEpoch: req.BrokerEpoch}
	for i := range req.Topics {
		topic := &req.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			proposal := Proposal{TopicID: topic.TopicID, Index: p.Partition, LeaderEpoch: p.LeaderEpoch,
				PartitionEpoch: p.PartitionEpoch, Recovering: p.LeaderRecoveryState == recovery(true)}
			for k := range p.NewEpochISR {
				m := &p.NewEpochISR[k]
				dir, err := getID(&m.UnknownTags, tagMemberDir)
				if err != nil {
					return AlterPartition{}, err
				}
				proposal.ISR = append(proposal.ISR, replication.Member{Broker: m.BrokerID, BrokerEpoch: m.BrokerEpoch, Dir: dir})
			}
			r.Partitions = append(r.Partitions, proposal)
		}
	}
	return r, nil
}

// EncodeAlterPartitionAnswer makes the response.
func EncodeAlterPartitionAnswer(a AlterPartitionAnswer) *kmsg.AlterPartitionResponse {
	resp := kmsg.NewPtrAlterPartitionResponse()
	resp.Version, resp.ErrorCode = alterPartitionVersion, int16(a.ErrorCode)
	for i := range a.Partitions {
		r := &a.Partitions[i]
		if i == 0 || r.TopicID != a.Partitions[i-1].TopicID {
			topic := kmsg.NewAlterPartitionResponseTopic()
			topic.TopidID = r.TopicID
			resp.Topics = append(resp.Topics, topic)
		}
		p := kmsg.NewAlterPartitionResponseTopicPartition()
		p.Partition, p.ErrorCode, p.LeaderID, p.LeaderEpoch, p.PartitionEpoch = r.Index, int16(r.ErrorCode), r.Leader, r.LeaderEpoch, r.PartitionEpoch
		p.LeaderRecoveryState = recovery(r.Recovering)
		p.ISR = splitMembers(&p.UnknownTags, tagISR, r.ISR)
		setELR(&p.UnknownTags, r.ELR)
		topic := &resp.Topics[len(resp.Topics)-1]
		topic.Partitions = append(topic.Partitions, p)
	}
	return resp
}

// DecodeAlterPartitionAnswer reads the response.
func DecodeAlterPartitionAnswer(resp *kmsg.AlterPartitionResponse) (AlterPartitionAnswer, error) {
	a := AlterPartitionAnswer{ErrorCode: wire.ErrorCode(resp.ErrorCode)}
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			r := ProposalResult{TopicID: topic.TopidID, Index: p.Partition, ErrorCode: wire.ErrorCode(p.ErrorCode), Leader: p.LeaderID,
				LeaderEpoch: p.LeaderEpoch, PartitionEpoch: p.PartitionEpoch, Recovering: p.LeaderRecoveryState == recovery(true)}
			var err error
			if r.ISR, err = joinMembers(&p.UnknownTags, tagISR, p.ISR); err == nil {
				r.ELR, err = getELR(&p.UnknownTags)
			}
			if err != nil {
				return AlterPartitionAnswer{}, err
			}
			a.Partitions = append(a.Partitions, r)
		}
	}
	return a, nil
}
