package config

import (
	"fmt"
	"strconv"
	"time"
)

// Replication is how replicas follow their leaders and who keeps the in-sync
// sets. The strategy is a topic's own (Topic.Strategy).
type Replication struct {
	// ISRUpdate is ISRUpdateController or ISRUpdateZooKeeper.
	ISRUpdate string
	// EligibleLeaders is eligible.leader.replicas (KIP-966).
	EligibleLeaders bool
	// Truncation is TruncationEpoch or TruncationHW.
	Truncation string
	// LagTimeMax is replica.lag.time.max.ms.
	LagTimeMax time.Duration
	// Fetchers is num.replica.fetchers: connections to each leader's broker.
	Fetchers int32
	// FetchMaxBytes bounds a partition's part of a fetch, FetchResponseMaxBytes
	// the whole; a first batch that is larger comes whole.
	FetchMaxBytes, FetchResponseMaxBytes int32
	// FetchMinBytes and FetchWaitMax say how long a leader may keep a fetch.
	FetchMinBytes int32
	FetchWaitMax  time.Duration
	// FetchBackoff is the pause after a fetch that failed.
	FetchBackoff time.Duration
	// SocketTimeout is replica.socket.timeout.ms: the patience with a leader.
	SocketTimeout time.Duration
	// SelectorClass is empty, LeaderSelector or RackAwareSelector.
	SelectorClass string
	// LeaderThrottle and FollowerThrottle bound the bytes a second that throttled
	// replicas send and receive.
	LeaderThrottle, FollowerThrottle int64
}

// The values of isr.update, replica.truncation and replica.selector.class.
const (
	ISRUpdateController = "controller"
	ISRUpdateZooKeeper  = "zookeeper"

	TruncationEpoch = "epoch"
	TruncationHW    = "hw"

	LeaderSelector    = "org.apache.kafka.common.replica.LeaderSelector"
	RackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
)

// Leadership is what the controller does about who leads, and what a broker
// does about it when it leaves.
type Leadership struct {
	// SocketTimeout is controller.socket.timeout.ms.
	SocketTimeout time.Duration
	// Rebalance is auto.leader.rebalance.enable, RebalanceInterval and
	// ImbalancePercent are leader.imbalance.*.
	Rebalance         bool
	RebalanceInterval time.Duration
	ImbalancePercent  int32
	// ControlledShutdown, ShutdownRetries and ShutdownBackoff are
	// controlled.shutdown.*.
	ControlledShutdown bool
	ShutdownRetries    int32
	ShutdownBackoff    time.Duration
}

var seconds = format[time.Duration]{Long, parseSeconds, func(v time.Duration) string { return strconv.FormatInt(int64(v/time.Second), 10) }}

func parseSeconds(s string) (time.Duration, error) {
	v, err := parseLong(s)
	const most = int64(1<<63-1) / int64(time.Second)
	return time.Duration(max(min(v, most), -most)) * time.Second, err
}

