package replication

import "slices"

// Standing is what became of a member of a set since it was written.
type Standing uint8

// The standings.
const (
	// Absent: no session, or shutting down. What it holds is not known; it may
	// come back with all of it.
	Absent Standing = iota
	// Sound: live, in the life that the set recorded.
	Sound
	// Rejoined: live, in another life that says the recorded one ended cleanly,
	// so that nothing can have been lost.
	Rejoined
	// Bounced: live, in another life that cannot say so: it may have lost what
	// was not on stable storage.
	Bounced
)

// Of is the candidate of that broker; nil where it is not assigned.
func (c *Candidates) Of(broker int32) *Candidate {
	for i := range c.Replicas {
		if c.Replicas[i].Broker == broker {
			return &c.Replicas[i]
		}
	}
	return nil
}

// Standing says what became of a member of ISR or ELR.
func (c *Candidates) Standing(m Member) Standing {
	who := c.Of(m.Broker)
	switch {
	case who == nil || !who.Live:
		return Absent
	case m.BrokerEpoch == NoBrokerEpoch || m.BrokerEpoch == who.BrokerEpoch:
		return Sound
	case who.CleanEpoch == m.BrokerEpoch:
		return Rejoined
	}
	return Bounced
}

// Present are the members of set that stand as one of those. Who is live and lost
// nothing is listed under its present broker epoch, so that the next flicker of
// its session is told from this one.
func (c *Candidates) Present(set []Member, as ...Standing) []Member {
	var out []Member
	for _, m := range set {
		standing := c.Standing(m)
		if !slices.Contains(as, standing) {
			continue
		}
		if standing == Sound || standing == Rejoined {
			m.BrokerEpoch = c.Of(m.Broker).BrokerEpoch
		}
		out = append(out, m)
	}
	return out
}

// NextELR is NextELR once the ISR is next.
func (c *Candidates) NextELR(next []Member, minISR int) []Member {
	all := []Standing{Absent, Sound, Rejoined, Bounced}
	return NextELR(c.Present(c.ISR, all...), c.Present(c.ELR, all...), next, minISR, len(c.Replicas))
}

// First is the first member of set in order of assignment, but the leader so far
// where it is one: leadership does not move without need. NoBroker where set is
// empty.
func (c *Candidates) First(set []Member) int32 {
	if c.LastLeader != NoBroker && Contains(set, c.LastLeader) {
		return c.LastLeader
	}
	for i := range c.Replicas {
		if Contains(set, c.Replicas[i].Broker) {
			return c.Replicas[i].Broker
		}
	}
	return NoBroker
}

// Live are the live replicas in order of assignment.
func (c *Candidates) Live() []Member {
	var out []Member
	for i := range c.Replicas {
		if c.Replicas[i].Live {
			out = append(out, c.Replicas[i].member())
		}
	}
	return out
}

func (c *Candidate) member() Member {
	return Member{Broker: c.Broker, BrokerEpoch: c.BrokerEpoch, Dir: c.Dir}
}

// Longest is the member with the greatest (last epoch, log end) of those that
// answered, the first in order of assignment among equals, and who of the live
// ones did not answer.
func (c *Candidates) Longest(set []Member) (best int32, silent []int32) {
	best = NoBroker
	var lead *Candidate
	for i := range c.Replicas {
		who := &c.Replicas[i]
		switch {
		case !Contains(set, who.Broker) || !who.Live:
		case !who.Answered:
			silent = append(silent, who.Broker)
		case lead == nil || who.LastEpoch > lead.LastEpoch || who.LastEpoch == lead.LastEpoch && who.LogEndOffset > lead.LogEndOffset:
			best, lead = who.Broker, who
		}
	}
	return best, silent
}

// Initial elects the first leader of a partition: every live replica is in sync,
// for there is nothing to have missed.
func (c *Candidates) Initial() Decision {
	live := c.Live()
	return Decision{Leader: c.First(live), ISR: live, Why: "the partition is new"}
}

// Alone is the set of one broker under its present registration.
func (c *Candidates) Alone(broker int32) []Member { return []Member{c.Of(broker).member()} }

// FullSet are the members of ISR and ELR together: everybody who held all that
// was acknowledged when the ISR last met min.insync.replicas. Since nothing is
// acknowledged below that, they still do, but for what an unclean restart took.
func (c *Candidates) FullSet() []Member {
	return Union(c.ISR, c.ELR)
}

// Recover is an election among members who all may have lost something: once
// every one of them is back and answered, the greatest (last epoch, log end)
// leads (the balanced recovery of KIP-966). Until then nobody does.
func (c *Candidates) Recover(full []Member) Decision {
	none := Decision{Leader: NoBroker, ISR: c.ISR, ELR: c.ELR}
	for _, m := range full {
		if c.Standing(m) == Absent {
			none.Why = "a member of the last full set is not back"
			return none
		}
	}
	best, silent := c.Longest(full)
	if len(silent) > 0 || best == NoBroker {
		none.Fence, none.Why = silent, "every member of the last full set restarted uncleanly: all are asked how far they are"
		return none
	}
	return Decision{Leader: best, ISR: c.Alone(best), Unclean: true, Why: "the longest log of the last full set"}
}

// Admits reports whether the controller may write members as the ISR: whoever is
// new in it must be live under the broker epoch that the leader knows (KIP-903,
// INELIGIBLE_REPLICA else). Who stays as it was need not be: dropping one of two
// members that are gone is better than dropping neither.
func (c *Candidates) Admits(members []Member) bool {
	for _, m := range members {
		if slices.Contains(c.ISR, m) {
			continue
		}
		who := c.Of(m.Broker)
		if who == nil || !who.Live || m.BrokerEpoch != NoBrokerEpoch && m.BrokerEpoch != who.BrokerEpoch {
			return false
		}
	}
	return true
}

// KeepsELR says whether a partition's state has eligible leaders while its ISR is too
// small; setting is eligible.leader.replicas.
func (s *Spec) KeepsELR(setting bool) bool { return setting || s.Promise == WholeSet }

// NextELR are the eligible leaders once the ISR is next (KIP-966): nobody while
// it meets min.insync.replicas, else everybody who was in either set and is not
// in the new ISR. A change of min.insync.replicas empties the set, and does so in
// ZooKeeper before any leader hears of a lower one: it would acknowledge what the
// eligible ones do not have.
func NextELR(isr, elr, next []Member, minISR, replicas int) []Member {
	if len(next) >= EffectiveMinISR(minISR, replicas) {
		return nil
	}
	return Without(Union(isr, elr), next)
}

// Union is a with those of b that are not in it.
func Union(a, b []Member) []Member {
	out := slices.Clone(a)
	for _, m := range b {
		if !Contains(out, m.Broker) {
			out = append(out, m)
		}
	}
	return out
}

// Without is a without the brokers of b.
func Without(a, b []Member) []Member {
	var out []Member
	for _, m := range a {
		if !Contains(b, m.Broker) {
			out = append(out, m)
		}
	}
	return out
}
