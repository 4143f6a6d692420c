package replicationtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"

	"tidemark/replication"
)

// elections is how many random ones are held.
const elections = 5000

// draw makes candidates up: every mixture of live, gone, bounced and answered.
func draw(rng *rand.Rand) (replication.Candidates, replication.Config) {
	cfg := replication.Config{MinISR: 1 + rng.IntN(3), ELR: rng.IntN(2) == 0, UncleanElection: rng.IntN(4) == 0}
	c := replication.Candidates{LastLeader: replication.NoBroker, New: rng.IntN(8) == 0}
	n := int32(1 + rng.IntN(5))
	for b := int32(1); b <= n; b++ {
		who := replication.Candidate{Broker: b, Live: rng.IntN(3) > 0, BrokerEpoch: 100 + int64(b), CleanEpoch: replication.NoBrokerEpoch}
		switch rng.IntN(4) {
		case 0:
			who.BrokerEpoch += 1000
		case 1:
			who.BrokerEpoch, who.CleanEpoch = who.BrokerEpoch+1000, who.BrokerEpoch
		}
		if who.Answered = rng.IntN(2) == 0; who.Answered {
			who.LastEpoch, who.LogEndOffset, who.Dir = rng.Int32N(3), rng.Int64N(5), dirOf(b)
		}
		c.Replicas = append(c.Replicas, who)
		switch member := members(b)[0]; rng.IntN(3) {
		case 0:
			c.ISR = append(c.ISR, member)
		case 1:
			c.ELR = append(c.ELR, member)
		}
	}
	rng.Shuffle(len(c.Replicas), func(i, j int) { c.Replicas[i], c.Replicas[j] = c.Replicas[j], c.Replicas[i] })
	if len(c.ISR) > 0 && rng.IntN(2) == 0 {
		c.LastLeader = c.ISR[rng.IntN(len(c.ISR))].Broker
	}
	if c.New {
		c.ISR, c.ELR, c.LastLeader = nil, nil, replication.NoBroker
	}
	return c, cfg
}

func clone(c replication.Candidates) replication.Candidates {
	c.Replicas, c.ISR, c.ELR = slices.Clone(c.Replicas), slices.Clone(c.ISR), slices.Clone(c.ELR)
	return c
}

func pureElection(spec replication.Spec) error {
	rng := rand.New(rand.NewPCG(1, 2))
	for range elections {
		c, cfg := draw(rng)
		before := clone(c)
		first, second := spec.Elect(c, cfg), spec.Elect(clone(c), cfg)
		if !reflect.DeepEqual(first, second) {
			return fmt.Errorf("of the same candidates it elects %+v and %+v", first, second)
		}
		if !reflect.DeepEqual(c, before) {
			return errors.New("it changes the candidates")
		}
	}
	return nil
}

func electable(spec replication.Spec) error {
	rng := rand.New(rand.NewPCG(3, 4))
	for range elections {
		c, cfg := draw(rng)
		d := spec.Elect(c, cfg)
		if err := possible(&c, d); err != nil {
			return fmt.Errorf("%w: of %+v it decides %+v", err, c, d)
		}
	}
	return nil
}

// possible says what is wrong with a decision whatever the strategy.
func possible(c *replication.Candidates, d replication.Decision) error {
	if d.Leader != replication.NoBroker {
		who := c.Of(d.Leader)
		switch {
		case who == nil:
			return errors.New("the leader is not assigned")
		case !who.Live:
			return errors.New("the leader is not live")
		case !replication.Contains(d.ISR, d.Leader):
			return errors.New("the leader is not in its own ISR")
		}
	}
	for i, m := range append(slices.Clone(d.ISR), d.ELR...) {
		switch {
		case c.Of(m.Broker) == nil:
			return fmt.Errorf("member %d is not assigned", m.Broker)
		case i >= len(d.ISR) && replication.Contains(d.ISR, m.Broker):
			return fmt.Errorf("member %d is in ISR and ELR", m.Broker)
		}
	}
	for _, b := range d.Fence {
		if who := c.Of(b); who == nil || !who.Live || who.Answered {
			return fmt.Errorf("broker %d is to be asked, and cannot answer or has", b)
		}
	}
	return nil
}
