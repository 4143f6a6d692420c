package group

import (
	"cmp"
	"slices"
)

// The names of the server-side assignors, the first is the default
// (group.consumer.assignors).
const (
	UniformAssignor = "uniform"
	RangeAssignor   = "range"
)

// assignors by name.
var assignors = map[string]func(assignorInput) map[string]partitionSet{
	UniformAssignor: assignUniform,
	RangeAssignor:   assignRange,
}

// assignorInput is what an assignor looks at.
type assignorInput struct {
	// members in order, static ones first by their instance ids.
	members []assignee
	// topics are all that somebody reads, in order of their ids.
	topics []assignedTopic
}

type assignee struct {
	id     string
	reads  map[[16]byte]bool
	before partitionSet
}

type assignedTopic struct {
	id         [16]byte
	partitions int32
}

// compareMembers orders static members by instance id before others by member id, so
// that a restart moves nobody.
func compareMembers(a, b *consumerMember) int {
	if (a.instance == "") != (b.instance == "") {
		if a.instance != "" {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.id, b.id))
}

// assignRange gives each topic's members, in order, runs of its partitions that
// differ by one at most (RangeAssignor): members with the same topics have the same
// numbers of topics that are partitioned alike.
func assignRange(in assignorInput) map[string]partitionSet {
	out := map[string]partitionSet{}
	for _, m := range in.members {
		out[m.id] = partitionSet{}
	}
	for _, t := range in.topics {
		var readers []string
		for _, m := range in.members {
			if m.reads[t.id] {
				readers = append(readers, m.id)
			}
		}
		next := int32(0)
		for i, id := range readers {
			size := t.partitions / int32(len(readers))
			if int32(i) < t.partitions%int32(len(readers)) {
				size++
			}
			for ; size > 0; size-- {
				out[id][partition{t.id, next}] = true
				next++
			}
		}
	}
	return out
}

// assignUniform gives members as equal numbers of partitions as their topics allow,
// and leaves partitions where they are as far as that goes (UniformAssignor).
func assignUniform(in assignorInput) map[string]partitionSet {
	u := &uniform{members: in.members, sets: make([]partitionSet, len(in.members))}
	free := u.keep(in.topics)
	for _, p := range free {
		if i := u.least(p.topic); i >= 0 {
			u.sets[i][p] = true
		}
	}
	for u.move() {
	}
	out := map[string]partitionSet{}
	for i, m := range in.members {
		out[m.id] = u.sets[i]
	}
	return out
}

// uniform is an assignment under way.
type uniform struct {
	members []assignee
	sets    []partitionSet
}

// keep leaves with each member what it has and reads, and returns what nobody has, of
// topics with few readers first.
func (u *uniform) keep(topics []assignedTopic) []partition {
	taken := partitionSet{}
	exists := map[[16]byte]int32{}
	readers := map[[16]byte]int{}
	for _, t := range topics {
		exists[t.id] = t.partitions
	}
	for i, m := range u.members {
		u.sets[i] = partitionSet{}
		for t := range m.reads {
			readers[t]++
		}
		for p := range m.before {
			if m.reads[p.topic] && p.index < exists[p.topic] && !taken[p] {
				u.sets[i][p], taken[p] = true, true
			}
		}
	}
	var free []partition
	for _, t := range topics {
		for index := range t.partitions {
			if p := (partition{t.id, index}); !taken[p] {
				free = append(free, p)
			}
		}
	}
	slices.SortStableFunc(free, func(a, b partition) int { return cmp.Compare(readers[a.topic], readers[b.topic]) })
	return free
}

// least is the reader of a topic that has the fewest partitions, -1 for none.
func (u *uniform) least(topic [16]byte) int {
	best := -1
	for i, m := range u.members {
		if m.reads[topic] && (best < 0 || len(u.sets[i]) < len(u.sets[best])) {
			best = i
		}
	}
	return best
}

// move takes one partition from a member that has two more than another which reads
// it too; false means that nothing is left to move. Each move makes the sum of the
// squares smaller, so it ends.
func (u *uniform) move() bool {
	order := make([]int, len(u.members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(u.sets[a]), len(u.sets[b])) })
	for _, to := range order {
		for _, from := range slices.Backward(order) {
			if len(u.sets[from])-len(u.sets[to]) < 2 {
				break
			}
			if p, ok := u.spare(from, to); ok {
				delete(u.sets[from], p)
				u.sets[to][p] = true
				return true
			}
		}
	}
	return false
}

// spare is the last partition of one member that another reads.
func (u *uniform) spare(from, to int) (partition, bool) {
	sorted := u.sets[from].sorted()
	for _, p := range slices.Backward(sorted) {
		if u.members[to].reads[p.topic] {
			return p, true
		}
	}
	return partition{}, false
}
