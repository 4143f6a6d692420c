// Package election says where replicas go, as pure functions. Which of them leads is
// decided by the strategies of replication.
package election

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ErrTooFewBrokers means that a partition needs more replicas than there are
// brokers.
var ErrTooFewBrokers = errors.New("more replicas than brokers")

// Placement asks for replicas of new partitions.
type Placement struct {
	// Brokers are the candidates; their order decides, so callers sort them.
	Brokers []int32
	// Racks are the brokers' racks; nil where they do not count.
	Racks map[int32]string
	// First is the number of the first new partition, Count how many there are.
	First, Count int32
	// Replicas is the replication factor.
	Replicas int
	// Start is the broker, by index, that leads partition 0, and Shift the
	// distance from a partition's first replica to its second. Kafka draws both
	// at random, so that small topics do not all land on the first broker.
	Start, Shift int
}

// AssignReplicas places the replicas of new partitions.
func AssignReplicas(p Placement) ([][]int32, error) {
	n := len(p.Brokers)
	if p.Replicas < 1 || p.Count < 0 || p.First < 0 || p.Start < 0 || p.Shift < 0 {
		return nil, fmt.Errorf("placement %+v: negative number or no replica", p)
	}
	if p.Replicas > n {
		return nil, fmt.Errorf("%w: %d replicas, %d brokers", ErrTooFewBrokers, p.Replicas, n)
	}
	if len(p.Racks) > 0 {
		return p.overRacks(), nil
	}
	return p.overBrokers(), nil
}

// overBrokers spreads partitions over brokers as Kafka does where racks are
// unknown (AdminUtils.assignReplicasToBrokersRackUnaware): first replicas go
// round the brokers, and the others follow at a distance that grows with every
// round, so that the load of a failed broker falls on all others.
func (p Placement) overBrokers() [][]int32 {
	n := len(p.Brokers)
	return p.each(n, func(first, shift int) []int32 {
		replicas := []int32{p.Brokers[first]}
		for j := range p.Replicas - 1 {
			replicas = append(replicas, p.Brokers[(first+1+(shift+j)%(n-1))%n])
		}
		return replicas
	})
}

// each places every new partition over n brokers in a row: first is where its first
// replica goes, shift the distance to the next, which grows with every round.
func (p Placement) each(n int, replicas func(first, shift int) []int32) [][]int32 {
	out := make([][]int32, 0, p.Count)
	shift := p.Shift
	for partition := int(p.First); partition < int(p.First)+int(p.Count); partition++ {
		if partition > 0 && partition%n == 0 {
			shift++
		}
		out = append(out, replicas((partition+p.Start)%n, shift))
	}
	return out
}

// overRacks spreads replicas over racks first (assignReplicasToBrokersRackAware):
// brokers take turns by rack, and a follower whose rack, or broker, has a replica
// while others have none is passed over.
func (p Placement) overRacks() [][]int32 {
	brokers := p.alternate()
	n := len(brokers)
	racks := map[string]bool{}
	for _, b := range brokers {
		racks[p.Racks[b]] = true
	}
	return p.each(n, func(first, shift int) []int32 {
		replicas := []int32{brokers[first]}
		used := map[string]bool{p.Racks[brokers[first]]: true}
		for k := 0; len(replicas) < p.Replicas; k++ {
			b := brokers[(first+1+(shift*len(racks)+k)%(n-1))%n]
			if used[p.Racks[b]] && len(used) < len(racks) || slices.Contains(replicas, b) {
				continue
			}
			replicas = append(replicas, b)
			used[p.Racks[b]] = true
		}
		return replicas
	})
}

// alternate lists the brokers so that neighbours are of different racks
// (getRackAlternatedBrokerList): one of each rack, in order of rack, then the next of
// each.
func (p Placement) alternate() []int32 {
	byRack := map[string][]int32{}
	for _, b := range p.Brokers {
		byRack[p.Racks[b]] = append(byRack[p.Racks[b]], b)
	}
	names := slices.Sorted(maps.Keys(byRack))
	var out []int32
	for i := 0; len(out) < len(p.Brokers); i++ {
		for _, rack := range names {
			if list := byRack[rack]; i < len(list) {
				out = append(out, list[i])
			}
		}
	}
	return out
}
