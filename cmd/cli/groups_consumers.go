package cli

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeConsumers adds groups of KIP-848 to found.
func describeConsumers(ctx context.Context, client *kgo.Client, names []string, found map[string]describedGroup) error {
	if len(names) == 0 {
		return nil
	}
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = names
	for _, shard := range client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return fmt.Errorf("describe groups: %w", shard.Err)
		}
		resp := shard.Resp.(*kmsg.ConsumerGroupDescribeResponse)
		for i := range resp.Groups {
			g := &resp.Groups[i]
			if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
				return fmt.Errorf("describe group %s: %w", g.Group, err)
			}
			found[g.Group] = describeConsumerGroup(g)
		}
	}
	return nil
}

// describeConsumerGroup shows the group's epoch as its generation. A member that has
// not come to its target is waited for.
func describeConsumerGroup(g *kmsg.ConsumerGroupDescribeResponseGroup) describedGroup {
	d := describedGroup{Group: g.Group, State: g.State, Protocol: g.AssignorName, Generation: &g.Epoch, Members: []describedMember{}}
	for i := range g.Members {
		m := &g.Members[i]
		row := describedMember{Member: m.MemberID, Client: m.ClientID, Host: m.ClientHost, WaitedFor: m.MemberEpoch != g.Epoch, Partitions: map[string][]int32{}}
		if m.InstanceID != nil {
			row.Instance = *m.InstanceID
		}
		for _, t := range m.Assignment.TopicPartitions {
			row.Partitions[t.Topic] = append(row.Partitions[t.Topic], t.Partitions...)
		}
		d.Members = append(d.Members, row)
	}
	return d
}
