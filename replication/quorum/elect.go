package quorum

import (
	"fmt"

	"tidemark/replication"
)

// Elect takes the greatest (last epoch, log end) of a majority that promised to
// take nothing more from older leaders: any majority that acknowledged a record
// shares a replica with it. Who answers from another directory than the recorded
// one does not count.
func Elect(c replication.Candidates, _ replication.Config) replication.Decision {
	sound := c.Present(c.ISR, replication.Sound)
	if !c.New && c.LastLeader != replication.NoBroker && replication.Contains(sound, c.LastLeader) {
		return replication.Decision{Leader: c.LastLeader, ISR: c.ISR, Why: "the leader lives"}
	}
	var voters []replication.Member
	var silent []int32
	for i := range c.Replicas {
		who := &c.Replicas[i]
		switch {
		case !who.Live:
		case !who.Answered:
			silent = append(silent, who.Broker)
		case c.New || recorded(c.ISR, who):
			voters = append(voters, replication.Member{Broker: who.Broker, BrokerEpoch: who.BrokerEpoch, Dir: who.Dir})
		}
	}
	need := len(c.Replicas)/2 + 1
	if len(voters) < need {
		why := fmt.Sprintf("%d of %d votes", len(voters), need)
		return replication.Decision{Leader: replication.NoBroker, ISR: c.ISR, Fence: silent, Why: why}
	}
	if c.New {
		return replication.Decision{Leader: c.First(voters), ISR: voters, Why: "the partition is new"}
	}
	best, _ := c.Longest(voters)
	isr := append([]replication.Member(nil), c.ISR...)
	for _, v := range voters {
		isr[replication.Find(isr, v.Broker)] = v
	}
	return replication.Decision{Leader: best, ISR: isr, Why: fmt.Sprintf("the longest log of %d votes", len(voters))}
}

// recorded reports whether the candidate lies on the directory that the state
// names for it.
func recorded(isr []replication.Member, who *replication.Candidate) bool {
	i := replication.Find(isr, who.Broker)
	return i >= 0 && isr[i].Dir == who.Dir && who.Dir != replication.DirID{}
}
