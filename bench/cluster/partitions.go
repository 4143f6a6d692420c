package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Partitions is what a broker's /partitions tells: its replicas as it sees them.
type Partitions struct {
	Broker int32 `json:"broker"`
	// Controller is the broker in office as far as this one knows; below 0 for none.
	Controller int32     `json:"controller"`
	Partitions []Replica `json:"partitions"`
}

// Replica is one broker's copy of a partition. Offsets are -1 where unknown.
type Replica struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Strategy  string `json:"strategy"`
	// Role is leader, follower, idle or offline.
	Role           string  `json:"role"`
	Leader         int32   `json:"leader"`
	LeaderEpoch    int32   `json:"leader_epoch"`
	PartitionEpoch int32   `json:"partition_epoch"`
	Replicas       []int32 `json:"replicas"`
	ISR            []int32 `json:"isr"`
	// Maximal is what counts while a change of the ISR is under way.
	Maximal   []int32 `json:"maximal_isr"`
	Pending   bool    `json:"pending"`
	MinISR    int     `json:"min_isr"`
	Admits    bool    `json:"admits"`
	Start     int64   `json:"log_start_offset"`
	End       int64   `json:"log_end_offset"`
	Synced    int64   `json:"synced"`
	Watermark int64   `json:"high_watermark"`
	// Waiting says why a leader's high watermark stands below its log end.
	Waiting   string     `json:"waiting"`
	LogDir    string     `json:"log_dir"`
	Followers []Follower `json:"followers"`
}

// Follower is a follower as its leader sees it.
type Follower struct {
	Broker int32 `json:"broker"`
	End    int64 `json:"log_end_offset"`
	// Lag is in records; -1 where unknown.
	Lag    int64 `json:"lag"`
	InSync bool  `json:"in_sync"`
	// BehindMs is how long ago it last had everything.
	BehindMs int64 `json:"behind_ms"`
}

// askWithin is how long a broker may take to tell: a paused one never does.
const askWithin = time.Second

// ErrUnasked says that a broker has no endpoint to ask.
var ErrUnasked = errors.New("its metrics listener is switched off")

// Ask asks a broker for its replicas.
func (p Process) Ask(ctx context.Context) (*Partitions, error) {
	if p.Metrics == "" {
		return nil, ErrUnasked
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, "GET", "http://"+p.Metrics+"/partitions", nil)
	if err != nil {
		return nil, fmt.Errorf("ask broker %d: %w", p.Broker, err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("ask broker %d: %w", p.Broker, err)
	}
	defer func() { _ = answer.Body.Close() }() // only read
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask broker %d for its partitions: %s", p.Broker, answer.Status)
	}
	var out Partitions
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return nil, fmt.Errorf("ask broker %d: %w", p.Broker, err)
	}
	return &out, nil
}
