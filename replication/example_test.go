package replication_test

import (
	"fmt"

	"tidemark/replication"
	"tidemark/replication/isr"
)

// two is a strategy of one's own: a record is safe, and readable, once the leader
// and any other replica have it. Everything else is Common.
type two struct{ replication.Common }

func (two) AdvanceHighWatermark(r *replication.Replica) int64 {
	second := int64(0)
	for _, p := range r.Peers() {
		second = max(second, p.LogEnd)
	}
	return min(r.Counted(), second)
}

func (two) AdvanceAck(r *replication.Replica) int64 { return r.HighWatermark() }

// A strategy is a rule and an election. This one borrows Kafka's election, which
// may choose a member of the ISR that was neither of the two: it can lose what it
// acknowledged. replicationtest.Check finds the seed that shows it.
func ExampleRule() {
	spec := replication.Spec{
		Name: "two", Doc: "acknowledged once any two replicas have it", Elect: isr.Elect,
		New: func(c replication.Config) replication.Machine { return replication.NewReplica(c, two{}) },
	}

	leader := spec.New(replication.Config{Self: 1, MinISR: 1})
	tell := func(ev replication.Event) {
		for _, e := range leader.Step(ev, nil) {
			switch e.Kind {
			case replication.SetHighWatermark:
				fmt.Printf("consumers may read up to %d\n", e.Offset)
			case replication.AckAll:
				fmt.Printf("producers are answered up to %d\n", e.Offset)
			}
		}
	}
	replicas := []replication.Member{{Broker: 1}, {Broker: 2}, {Broker: 3}}
	tell(replication.Event{Kind: replication.BecomeLeader, LeaderEpoch: 1, PartitionEpoch: 1, ISR: replicas, Replicas: replicas})
	tell(replication.Event{Kind: replication.Appended, Offset: 5, RecordEpoch: 1})
	tell(replication.Event{Kind: replication.FollowerFetched, Broker: 3, LeaderEpoch: 1, Offset: 0, RecordEpoch: replication.NoEpoch})
	tell(replication.Event{Kind: replication.FollowerFetched, Broker: 3, LeaderEpoch: 1, Offset: 4, RecordEpoch: 1})

	// Output:
	// consumers may read up to 4
	// producers are answered up to 4
}
