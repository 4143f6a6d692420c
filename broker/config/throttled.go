package config

import (
	"fmt"
	"slices"
	"strings"
)

// ThrottledReplicas is a topic's list of replicas whose replication is bound in
// its rate. It is immutable.
type ThrottledReplicas struct {
	all  bool
	list []throttledReplica
}

type throttledReplica struct{ partition, broker int32 }

// Has reports whether the replica of the partition on the broker is listed.
func (t ThrottledReplicas) Has(partition, broker int32) bool {
	return t.all || slices.Contains(t.list, throttledReplica{partition, broker})
}

var throttledReplicas = format[ThrottledReplicas]{List, parseThrottled, ThrottledReplicas.text}

func parseThrottled(s string) (ThrottledReplicas, error) {
	entries, err := parseList(s)
	if err != nil {
		return ThrottledReplicas{}, err
	}
	if len(entries) == 1 && entries[0] == "*" {
		return ThrottledReplicas{all: true}, nil
	}
	var t ThrottledReplicas
	for _, entry := range entries {
		partition, broker, _ := strings.Cut(entry, ":")
		p, errP := parseInt(partition)
		b, errB := parseInt(broker)
		if errP != nil || errB != nil || p < 0 || b < 0 {
			return ThrottledReplicas{}, fmt.Errorf("%q is not * or a list of partition:broker", s)
		}
		t.list = append(t.list, throttledReplica{p, b})
	}
	return t, nil
}

func (t ThrottledReplicas) text() string {
	if t.all {
		return "*"
	}
	var entries []string
	for _, r := range t.list {
		entries = append(entries, fmt.Sprintf("%d:%d", r.partition, r.broker))
	}
	return strings.Join(entries, ",")
}
