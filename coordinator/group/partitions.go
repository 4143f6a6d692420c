package group

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
)

// partition is one partition of a topic by its id.
type partition struct {
	topic [16]byte
	index int32
}

// partitionSet is a set of partitions.
type partitionSet map[partition]bool

func compareByID(a, b partition) int {
	return cmp.Or(bytes.Compare(a.topic[:], b.topic[:]), cmp.Compare(a.index, b.index))
}

// setOf makes a set of a list.
func setOf(list []TopicPartitions) partitionSet {
	s := partitionSet{}
	for _, t := range list {
		for _, p := range t.Partitions {
			s[partition{t.TopicID, p}] = true
		}
	}
	return s
}

// sorted are the members of the set in order.
func (s partitionSet) sorted() []partition { return slices.SortedFunc(maps.Keys(s), compareByID) }

// list makes a list of the set, in order.
func (s partitionSet) list() []TopicPartitions {
	list := []TopicPartitions{}
	for _, p := range s.sorted() {
		if n := len(list); n == 0 || list[n-1].TopicID != p.topic {
			list = append(list, TopicPartitions{TopicID: p.topic})
		}
		last := &list[len(list)-1]
		last.Partitions = append(last.Partitions, p.index)
	}
	return list
}

// both are the members of s that are in t.
func (s partitionSet) both(t partitionSet) partitionSet {
	out := partitionSet{}
	for p := range s {
		if t[p] {
			out[p] = true
		}
	}
	return out
}

// without are the members of s that are not in t.
func (s partitionSet) without(t partitionSet) partitionSet {
	out := partitionSet{}
	for p := range s {
		if !t[p] {
			out[p] = true
		}
	}
	return out
}

// within says that all of s is in t.
func (s partitionSet) within(t partitionSet) bool { return len(s.without(t)) == 0 }
