package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"tidemark/bench/fault/proxy"
	"tidemark/bench/process"
)

// Status is what a cluster does now, put together from what its brokers tell.
type Status struct {
	Dir       string    `json:"dir"`
	Started   time.Time `json:"started"`
	Bootstrap string    `json:"bootstrap"`
	Zookeeper string    `json:"zookeeper"`
	// Store and Mesh are the states of those processes; empty where the cluster has
	// none of its own.
	Store process.State `json:"store,omitempty"`
	Mesh  process.State `json:"mesh,omitempty"`
	// Controller is who is in office as most brokers know it; below 0 for nobody.
	Controller int32             `json:"controller"`
	Brokers    []BrokerStatus    `json:"brokers"`
	Partitions []PartitionStatus `json:"partitions"`
	// Faults are the rules that hold in the mesh.
	Faults []proxy.Fault `json:"faults"`
}

// BrokerStatus is one broker.
type BrokerStatus struct {
	ID      int32         `json:"id"`
	Address string        `json:"address"`
	Metrics string        `json:"metrics"`
	Pid     int           `json:"pid"`
	State   process.State `json:"state"`
	// Leads, Replicas and InSync count partitions: those it leads, those it has a
	// replica of, and those in whose ISR it is.
	Leads    int `json:"leads"`
	Replicas int `json:"replicas"`
	InSync   int `json:"in_sync"`
	// Error says why it told nothing.
	Error string `json:"error,omitempty"`
}

// PartitionStatus is one partition as its leader sees it, or else as whoever knows
// the latest leader epoch does.
type PartitionStatus struct {
	Topic          string  `json:"topic"`
	Partition      int32   `json:"partition"`
	Strategy       string  `json:"strategy"`
	Leader         int32   `json:"leader"`
	LeaderEpoch    int32   `json:"leader_epoch"`
	PartitionEpoch int32   `json:"partition_epoch"`
	MinISR         int     `json:"min_isr"`
	ISR            []int32 `json:"isr"`
	// OSR are the assigned replicas out of sync.
	OSR     []int32 `json:"osr"`
	Pending bool    `json:"pending"`
	// Admits says whether a producer with acks=all may append.
	Admits bool `json:"admits"`
	// Waiting says why the high watermark stands; empty where it is the log end.
	Waiting  string          `json:"waiting,omitempty"`
	Replicas []ReplicaStatus `json:"replicas"`
}

// ReplicaStatus is one replica. Offsets and lags are -1 where unknown.
type ReplicaStatus struct {
	Broker int32 `json:"broker"`
	// Role is what the broker itself says: leader, follower, idle or offline; empty
	// where it says nothing.
	Role   string `json:"role,omitempty"`
	InSync bool   `json:"in_sync"`
	// LeaderEpoch is the latest that it knows.
	LeaderEpoch int32 `json:"leader_epoch"`
	End         int64 `json:"log_end_offset"`
	Watermark   int64 `json:"high_watermark"`
	// Lag is how many records it is behind the leader, BehindMs for how long.
	Lag      int64 `json:"lag"`
	BehindMs int64 `json:"behind_ms"`
}

// Status asks every broker at once; one that does not answer has an Error.
func (c *Cluster) Status(ctx context.Context) (*Status, error) {
	s, err := c.State()
	if err != nil {
		return nil, err
	}
	out := &Status{Dir: c.dir, Started: s.Started, Bootstrap: s.Bootstrap(), Zookeeper: s.Connect + s.Chroot, Controller: -1, Faults: []proxy.Fault{}}
	if s.Store.ID.Pid != 0 {
		out.Store = s.Store.State()
	}
	if s.Proxy {
		out.Mesh = s.Mesh.State()
		if links, err := c.Links(ctx); err == nil { // else Mesh says it
			out.Faults = links.Faults
		}
	}
	views := make([]*Partitions, len(s.Brokers))
	out.Brokers = make([]BrokerStatus, len(s.Brokers))
	var asking sync.WaitGroup
	for i, p := range s.Brokers {
		asking.Go(func() { out.Brokers[i], views[i] = look(ctx, p) })
	}
	asking.Wait()
	views = slices.DeleteFunc(views, func(v *Partitions) bool { return v == nil })
	out.Controller = office(views)
	states := map[int32]process.State{}
	for _, b := range out.Brokers {
		states[b.ID] = b.State
	}
	out.Partitions = merge(views, states)
	out.count()
	return out, nil
}

// look finds out about one broker.
func look(ctx context.Context, p Process) (BrokerStatus, *Partitions) {
	b := BrokerStatus{ID: p.Broker, Address: p.Address, Metrics: p.Metrics, Pid: p.ID.Pid, State: p.State()}
	if b.State != process.Running {
		return b, nil
	}
	view, err := p.Ask(ctx)
	if err != nil {
		b.Error = err.Error()
	}
	return b, view
}

