package peer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/protocol/wire"
)

// Brokers ask each other two things that clients ask too.
const (
	createTopicsVersion = 7
	listOffsetsVersion  = 7

	latestTimestamp = -1 // ListOffsets
	consumer        = -1 // the replica id of whoever is none
)

// CreateTopic asks the controller's broker for a topic with the cluster's default
// partitions, replication factor and settings. The text explains the code.
func (p *Pool) CreateTopic(ctx context.Context, broker int32, name string) (code wire.ErrorCode, text string, err error) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version, req.TimeoutMillis = createTopicsVersion, int32(p.o.ControlTimeout.Milliseconds())
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMillis = int32(min(time.Until(deadline), p.o.ControlTimeout).Milliseconds())
	}
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	req.Topics = append(req.Topics, topic)
	resp := kmsg.NewPtrCreateTopicsResponse()
	if err := p.call(ctx, broker, purpose{kind: asking}, req, resp); err != nil {
		return 0, "", err
	}
	if len(resp.Topics) != 1 || resp.Topics[0].Topic != name {
		return 0, "", fmt.Errorf("%w: answer to CreateTopics of %q", ErrMalformed, name)
	}
	if m := resp.Topics[0].ErrorMessage; m != nil {
		text = *m
	}
	return wire.ErrorCode(resp.Topics[0].ErrorCode), text, nil
}

// LatestOffset asks the leader's broker for the high watermark, as a consumer
// that knows the leader epoch: OFFSET_NOT_AVAILABLE while a new leader's is not
// known to be the last one's.
func (p *Pool) LatestOffset(ctx context.Context, broker int32, topic string, index, leaderEpoch int32) (code wire.ErrorCode, offset int64, err error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = listOffsetsVersion, consumer
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Partition, partition.CurrentLeaderEpoch, partition.Timestamp = index, leaderEpoch, latestTimestamp
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic, t.Partitions = topic, append(t.Partitions, partition)
	req.Topics = append(req.Topics, t)
	resp := kmsg.NewPtrListOffsetsResponse()
	if err := p.call(ctx, broker, purpose{kind: asking}, req, resp); err != nil {
		return 0, -1, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, -1, fmt.Errorf("%w: answer to ListOffsets of %q", ErrMalformed, topic)
	}
	answer := &resp.Topics[0].Partitions[0]
	return wire.ErrorCode(answer.ErrorCode), answer.Offset, nil
}
