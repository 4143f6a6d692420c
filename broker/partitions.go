package broker

import (
	"encoding/json"
	"net/http"

	"tidemark/broker/replica"
	"tidemark/replication"
)

// partitionsPage is what GET /partitions of the metrics listener answers: every replica
// of this broker as its strategy sees it. Offsets are −1 where unknown.
type partitionsPage struct {
	Broker     int32             `json:"broker"`
	Controller int32             `json:"controller"`
	Partitions []partitionStatus `json:"partitions"`
}

type partitionStatus struct {
	Topic          string           `json:"topic"`
	Partition      int32            `json:"partition"`
	Strategy       string           `json:"strategy"`
	Role           string           `json:"role"` // leader, follower, idle or offline
	Leader         int32            `json:"leader"`
	LeaderEpoch    int32            `json:"leader_epoch"`
	PartitionEpoch int32            `json:"partition_epoch"`
	Replicas       []int32          `json:"replicas"`
	ISR            []int32          `json:"isr"`
	MaximalISR     []int32          `json:"maximal_isr"`
	Pending        bool             `json:"pending"`
	MinISR         int              `json:"min_isr"`
	Admits         bool             `json:"admits"`
	LogStartOffset int64            `json:"log_start_offset"`
	LogEndOffset   int64            `json:"log_end_offset"`
	Synced         int64            `json:"synced"`
	HighWatermark  int64            `json:"high_watermark"`
	Waiting        string           `json:"waiting,omitempty"`
	Fetcher        string           `json:"fetcher,omitempty"`
	LogDir         string           `json:"log_dir"`
	SizeBytes      int64            `json:"size_bytes"`
	Followers      []followerStatus `json:"followers,omitempty"`
}

type followerStatus struct {
	Broker       int32 `json:"broker"`
	LogEndOffset int64 `json:"log_end_offset"`
	Lag          int64 `json:"lag"`
	InSync       bool  `json:"in_sync"`
	BehindMs     int64 `json:"behind_ms"` // −1 where it never had everything
}

func (b *Broker) servePartitions(w http.ResponseWriter, _ *http.Request) {
	if !b.ready.Load() {
		http.Error(w, "starting or stopping", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(b.partitionsPage()) // an error is the reader's going away
}

func (b *Broker) partitionsPage() partitionsPage {
	page := partitionsPage{Broker: b.o.Config.BrokerID, Controller: b.view.View().Controller(), Partitions: []partitionStatus{}}
	for _, s := range b.replicas.Statuses() {
		page.Partitions = append(page.Partitions, partitionStatusOf(&s))
	}
	return page
}

func partitionStatusOf(s *replica.Status) partitionStatus {
	p := partitionStatus{
		Topic: s.Topic, Partition: s.Partition, Strategy: s.Strategy, Role: s.Role.String(),
		Leader: s.Leader, LeaderEpoch: s.LeaderEpoch, PartitionEpoch: s.PartitionEpoch,
		Replicas: s.Replicas, ISR: brokersOf(s.ISR), MaximalISR: brokersOf(s.Maximal), Pending: s.Pending,
		MinISR: s.MinISR, Admits: s.Admits,
		LogStartOffset: s.LogStartOffset, LogEndOffset: s.LogEndOffset, Synced: s.Synced, HighWatermark: s.HighWatermark,
		Waiting: s.Waiting, Fetcher: s.Fetcher, LogDir: s.Path, SizeBytes: s.SizeBytes,
	}
	if s.Offline {
		p.Role = "offline"
	}
	for _, f := range s.Followers {
		p.Followers = append(p.Followers, followerStatus{
			Broker: f.Broker, LogEndOffset: f.LogEndOffset, Lag: f.Lag, InSync: f.InSync, BehindMs: behind(s, &f),
		})
	}
	return p
}

func behind(s *replica.Status, f *replication.FollowerStatus) int64 {
	switch {
	case f.LogEndOffset == replication.NoOffset:
		return -1
	case f.LogEndOffset >= s.LogEndOffset:
		return 0
	}
	return max(s.Now-f.LastCaughtUp, 0).Milliseconds()
}

func brokersOf(members []replication.Member) []int32 {
	out := make([]int32, 0, len(members))
	for _, m := range members {
		out = append(out, m.Broker)
	}
	return out
}