// office is the controller that most views name.
func office(views []*Partitions) int32 {
	votes := map[int32]int{}
	best := int32(-1)
	for _, v := range views {
		if v.Controller < 0 {
			continue
		}
		votes[v.Controller]++
		if best < 0 || votes[v.Controller] > votes[best] {
			best = v.Controller
		}
	}
	return best
}

// count fills in the brokers' numbers of partitions.
func (s *Status) count() {
	for i := range s.Brokers {
		b := &s.Brokers[i]
		for _, p := range s.Partitions {
			if p.Leader == b.ID {
				b.Leads++
			}
			for _, r := range p.Replicas {
				if r.Broker == b.ID {
					b.Replicas++
				}
				if r.Broker == b.ID && r.InSync {
					b.InSync++
				}
			}
		}
	}
}

// Whole says whether every partition has a leader that runs and all replicas in sync
// with all records.
func (s *Status) Whole() error {
	for _, p := range s.Partitions {
		if len(p.OSR) > 0 || p.Waiting != "" || p.Pending {
			return fmt.Errorf("%s-%d: leader %d, out of sync %v, %s", p.Topic, p.Partition, p.Leader, p.OSR, p.Waiting)
		}
	}
	for _, b := range s.Brokers {
		if b.State != process.Running || b.Error != "" {
			return fmt.Errorf("broker %d is %s: %s", b.ID, b.State, b.Error)
		}
	}
	return nil
}

type partitionName struct {
	topic string
	index int32
}

// merge puts the brokers' views together, sorted by topic and partition. states are
// those of all brokers.
func merge(views []*Partitions, states map[int32]process.State) []PartitionStatus {
	told := map[partitionName]map[int32]*Replica{}
	for _, v := range views {
		for i := range v.Partitions {
			r := &v.Partitions[i]
			name := partitionName{r.Topic, r.Partition}
			if told[name] == nil {
				told[name] = map[int32]*Replica{}
			}
			told[name][v.Broker] = r
		}
	}
	out := make([]PartitionStatus, 0, len(told))
	for _, replicas := range told {
		out = append(out, mergePartition(replicas, states))
	}
	slices.SortFunc(out, func(a, b PartitionStatus) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return out
}

// mergePartition takes the view of the leader of the latest epoch.
func mergePartition(told map[int32]*Replica, states map[int32]process.State) PartitionStatus {
	var v *Replica
	for _, broker := range sortedKeys(told) {
		r := told[broker]
		if v == nil || r.LeaderEpoch > v.LeaderEpoch || r.LeaderEpoch == v.LeaderEpoch && r.Role == "leader" && v.Role != "leader" {
			v = r
		}
	}
	p := PartitionStatus{
		Topic: v.Topic, Partition: v.Partition, Strategy: v.Strategy, Leader: v.Leader, LeaderEpoch: v.LeaderEpoch, PartitionEpoch: v.PartitionEpoch,
		MinISR: v.MinISR, ISR: sorted(v.ISR), OSR: []int32{}, Pending: v.Pending, Admits: v.Admits, Waiting: v.Waiting,
	}
	leads := v.Role == "leader"
	if !leads {
		p.Admits = false
		p.Waiting = leaderless(v, states)
	}
	assigned := sorted(v.Replicas)
	for broker := range told { // one that is no longer assigned may still have a copy
		if !slices.Contains(assigned, broker) {
			assigned = append(assigned, broker)
		}
	}
	slices.Sort(assigned)
	for _, broker := range assigned {
		r := ReplicaStatus{Broker: broker, InSync: slices.Contains(v.ISR, broker), LeaderEpoch: -1, End: -1, Watermark: -1, Lag: -1}
		if own := told[broker]; own != nil {
			r.Role, r.LeaderEpoch, r.End, r.Watermark = own.Role, own.LeaderEpoch, own.End, own.Watermark
		}
		if i := slices.IndexFunc(v.Followers, func(f Follower) bool { return f.Broker == broker }); leads && i >= 0 {
			f := v.Followers[i]
			r.Lag, r.BehindMs = f.Lag, f.BehindMs
			if r.Role == "" {
				r.End = f.End
			}
		}
		if !r.InSync && slices.Contains(v.Replicas, broker) {
			p.OSR = append(p.OSR, broker)
		}
		p.Replicas = append(p.Replicas, r)
	}
	return p
}

func sorted(ids []int32) []int32 {
	out := append([]int32{}, ids...)
	slices.Sort(out)
	return out
}

func sortedKeys(m map[int32]*Replica) []int32 {
	var ids []int32
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
