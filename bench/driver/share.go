package driver

import (
	"fmt"
)

// share gives every worker partitions of one leader, since it has one connection:
// each leader gets a worker, and those with the most partitions for each of theirs
// the others. leaders are by partition. Of one leader worker w has every partition p
// with p modulo workers = w.
func share(leaders []string, workers int) ([][]int32, error) {
	var names []string
	groups := map[string][]int32{}
	for p, leader := range leaders {
		if groups[leader] == nil {
			names = append(names, leader)
		}
		groups[leader] = append(groups[leader], int32(p))
	}
	if len(names) > workers {
		return nil, fmt.Errorf("partitions are led by %d brokers: the raw driver wants as many producers and consumers (or use driver franz)", len(names))
	}
	staff := make([]int, len(names))
	for w := range workers {
		busiest := w
		if w >= len(names) {
			busiest = 0
			for i, name := range names {
				if len(groups[name])*staff[busiest] > len(groups[names[busiest]])*staff[i] {
					busiest = i
				}
			}
		}
		staff[busiest]++
	}
	var all [][]int32
	for i, name := range names {
		for w := range staff[i] {
			var own []int32
			for k := w; k < len(groups[name]); k += staff[i] {
				own = append(own, groups[name][k])
			}
			all = append(all, own)
		}
	}
	return all, nil
}
