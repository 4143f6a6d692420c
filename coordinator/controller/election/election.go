// Package election holds the controller's decisions as pure functions: where
// replicas go and which of them leads. The controller applies them; tests and
// simulations call them with made-up clusters.
package election

import (
	"errors"
	"fmt"
	"slices"

	"tidemark/internal/invariant"
)

// ErrTooFewBrokers means that a partition needs more replicas than there are
// brokers.
var ErrTooFewBrokers = errors.New("more replicas than brokers")

// Placement asks for replicas of new partitions.
type Placement struct {
	// Brokers are the candidates; their order decides, so callers sort them.
	Brokers []int32
	// First is the number of the first new partition, Count how many there are.
	First, Count int32
	// Replicas is the replication factor.
	Replicas int
	// Start is the broker, by index, that leads partition 0, and Shift the
	// distance from a partition's first replica to its second. Kafka draws both
	// at random, so that small topics do not all land on the first broker.
	Start, Shift int
}

// AssignReplicas spreads partitions over brokers as Kafka does where racks are
// unknown (AdminUtils.assignReplicasToBrokersRackUnaware): first replicas go
// round the brokers, and the others follow at a distance that grows with every
// round, so that the load of a failed broker falls on all others.
func AssignReplicas(p Placement) ([][]int32, error) {
	n := len(p.Brokers)
	if p.Replicas < 1 || p.Count < 0 || p.First < 0 || p.Start < 0 || p.Shift < 0 {
		return nil, fmt.Errorf("placement %+v: negative number or no replica", p)
	}
	if p.Replicas > n {
		return nil, fmt.Errorf("%w: %d replicas, %d brokers", ErrTooFewBrokers, p.Replicas, n)
	}
	out := make([][]int32, 0, p.Count)
	shift := p.Shift
	for partition := int(p.First); partition < int(p.First)+int(p.Count); partition++ {
		if partition > 0 && partition%n == 0 {
			shift++
		}
		first := (partition + p.Start) % n
		replicas := []int32{p.Brokers[first]}
		for j := range p.Replicas - 1 {
			replicas = append(replicas, p.Brokers[(first+1+(shift+j)%(n-1))%n])
		}
		out = append(out, replicas)
	}
	return out, nil
}

// NoLeader is the leader of a partition that nobody may lead.
const NoLeader int32 = -1

// State is what an election looks at.
type State struct {
	// Replicas are the assigned brokers, preferred first.
	Replicas []int32
	// ISR is a subset of Replicas, not empty once the partition ever had one.
	ISR []int32
	// Live are the brokers that can lead.
	Live []int32
}

// Decision is who leads from now on.
type Decision struct {
	// Leader is NoLeader when no member of the ISR is live.
	Leader int32
	// ISR holds the live members of the old ISR; the old ISR unchanged where
	// none is live, since they alone may have every acknowledged record.
	ISR []int32
}

// Clean elects the first replica, in order of assignment, that is live and in
// the ISR (PartitionLeaderElectionAlgorithms.offlinePartitionLeaderElection
// without unclean election). It never elects a replica that may lack
// acknowledged records.
func Clean(s State) Decision {
	for _, r := range s.ISR {
		invariant.Check(slices.Contains(s.Replicas, r), "ISR %v holds %d, which is not assigned %v", s.ISR, r, s.Replicas)
	}
	var isr []int32
	for _, r := range s.ISR {
		if slices.Contains(s.Live, r) {
			isr = append(isr, r)
		}
	}
	for _, r := range s.Replicas {
		if slices.Contains(isr, r) {
			return Decision{Leader: r, ISR: isr}
		}
	}
	return Decision{Leader: NoLeader, ISR: s.ISR}
}

// Initial chooses the leader of a new partition: all live replicas are in sync,
// for there is nothing to have missed (OnlinePartition of a NewPartition).
func Initial(replicas, live []int32) Decision {
	d := Decision{Leader: NoLeader}
	for _, r := range replicas {
		if slices.Contains(live, r) {
			d.ISR = append(d.ISR, r)
		}
	}
	if len(d.ISR) > 0 {
		d.Leader = d.ISR[0]
	}
	return d
}