// replicationDefs are Kafka's names of replication and leadership.
var replicationDefs = []Def{
	topic("unclean.leader.election.enable", "unclean.leader.election.enable", func(t *Topic) *bool { return &t.UncleanElection }, boolean, "false",
		"Whether a replica that was not in sync may lead when no other can: the partition is there again, and acknowledged records may be gone.", nil),
	topic("leader.replication.throttled.replicas", "leader.replication.throttled.replicas", func(t *Topic) *ThrottledReplicas { return &t.LeaderThrottled }, throttledReplicas, "",
		"Replicas, as partition:broker, whose sending is bound by leader.replication.throttled.rate; * means all of the topic.", nil),
	topic("follower.replication.throttled.replicas", "follower.replication.throttled.replicas", func(t *Topic) *ThrottledReplicas { return &t.FollowerThrottled }, throttledReplicas, "",
		"Replicas, as partition:broker, whose fetching is bound by follower.replication.throttled.rate; * means all of the topic.", nil),
	broker("leader.replication.throttled.rate", func(b *Broker) *int64 { return &b.Replication.LeaderThrottle }, long, forever,
		"Bytes a second that this broker's throttled leaders send to followers.", atLeast[int64](0), dynamic),
	broker("follower.replication.throttled.rate", func(b *Broker) *int64 { return &b.Replication.FollowerThrottle }, long, forever,
		"Bytes a second that this broker's throttled followers fetch.", atLeast[int64](0), dynamic),

	broker("replica.lag.time.max.ms", func(b *Broker) *time.Duration { return &b.Replication.LagTimeMax }, millis, "30000",
		"How long a follower may go without having caught up before it leaves the in-sync set.", lasting(time.Millisecond)),
	broker("num.replica.fetchers", func(b *Broker) *int32 { return &b.Replication.Fetchers }, integer, "1",
		"Connections over which the replicas that follow one broker fetch from it.", atLeast[int32](1)),
	broker("replica.fetch.max.bytes", func(b *Broker) *int32 { return &b.Replication.FetchMaxBytes }, integer, "1048576",
		"Bytes of one partition in a replica's fetch; a first batch that is larger comes whole.", atLeast[int32](0)),
	broker("replica.fetch.response.max.bytes", func(b *Broker) *int32 { return &b.Replication.FetchResponseMaxBytes }, integer, "10485760",
		"Bytes of one replica fetch over all partitions; a first batch that is larger comes whole.", atLeast[int32](0)),
	broker("replica.fetch.min.bytes", func(b *Broker) *int32 { return &b.Replication.FetchMinBytes }, integer, "1",
		"Bytes that a leader waits for, up to replica.fetch.wait.max.ms, before it answers a replica's fetch.", atLeast[int32](0)),
	broker("replica.fetch.wait.max.ms", func(b *Broker) *time.Duration { return &b.Replication.FetchWaitMax }, millis, "500",
		"How long a leader may wait for replica.fetch.min.bytes. No longer than replica.lag.time.max.ms and replica.socket.timeout.ms.", lasting(0)),
	broker("replica.fetch.backoff.ms", func(b *Broker) *time.Duration { return &b.Replication.FetchBackoff }, millis, "1000",
		"How long a replica waits before it fetches a partition again that could not be fetched.", lasting(0)),
	broker("replica.socket.timeout.ms", func(b *Broker) *time.Duration { return &b.Replication.SocketTimeout }, millis, "30000",
		"How long a replica waits for the answer to a fetch before it connects anew.", lasting(time.Millisecond)),
	broker("replica.selector.class", func(b *Broker) *string { return &b.Replication.SelectorClass }, text, "",
		"Which replica consumers are sent to: the leader, or with "+RackAwareSelector+" one in the consumer's rack (KIP-392).",
		[]rule[string]{{"empty, " + LeaderSelector + " or " + RackAwareSelector,
			func(v string) bool { return v == "" || v == LeaderSelector || v == RackAwareSelector }}}),

	broker("controller.socket.timeout.ms", func(b *Broker) *time.Duration { return &b.Leadership.SocketTimeout }, millis, "30000",
		"How long the controller waits for a broker's answer, and a broker for the controller's, before it connects anew.", lasting(time.Millisecond)),
	broker("auto.leader.rebalance.enable", func(b *Broker) *bool { return &b.Leadership.Rebalance }, boolean, "true",
		"Whether the controller gives leadership back to the first replica of the assignment.", nil),
	broker("leader.imbalance.check.interval.seconds", func(b *Broker) *time.Duration { return &b.Leadership.RebalanceInterval }, seconds, "300",
		"How often the controller looks for leaders to give back.",
		atLeastOne("second", time.Second)),
	broker("leader.imbalance.per.broker.percentage", func(b *Broker) *int32 { return &b.Leadership.ImbalancePercent }, integer, "10",
		"Part of the partitions that a broker should lead and does not, in percent, beyond which leadership is given back.", atLeast[int32](0)),
	broker("controlled.shutdown.enable", func(b *Broker) *bool { return &b.Leadership.ControlledShutdown }, boolean, "true",
		"Whether a broker that is told to stop first has the controller move what it leads.", nil),
	broker("controlled.shutdown.max.retries", func(b *Broker) *int32 { return &b.Leadership.ShutdownRetries }, integer, "3",
		"How often it asks again before it stops all the same.", atLeast[int32](0)),
	broker("controlled.shutdown.retry.backoff.ms", func(b *Broker) *time.Duration { return &b.Leadership.ShutdownBackoff }, millis, "5000",
		"How long it waits before it asks again.", lasting(0)),
}

// ownReplicationDefs are the names of replication that Kafka does not have.
var ownReplicationDefs = []Def{
	topic("replication.strategy", "replication.strategy", func(t *Topic) *string { return &t.Strategy }, text, "isr",
		"When a record counts as safe and who may lead next: async, sync, isr or quorum. A topic keeps the one that it was created with.",
		named("a replication strategy"), own, fixed),
	broker("isr.update", func(b *Broker) *string { return &b.Replication.ISRUpdate }, text, ISRUpdateController,
		"Who writes in-sync sets: controller has leaders ask it (KIP-497); zookeeper has them write to the metadata store, as before Kafka 2.7. One value for the whole cluster: a broker with another one does not start.",
		oneOf(ISRUpdateController, ISRUpdateZooKeeper), own),
	broker("eligible.leader.replicas", func(b *Broker) *bool { return &b.Replication.EligibleLeaders }, boolean, "false",
		"Whether replicas that left the in-sync set while it was below min.insync.replicas may lead (KIP-966): nothing was acknowledged without them. Needs isr.update=controller.", nil, own, dynamic),
	broker("replica.truncation", func(b *Broker) *string { return &b.Replication.Truncation }, text, TruncationEpoch,
		"What a follower cuts off before it follows a new leader: epoch asks where the histories part (KIP-101, 279); hw cuts to its own high watermark, as before Kafka 0.11, and can lose acknowledged records.",
		oneOf(TruncationEpoch, TruncationHW), own),
}

// check validates what one row alone cannot.
func (r *Replication) check() error {
	var errs errorList
	for _, bound := range []struct {
		name string
		of   time.Duration
	}{{"replica.lag.time.max.ms", r.LagTimeMax}, {"replica.socket.timeout.ms", r.SocketTimeout}} {
		if r.FetchWaitMax > bound.of {
			errs.add(fmt.Errorf("replica.fetch.wait.max.ms: %d is more than %s %d",
				r.FetchWaitMax.Milliseconds(), bound.name, bound.of.Milliseconds()))
		}
	}
	if r.ISRUpdate == ISRUpdateZooKeeper && r.EligibleLeaders {
		errs.add(fmt.Errorf("eligible.leader.replicas: only the controller can keep them; set isr.update=%s or leave them off", ISRUpdateController))
	}
	return errs.err()
}
