package replication_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/replication"
)

func brokers(set []replication.Member) []int32 {
	var out []int32
	for _, m := range set {
		out = append(out, m.Broker)
	}
	return out
}

func TestNextELR(t *testing.T) {
	for name, c := range map[string]struct {
		isr, elr, next []int32
		minISR         int
		want           []int32
	}{
		"enough are in sync":              {[]int32{1, 2, 3}, nil, []int32{1, 2}, 2, nil},
		"one too few":                     {[]int32{1, 2}, nil, []int32{1}, 2, []int32{2}},
		"and the last":                    {[]int32{1}, []int32{2}, nil, 2, []int32{1, 2}},
		"one comes back":                  {[]int32{1}, []int32{2}, []int32{1, 2}, 2, nil},
		"another comes, still too few":    {[]int32{1}, []int32{2, 3}, []int32{1, 4}, 3, []int32{2, 3}},
		"min.insync.replicas over all":    {[]int32{1, 2, 3}, nil, []int32{1, 2}, 9, []int32{3}},
		"none of min.insync.replicas":     {[]int32{1}, nil, nil, 0, []int32{1}},
		"all leave at once, two eligible": {[]int32{1, 2}, []int32{3}, nil, 2, []int32{1, 2, 3}},
	} {
		got := replication.NextELR(set(c.isr...), set(c.elr...), set(c.next...), c.minISR, 3)
		if diff := cmp.Diff(c.want, brokers(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAdmittedSets(t *testing.T) {
	c := replication.Candidates{ISR: set(1, 2), Replicas: []replication.Candidate{
		{Broker: 1, Live: true, BrokerEpoch: 101}, {Broker: 2, BrokerEpoch: 102}, {Broker: 3, Live: true, BrokerEpoch: 103}, {Broker: 4, BrokerEpoch: 104},
	}}
	late := set(1, 2, 3)
	late[2].BrokerEpoch = 90
	unknown := set(1, 2, 3)
	unknown[2].BrokerEpoch = replication.NoBrokerEpoch
	for name, s := range map[string]struct {
		set  []replication.Member
		want bool
	}{
		"a live replica joins":                    {set(1, 2, 3), true},
		"a member that is gone stays":             {set(1, 2), true},
		"a replica that is gone joins":            {set(1, 2, 4), false},
		"one under an earlier life joins":         {late, false},
		"one under an unknown broker epoch joins": {unknown, true},
		"one that is not assigned joins":          {set(1, 9), false},
	} {
		if got := c.Admits(s.set); got != s.want {
			t.Errorf("%s: admitted %v, want %v", name, got, s.want)
		}
	}
}

// TestASessionThatFlickersTwice: a broker that lives on through two lost sessions
// is as good as it was; one that restarted is not, and stays so until it joins.
func TestASessionThatFlickersTwice(t *testing.T) {
	state := set(2)
	for life := int64(200); life < 203; life++ {
		c := replication.Candidates{ELR: state, Replicas: []replication.Candidate{{Broker: 2, Live: true, BrokerEpoch: life, CleanEpoch: state[0].BrokerEpoch}}}
		if got := c.Standing(state[0]); got != replication.Rejoined {
			t.Fatalf("registered as %d after %d: standing %d", life, state[0].BrokerEpoch, got)
		}
		state = c.NextELR(nil, 1)
	}
	c := replication.Candidates{ELR: state, Replicas: []replication.Candidate{{Broker: 2, Live: true, BrokerEpoch: 300, CleanEpoch: replication.NoBrokerEpoch}}}
	state = c.NextELR(nil, 1)
	c.Replicas[0].BrokerEpoch, c.Replicas[0].CleanEpoch = 301, 300
	if got := c.Standing(state[0]); got != replication.Bounced {
		t.Errorf("an unclean restart is forgotten after a flicker: standing %d", got)
	}
}

func TestUnderAllNames(t *testing.T) {
	if got := dir(10).String() + " " + (replication.DirID{}).String() + " " + replication.ByEpoch.String() + " " + replication.ByHighWatermark.String(); got != "0a none epoch hw" {
		t.Errorf("got %q", got)
	}
	seen := map[string]bool{}
	for w := replication.Diverged; w <= replication.Settling; w++ {
		if s := w.String(); s == replication.Why(0).String() || seen[s] {
			t.Errorf("reason %d has the name %q", w, s)
		} else {
			seen[s] = true
		}
	}
}
