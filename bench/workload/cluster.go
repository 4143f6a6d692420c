package workload

import (
	"errors"
	"fmt"
)

// checkCluster says what does not fit together in a load's brokers and replicas.
func (l Load) checkCluster() error {
	slow := !l.FollowerRate.Saturating()
	switch {
	case l.Brokers > 1 && l.Target != "process":
		return fmt.Errorf("brokers %d: target %s is not started as a cluster; want target process", l.Brokers, l.Target)
	case l.Mesh && l.Brokers < 2:
		return errors.New("mesh needs two brokers or more")
	case l.Target == "process" && l.Replicas > l.Brokers:
		return fmt.Errorf("replication.factor %d is more than brokers %d", l.Replicas, l.Brokers)
	case slow && !l.Mesh:
		return errors.New("follower.rate needs mesh: true")
	case slow && l.Replicas < 2:
		return errors.New("follower.rate needs a follower: replication.factor 2 or more")
	}
	return nil
}

// refers names the experiments that rates of the load are shares of.
func (l Load) refers() (names []string) {
	for _, r := range []Rate{l.Rate, l.FollowerRate} {
		if r.Of != "" {
			names = append(names, r.Of)
		}
	}
	return names
}
