package cluster

import (
	"fmt"
	"slices"
	"strings"

	"tidemark/bench/process"
)

// leaderless says why a partition has no leader that would tell. states are those of
// all brokers.
func leaderless(v *Replica, states map[int32]process.State) string {
	switch state, ok := states[v.Leader]; {
	case v.Leader < 0:
		return "nobody leads" + unelected(v, states)
	case ok && state == process.Gone:
		return fmt.Sprintf("broker %d, which is to lead, is down", v.Leader)
	case ok && state == process.Paused:
		return fmt.Sprintf("broker %d, which is to lead, is paused", v.Leader)
	}
	return fmt.Sprintf("broker %d is to lead and does not say that it does", v.Leader)
}

// unelected is what the partition's strategy lacks for an election, as far as it
// follows from who runs.
func unelected(v *Replica, states map[int32]process.State) string {
	down := func(broker int32) bool { return states[broker] != process.Running }
	switch v.Strategy {
	case "quorum":
		live, need := len(slices.DeleteFunc(sorted(v.Replicas), down)), len(v.Replicas)/2+1
		if live < need {
			return fmt.Sprintf(": %d of %d replicas %s live, %d are needed", live, len(v.Replicas), verb(live), need)
		}
	case "isr", "sync":
		switch {
		case len(v.ISR) == 0:
			return ": the ISR is empty, and whoever was in it last has to come back"
		case len(slices.DeleteFunc(sorted(v.ISR), down)) == 0:
			return ": nobody in sync is live, and others may lack what was acknowledged; waiting for broker " + either(v.ISR)
		}
	case "async":
		return ": waiting for every live replica to say how far its log goes"
	}
	return ""
}

func verb(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// either lists ids of which one will do.
func either(ids []int32) string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(sorted(ids)), "[]")), " or ")
}
