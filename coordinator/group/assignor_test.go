package group

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// randomInput is up to eight members that read some of up to six topics, with what
// they had before.
func randomInput(rnd *rand.Rand) assignorInput {
	var in assignorInput
	for i := range 1 + rnd.IntN(6) {
		in.topics = append(in.topics, assignedTopic{id: [16]byte{byte(i)}, partitions: int32(rnd.IntN(9))})
	}
	same := rnd.IntN(2) == 0
	had := partitionSet{}
	for i := range 1 + rnd.IntN(8) {
		a := assignee{id: string(rune('a' + i)), reads: map[[16]byte]bool{}, before: partitionSet{}}
		for _, t := range in.topics {
			if same || rnd.IntN(2) == 0 {
				a.reads[t.id] = true
			}
		}
		for range rnd.IntN(10) { // some of which may be gone, or not be read any more
			if p := (partition{[16]byte{byte(rnd.IntN(6))}, int32(rnd.IntN(9))}); !had[p] {
				a.before[p], had[p] = true, true
			}
		}
		in.members = append(in.members, a)
	}
	return in
}

// TestAssignorsByWhatMustHold compares them with the plain rules: every partition that
// somebody reads has one owner, who reads it, and nobody has two more than one who
// could take one of them.
func TestAssignorsByWhatMustHold(t *testing.T) {
	for name, assign := range assignors {
		rnd := rand.New(rand.NewPCG(3, 4))
		for run := range 2000 {
			in := randomInput(rnd)
			got := assign(in)
			owner := map[partition]string{}
			for _, m := range in.members {
				for p := range got[m.id] {
					if owner[p] != "" || !m.reads[p.topic] {
						t.Fatalf("%s, run %d: %v is given to %s, who reads it: %v, and to %q", name, run, p, m.id, m.reads[p.topic], owner[p])
					}
					owner[p] = m.id
				}
			}
			for _, topic := range in.topics {
				read := slices.ContainsFunc(in.members, func(a assignee) bool { return a.reads[topic.id] })
				for index := range topic.partitions {
					if p := (partition{topic.id, index}); (owner[p] != "") != read {
						t.Fatalf("%s, run %d: %v has owner %q, read by somebody: %v", name, run, p, owner[p], read)
					}
				}
			}
			if name == UniformAssignor {
				even(t, run, in, got)
			}
			if !cmp.Equal(got, assign(in), cmp.AllowUnexported(partition{})) {
				t.Fatalf("%s, run %d: another outcome the second time", name, run)
			}
		}
	}
}

func even(t *testing.T, run int, in assignorInput, got map[string]partitionSet) {
	for _, rich := range in.members {
		for _, poor := range in.members {
			if len(got[rich.id])-len(got[poor.id]) < 2 {
				continue
			}
			for p := range got[rich.id] {
				if poor.reads[p.topic] {
					t.Fatalf("run %d: %s has %d, %s has %d and could take %v", run, rich.id, len(got[rich.id]), poor.id, len(got[poor.id]), p)
				}
			}
		}
	}
}

// TestUniformIsSticky: what is even already stays, and of a member that leaves only
// its own partitions move.
func TestUniformIsSticky(t *testing.T) {
	topic := assignedTopic{partitions: 12}
	in := assignorInput{topics: []assignedTopic{topic}}
	for _, id := range []string{"a", "b", "c", "d"} {
		in.members = append(in.members, assignee{id: id, reads: map[[16]byte]bool{{}: true}})
	}
	first := assignUniform(in)
	for i, m := range in.members {
		in.members[i].before = first[m.id]
	}
	if again := assignUniform(in); !cmp.Equal(first, again, cmp.AllowUnexported(partition{})) {
		t.Errorf("it moved from %v to %v", first, again)
	}
	in.members = in.members[:3]
	for id, set := range assignUniform(in) {
		if !first[id].within(set) || len(set) != 4 {
			t.Errorf("%s had %v and has %v", id, first[id].sorted(), set.sorted())
		}
	}
}

func TestRangeOrdersByInstance(t *testing.T) {
	list := []*consumerMember{{id: "b"}, {id: "z", instance: "i1"}, {id: "a"}, {id: "y", instance: "i0"}}
	slices.SortFunc(list, compareMembers)
	var got []string
	for _, m := range list {
		got = append(got, m.id)
	}
	if diff := cmp.Diff([]string{"y", "z", "a", "b"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
