package replicationtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"tidemark/replication"
)

func whole(spec replication.Spec) error {
	switch {
	case spec.Name == "" || spec.Doc == "":
		return errors.New("it has no name or no documentation")
	case spec.New == nil || spec.Elect == nil:
		return errors.New("it has no machine or no election")
	}
	m := spec.New(config(1))
	if m == nil {
		return errors.New("there is no machine")
	}
	if s := m.Status(); s.Role != replication.Idle || s.LogEndOffset != 0 || s.HighWatermark != 0 {
		return fmt.Errorf("a new machine is %s with log end %d and high watermark %d", s.Role, s.LogEndOffset, s.HighWatermark)
	}
	return nil
}

func config(self int32) replication.Config {
	return replication.Config{Self: self, BrokerEpoch: 100 + int64(self), Dir: dirOf(self), MinISR: 2, LagTimeMax: 10 * time.Second}
}

func dirOf(broker int32) replication.DirID { return replication.DirID{15: byte(broker)} }

func members(brokers ...int32) []replication.Member {
	var set []replication.Member
	for _, b := range brokers {
		set = append(set, replication.Member{Broker: b, BrokerEpoch: 100 + int64(b), Dir: dirOf(b)})
	}
	return set
}

// office is what a leader of three is told in a few hundred events: appends,
// fetches, ticks, and what became of its proposals.
type office struct {
	rng             *rand.Rand
	now             time.Duration
	end             int64
	fetched         [4]int64
	proposed        []replication.Member
	partitionEpoch  int32
	leaderEpochSent bool
}

func newOffice(seed uint64) *office {
	return &office{rng: rand.New(rand.NewPCG(seed, 1)), partitionEpoch: 10}
}

// next draws the next event; seen are the effects of the one before.
func (o *office) next(seen []replication.Effect) replication.Event {
	o.now += time.Duration(o.rng.IntN(int(2 * time.Second)))
	for _, e := range seen {
		if e.Kind == replication.ProposeISR {
			o.proposed = e.Members
		}
	}
	ev := replication.Event{Now: o.now, LeaderEpoch: 1, PartitionEpoch: o.partitionEpoch}
	if !o.leaderEpochSent {
		o.leaderEpochSent = true
		ev.Kind, ev.ISR, ev.Replicas = replication.BecomeLeader, members(1, 2, 3), members(1, 2, 3)
		return ev
	}
	switch n := o.rng.IntN(10); {
	case n < 3:
		o.end += 1 + o.rng.Int64N(3)
		ev.Kind, ev.Offset, ev.RecordEpoch = replication.Appended, o.end, 1
	case n < 4 && o.proposed != nil:
		o.partitionEpoch++
		ev.Kind, ev.PartitionEpoch, ev.ISR = replication.ISRCommitted, o.partitionEpoch, append([]replication.Member(nil), o.proposed...)
		o.proposed = nil
	case n < 5:
		ev.Kind = replication.Tick
	default:
		b := int32(2 + o.rng.IntN(2))
		o.fetched[b] += o.rng.Int64N(o.end - o.fetched[b] + 1)
		ev.Kind, ev.Broker, ev.BrokerEpoch, ev.Dir, ev.Offset, ev.RecordEpoch = replication.FollowerFetched, b, 100+int64(b), dirOf(b), o.fetched[b], 1
		if ev.Offset == 0 {
			ev.RecordEpoch = replication.NoEpoch
		}
	}
	return ev
}

const (
	offices = 20
	events  = 300
)

func appendStyle(spec replication.Spec) error {
	m, o := spec.New(config(1)), newOffice(1)
	kept := replication.Effect{Kind: replication.MoveLogStart, Offset: 77}
	buffer := make([]replication.Effect, 0, 64)
	for range events {
		out := m.Step(o.next(buffer), append(buffer[:0], kept))
		if len(out) == 0 || !reflect.DeepEqual(out[0], kept) {
			return errors.New("effects that were given to Step are dropped or changed")
		}
		buffer = out
	}
	return nil
}

func pureMachine(spec replication.Spec) error {
	for seed := uint64(1); seed <= offices; seed++ {
		a, b, o := spec.New(config(1)), spec.New(config(1)), newOffice(seed)
		var first []replication.Effect
		for i := range events {
			ev := o.next(first)
			first = a.Step(ev, nil)
			if second := b.Step(ev, nil); !reflect.DeepEqual(first, second) {
				return fmt.Errorf("event %d of two equal histories: %+v and %+v", i, first, second)
			}
		}
	}
	return nil
}

// toldState follows the effects and holds the status against them.
func toldState(spec replication.Spec) error {
	for seed := uint64(1); seed <= offices; seed++ {
		m, o := spec.New(config(1)), newOffice(seed)
		var effects []replication.Effect
		var hw, acked int64
		for range events {
			effects = m.Step(o.next(effects), effects[:0])
			for _, e := range effects {
				switch {
				case e.Kind == replication.SetHighWatermark && (e.From != hw || e.Offset <= hw || e.Offset > o.end):
					return fmt.Errorf("the high watermark goes from %d to %d; it was %d, the log ends at %d", e.From, e.Offset, hw, o.end)
				case e.Kind == replication.SetHighWatermark:
					hw = e.Offset
				case e.Kind == replication.AckAll && (e.Offset <= acked || e.Offset > o.end):
					return fmt.Errorf("acknowledged up to %d; it was %d, the log ends at %d", e.Offset, acked, o.end)
				case e.Kind == replication.AckAll:
					acked = e.Offset
				}
			}
			if s := m.Status(); s.HighWatermark != hw || s.LogEndOffset != o.end {
				return fmt.Errorf("status tells high watermark %d and log end %d, effects and events %d and %d", s.HighWatermark, s.LogEndOffset, hw, o.end)
			}
		}
	}
	return nil
}
